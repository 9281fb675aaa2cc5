package shell_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"casement.dev/casement/internal/sim/guest/machine"
	"casement.dev/casement/internal/sim/guest/shell"
)

// TestCurlOfWindows checks that curl.exe of Windows downloads as Linux' curl does. PowerShell calls it by its full
// name, because curl alone is an alias of Invoke-WebRequest.
func TestCurlOfWindows(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/old/kubelet.exe":
			http.Redirect(w, r, "/v1/kubelet.exe", http.StatusFound)
		case "/v1/kubelet.exe":
			_, _ = io.WriteString(w, "binary")
		default:
			http.NotFound(w, r)
		}
	}))
	defer server.Close()
	for name, test := range map[string]struct {
		script string
		batch  bool
		file   string // the file of the download
		code   int
	}{
		"-LO":            {"cd C:\\k\r\ncurl.exe -LO http://h/old/kubelet.exe", true, "C:/k/kubelet.exe", 0},
		"-o":             {`curl.exe -sSfL -o "C:\k\a.exe" http://h/v1/kubelet.exe`, true, "C:/k/a.exe", 0},
		"--output":       {`curl.exe --location --output C:\k\b.exe --ssl-no-revoke http://h/old/kubelet.exe`, false, "C:/k/b.exe", 0},
		"--create-dirs":  {`curl.exe -sL --create-dirs -o C:\new\dir\c.exe http://h/v1/kubelet.exe`, false, "C:/new/dir/c.exe", 0},
		"NUL":            {`curl.exe -s -o NUL http://h/v1/kubelet.exe`, true, "", 0},
		"not there":      {`curl.exe -sfLO http://h/none`, true, "", 22},
		"no redirection": {"cd C:\\k\r\ncurl.exe -sO http://h/none", true, "", 0},
		"no such folder": {`curl.exe -s -o C:\none\d.exe http://h/v1/kubelet.exe`, true, "", 23},
		"unknown flag":   {`curl.exe --ftp-pasv http://h/v1/kubelet.exe`, true, "", 2},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t, machine.Windows, machine.NSSM)
			if err := m.Root.MkdirAll("C:/k"); err != nil {
				t.Fatal(err)
			}
			sh := shell.New(m, nil, newRouted(server))
			var out bytes.Buffer
			o := shell.Session{Stdout: &out, Stderr: &out}
			run := sh.PowerShell
			if test.batch {
				run = sh.Batch
			} else {
				test.script += "; exit $LASTEXITCODE"
			}
			if code := run(t.Context(), test.script, o); code != test.code && (test.code == 0 || code == 0) {
				t.Errorf("code %d, want %d: %s", code, test.code, &out)
			}
			if test.file == "" {
				return
			}
			if data, err := m.Root.ReadFile(test.file); err != nil || string(data) != "binary" {
				t.Errorf("%s has %q, %v: %s", test.file, data, err, &out)
			}
		})
	}
}
