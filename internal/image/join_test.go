package image

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// yard is a Joiner that records the existing throw-away clusters.
type yard struct {
	clusters map[string]Trial
	joins    int
	fails    error
	// seen is called while a cluster exists.
	seen func()
}

func (y *yard) Join(ctx context.Context, t Trial) error {
	y.joins++
	y.clusters[t.Name] = t
	if y.seen != nil {
		y.seen()
	}
	return errors.Join(y.fails, ctx.Err())
}

func (y *yard) Leave(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	delete(y.clusters, name)
	return nil
}

// join runs the build of the sample with a joiner.
func (s *stage) join(ctx context.Context, t *testing.T, joiner Joiner) error {
	t.Helper()
	_, err := Run(ctx, Config{Client: s.client, Build: sample(t), Out: &strings.Builder{}, Sleep: quick, Join: joiner,
		Now: func() time.Time { return time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC) }})
	return err
}

func TestJoin(t *testing.T) {
	s, y := newStage(t), &yard{clusters: map[string]Trial{}}
	y.seen = func() {
		v, ok := s.version(t)
		if !ok || !v.Properties.PublishingProfile.ExcludeFromLatest {
			t.Errorf("the version while its machine joins: %+v, want it excluded from latest", v)
		}
	}
	if err := s.join(t.Context(), t, y); err != nil {
		t.Fatal(err)
	}
	if v, _ := s.version(t); y.joins != 1 || len(y.clusters) > 0 || len(s.left()) > 0 || v.Properties.PublishingProfile.ExcludeFromLatest {
		t.Errorf("%d joins, left %v and %v, version %+v", y.joins, y.clusters, s.left(), v)
	}
}

// TestJoinFails: the cluster and the version are deleted, and the error contains the cause.
func TestJoinFails(t *testing.T) {
	s, y := newStage(t), &yard{clusters: map[string]Trial{}, fails: errors.New("NotANodeImage at Machine/x")}
	err := s.join(t.Context(), t, y)
	for _, want := range []string{"failed at step join, script join: NotANodeImage", "casement why img-windows-2022",
		"nothing of the build is left"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v has no %q", err, want)
		}
	}
	if _, ok := s.version(t); ok || len(y.clusters) > 0 || len(s.left()) > 0 {
		t.Errorf("left: version %v, %v, %v", ok, y.clusters, s.left())
	}
}

// TestJoinKilled ends the process while the cluster exists: the same command resumes the build, another one refuses it,
// and prune needs the management cluster.
func TestJoinKilled(t *testing.T) {
	s, y := newStage(t), &yard{clusters: map[string]Trial{}}
	ctx, kill := context.WithCancel(t.Context())
	y.seen = kill
	if err := s.join(ctx, t, y); err == nil || len(y.clusters) != 1 {
		t.Fatalf("%v, %v", err, y.clusters)
	}
	y.seen = nil
	if err := s.join(t.Context(), t, nil); err == nil || !strings.Contains(err.Error(), "give --join again") {
		t.Errorf("without --join: %v", err)
	}
	if err := Prune(t.Context(), s.client, nil, &strings.Builder{}); !errors.Is(err, errNoJoiner) {
		t.Errorf("prune without a management cluster: %v", err)
	}
	if err := s.join(t.Context(), t, y); err != nil || len(y.clusters) > 0 || len(s.left()) > 0 {
		t.Errorf("resumed: %v, left %v and %v", err, y.clusters, s.left())
	}
}

// TestJoinPruned: prune deletes the cluster of a build that was killed.
func TestJoinPruned(t *testing.T) {
	s, y := newStage(t), &yard{clusters: map[string]Trial{}}
	ctx, kill := context.WithCancel(t.Context())
	y.seen = kill
	if err := s.join(ctx, t, y); err == nil {
		t.Fatal("it was not killed")
	}
	if err := Prune(t.Context(), s.client, y, &strings.Builder{}); err != nil || len(y.clusters) > 0 || len(s.left()) > 0 {
		t.Errorf("%v, left %v and %v", err, y.clusters, s.left())
	}
	if _, ok := s.version(t); ok {
		t.Error("the version is left")
	}
}

// TestJoinResumes ends the process at random calls; nothing is left when the build ends.
func TestJoinResumes(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 11))
	for round := range 4 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			s, y := newStage(t), &yard{clusters: map[string]Trial{}}
			for kills := 0; ; kills++ {
				ctx, kill := context.WithCancel(t.Context())
				calls := 1 + random.IntN(60)
				s.cut = func() error {
					if calls--; calls == 0 {
						kill()
						return context.Canceled
					}
					return nil
				}
				err := s.join(ctx, t, y)
				killed := ctx.Err() != nil
				kill()
				if err == nil {
					break
				}
				if !killed || kills > 200 {
					t.Fatalf("after %d kills: %v", kills, err)
				}
			}
			if s.cut = nil; len(s.left()) > 0 || len(y.clusters) > 0 {
				t.Errorf("left: %v and %v", s.left(), y.clusters)
			}
		})
	}
}

func TestTrialName(t *testing.T) {
	for name, want := range map[string]string{
		"windows-2022": "img-windows-2022",
		"a-name-that-is-as-long-as-names-may-be-40": "img-a-name-that--",
	} {
		b := &builder{Config: Config{Build: &ImageBuild{Metadata: Metadata{Name: name}}}}
		if got := b.trialName(); !strings.HasPrefix(got, want) || len(got) > 28 {
			t.Errorf("%s: got %s, want %s and at most 28 characters", name, got, want)
		}
	}
}
