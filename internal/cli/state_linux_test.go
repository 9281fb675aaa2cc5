package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"casement.dev/casement/internal/cli/app"
)

// stranger is a user who owns nothing.
const stranger = 65534

// TestForeignState: no command uses the directory of another user as its state, and none changes it.
func TestForeignState(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can give a directory to another user")
	}
	for _, line := range []string{
		"up", "up --foreground", "supervise", "azure serve", "azure serve --log -", "status", "down --purge", "azure env",
		"azure log", "kubectl get pods", "tree demo", "images list", "calls", "get kubeconfig demo", "ssh demo-0",
	} {
		for name, prepare := range map[string]func(base string) error{
			"of another, open to all": func(base string) error {
				return firstError(os.Mkdir(base+"/s", 0o777), os.Chmod(base+"/s", 0o777), os.Chown(base+"/s", stranger, stranger))
			},
			"of another, closed": func(base string) error {
				return firstError(os.Mkdir(base+"/s", 0o700), os.Chown(base+"/s", stranger, stranger))
			},
			"a link of another": func(base string) error {
				return firstError(os.Mkdir(base+"/o", 0o700), os.Symlink(base+"/o", base+"/s"), os.Lchown(base+"/s", stranger, stranger))
			},
			"below a directory of another": func(base string) error {
				return firstError(os.Chown(base, stranger, stranger), os.Mkdir(base+"/s", 0o700))
			},
		} {
			t.Run(line+"/"+name, func(t *testing.T) {
				base, err := os.MkdirTemp("", "state")
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.RemoveAll(base) })
				if err := firstError(os.Chmod(base, 0o755), prepare(base)); err != nil {
					t.Fatal(err)
				}
				var out bytes.Buffer
				t.Setenv("CASEMENT_HOME", filepath.Join(base, "s"))
				code := Main(append([]string{"casement"}, strings.Fields(line)...), app.Streams{In: strings.NewReader(""), Out: &out, Err: &out})
				if code != app.ExitFailed || !strings.Contains(out.String(), "belongs to user") {
					t.Errorf("exit code %d: %s", code, &out)
				}
				if names, err := os.ReadDir(filepath.Join(base, "s")); err != nil || len(names) > 0 {
					t.Errorf("it now has %v, %v", names, err)
				}
			})
		}
	}
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
