package tuning

import (
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"casement.dev/casement/internal/inotify"
)

func TestForTaken(t *testing.T) {
	for name, c := range map[string]struct {
		growth int
		taken  float64
		want   int
	}{
		"a free machine":               {Roomy, 0.05, 200},
		"a quarter is taken":           {Roomy, 0.25, 200},
		"half is taken":                {Roomy, 0.5, 125},
		"half, a controller manager":   {controllers, 0.5, 225},
		"three quarters are taken":     {Roomy, 0.75, scarce},
		"nothing is left":              {controllers, 1, scarce},
		"more is said to be available": {Roomy, -0.1, 200},
	} {
		t.Run(name, func(t *testing.T) {
			if got := forTaken(c.growth, c.taken); got != c.want {
				t.Errorf("%d %%, want %d", got, c.want)
			}
		})
	}
}

// TestEnvironmentDecides: a program follows the variables of Env, but the user's settings take precedence.
func TestEnvironmentDecides(t *testing.T) {
	t.Setenv("GOGC", "")
	t.Setenv("GOMEMLIMIT", "")
	t.Setenv("GOMAXPROCS", "3")
	before := debug.SetGCPercent(77)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	percent := func() int {
		now := debug.SetGCPercent(77)
		debug.SetGCPercent(now)
		return now
	}
	for program, want := range map[string]string{"kube-apiserver": "200", "etcd": "200", "kube-controller-manager": "400"} {
		got := Env(program)
		if len(got) < 2 || got[0] != variable+"="+want || !strings.HasPrefix(got[1], "GOGC=") {
			t.Errorf("%s: %v, want %s", program, got, want)
		}
		if slices.Contains(got, yields+"=1") != (program == "kube-controller-manager") {
			t.Errorf("%s: %v", program, got)
		}
	}
	t.Setenv(variable, "")
	if FollowEnv(); percent() != 77 {
		t.Errorf("without the variable the growth is %d %%", percent())
	}
	t.Setenv("GOGC", "33")
	if got := tuned(); len(got) > 0 {
		t.Errorf("GOGC is set, and the environment is %v", got)
	}
	if Follow(Roomy); percent() != 77 {
		t.Errorf("GOGC is set, and the growth is %d %%", percent())
	}
	t.Setenv(variable, "200")
	t.Setenv("GOGC", "800")
	if FollowEnv(); percent() < scarce || percent() > Roomy || percent() == 77 {
		t.Errorf("the growth is %d %%", percent())
	}
	if os.Getenv("GOGC") != "" || os.Getenv(variable) != "" {
		t.Errorf("what this process starts has GOGC=%s and %s=%s", os.Getenv("GOGC"), variable, os.Getenv(variable))
	}
}

// tuned returns the environment of a program, without the variable for a machine with few free inotify instances.
func tuned() []string {
	return slices.DeleteFunc(Env("etcd"), func(v string) bool { return strings.HasPrefix(v, inotify.Marker+"=") })
}

// TestProcessors: a program and its children use half the processors, at least one, or the user's setting.
func TestProcessors(t *testing.T) {
	t.Setenv("GOGC", "100")
	all := runtime.GOMAXPROCS(0)
	t.Cleanup(func() { runtime.GOMAXPROCS(all) })
	for name, c := range map[string]struct {
		set  string
		env  []string
		uses int
	}{
		"nothing is set":   {"", []string{"GOMAXPROCS=" + strconv.Itoa(max(1, all/2))}, max(1, all/2)},
		"the user has set": {"7", nil, all},
	} {
		t.Run(name, func(t *testing.T) {
			runtime.GOMAXPROCS(all)
			t.Setenv("GOMAXPROCS", c.set)
			Follow(Roomy)
			if got := tuned(); !slices.Equal(got, c.env) {
				t.Errorf("the environment is %v, want %v", got, c.env)
			}
			if got := runtime.GOMAXPROCS(0); got != c.uses {
				t.Errorf("%d processors are used, want %d", got, c.uses)
			}
		})
	}
}
