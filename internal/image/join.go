package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Joiner lets a machine of an image version join a throw-away cluster, which somebody else makes:
// this package knows Azure alone.
type Joiner interface {
	// Join makes the cluster, unless an earlier process has, and returns when a machine of the
	// version is a Ready node of it. The error says why none is.
	Join(ctx context.Context, t Trial) error
	// Leave deletes the cluster of that name with all that is of it and waits until it is gone. One
	// that there is not is no error.
	Leave(ctx context.Context, name string) error
}

// Trial is what a throw-away cluster is made for.
type Trial struct {
	// Name is the cluster's, and that of its namespace and of its resource group.
	Name, Location, KubernetesVersion string
	// Release is that of the version, such as 2022 or ubuntu-24.04, OS Windows or Linux.
	Release, OS string
	// Gallery, ResourceGroup, Definition, Version and SubscriptionID name the version.
	Gallery, ResourceGroup, Definition, Version, SubscriptionID string
	// Timeout bounds the wait.
	Timeout time.Duration
}

// errNoJoiner is returned where there is a throw-away cluster and no management cluster to delete it in.
var errNoJoiner = errors.New("it has a throw-away cluster: give the management cluster that has it by --kubeconfig")

// longestTrial is how much of a build's name its cluster has: machines' names add to it, and a name
// of a host has at most 63 characters.
const longestTrial = 24

// trialName names the throw-away cluster of a build.
func (b *builder) trialName() string {
	name := b.Build.Metadata.Name
	if len(name) > longestTrial {
		sum := sha256.Sum256([]byte(name))
		name = name[:longestTrial-12] + "-" + hex.EncodeToString(sum[:5])
	}
	return "img-" + name
}

// join lets a machine of the version join, where that is asked for. The cluster is deleted with
// the build's resource group, by the last step or after a failure.
func (b *builder) join(ctx context.Context) error {
	if b.Join == nil {
		fmt.Fprintln(b.Out, "      not asked for (--join)")
		return nil
	}
	b.trial = b.trialName()
	// The group says that there is a cluster before there is one.
	if err := b.mark(ctx, "trial"); err != nil {
		return err
	}
	t := b.spec.Target
	err := b.Join.Join(ctx, Trial{
		Name: b.trial, Location: b.spec.Location, KubernetesVersion: b.spec.KubernetesVersion,
		Release: b.spec.Source.Release, OS: b.release.OS, Gallery: t.Gallery, ResourceGroup: t.ResourceGroup, Definition: t.Definition,
		Version: t.Version, SubscriptionID: b.Client.SubscriptionID(), Timeout: b.spec.Timeouts.Join.Duration,
	})
	if err != nil {
		return &fixed{part: "join", err: err,
			fix: "look at the cluster with --keep: casement why " + b.trial + " -n " + b.trial}
	}
	return nil
}

// leave deletes the throw-away cluster of a build, where its group says that there is one.
func leave(ctx context.Context, joiner Joiner, name string) error {
	switch {
	case name == "":
		return nil
	case joiner == nil:
		return errNoJoiner
	}
	if err := joiner.Leave(ctx, name); err != nil {
		return fmt.Errorf("delete the throw-away cluster %s: %w", name, err)
	}
	return nil
}
