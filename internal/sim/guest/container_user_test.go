package guest_test

import (
	"bytes"
	"testing"

	"casement.dev/casement/internal/sim/guest"
	"casement.dev/casement/internal/testing/guesttree"
)

// TestContainerUser checks that programs run as the user that the pod names, in the root of the drive, and that
// Windows shows the user with its domain.
func TestContainerUser(t *testing.T) {
	for name, c := range map[string]struct{ host, user, dir, who, at string }{
		"the image's own": {"web-1", "", "", `user manager\containeradministrator`, `C:\`},
		"ContainerUser":   {"web-1", `User Manager\ContainerUser`, `C:\app`, `user manager\containeruser`, `C:\app`},
		"HostProcess":     {"win-1", `NT AUTHORITY\SYSTEM`, "", `nt authority\system`, `C:\`},
		"a local account": {"win-1", "builders", "", `win-1\builders`, `C:\`},
	} {
		t.Run(name, func(t *testing.T) {
			root, _ := guesttree.New(t)
			container, err := guest.NewContainer(guest.ContainerSpec{Folder: root.Folder("/c"), OS: "Windows", Build: "10.0.20348.1",
				Image: "i", Hostname: c.host, User: c.user, WorkingDir: c.dir})
			if err != nil {
				t.Fatal(err)
			}
			defer container.Close()
			for command, want := range map[string]string{"whoami": c.who + "\n", "hostname": c.host + "\n"} {
				var out bytes.Buffer
				if _, err := container.Exec(t.Context(), []string{command}, nil, &out, &out, false); err != nil || out.String() != want {
					t.Errorf("%s: %q, %v", command, out.String(), err)
				}
			}
			var out bytes.Buffer
			_, err = container.Exec(t.Context(), []string{"cmd", "/c", "cd"}, nil, &out, &out, false)
			if err != nil || out.String() != c.at+"\r\n" {
				t.Errorf("cd: %q, %v", out.String(), err)
			}
		})
	}
}
