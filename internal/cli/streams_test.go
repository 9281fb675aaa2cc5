package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/logs"
)

// hostile sets the title of a window, clears the screen in three ways, and reorders text.
const hostile = "\x1b]0;owned\a\x1b[2J\u009b2J\x9b2J\r\u202e"

// acts reports whether a text contains a control sequence that a terminal would execute.
func acts(s string) bool {
	return strings.ContainsAny(s, "\x1b\a\r\u009b\u202e") || strings.Contains(s, "\x9b2J")
}

func TestHostileFilesReachNoTerminal(t *testing.T) {
	image := strings.Replace(wrong, "contoso.example/a:1", `contoso.example/a\e]0;owned\a\e[2J\u202e:1`, 1)
	image = strings.NewReplacer("'contoso", `"contoso`, ":1'}", `:1"}`).Replace(image)
	for name, c := range map[string]struct {
		files map[string]string
		args  []string
		says  string
	}{
		"a file's name":   {map[string]string{"\x1b]0;owned\a.yaml": wrong}, []string{"."}, "^[]0;owned^G.yaml"},
		"an image's name": {map[string]string{"a.yaml": image}, []string{"."}, "hostPID"},
		"the line of the finding": {
			map[string]string{"a.yaml": strings.Replace(wrong, "hostPID: true", "hostPID: true # \u202e", 1)},
			[]string{"."}, `\u202e`,
		},
		"a file that is not read": {map[string]string{"a.yaml": "a: [\u202e\n"}, []string{"a.yaml", "\x1b[2J.yaml"}, "^[[2J"},
		"a flag's value":          {map[string]string{"a.yaml": wrong}, []string{"--output", hostile, "a.yaml"}, "owned"},
		"a configuration's release": {map[string]string{"c": "windowsReleases: [\"\\e[2J\"]\n", "a.yaml": wrong},
			[]string{"--config", "c", "a.yaml"}, "2J"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, errs := runLint(t, c.files, "", c.args...)
			if acts(out + errs) {
				t.Errorf("a control function is left: %q", out+errs)
			}
			if !strings.Contains(out+errs, c.says) {
				t.Errorf("%q is not in %q", c.says, out+errs)
			}
		})
	}
}

func TestHostileCommandLinesReachNoTerminal(t *testing.T) {
	t.Setenv("CASEMENT_HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	for _, args := range [][]string{
		{hostile}, {"tree", hostile}, {"why", hostile}, {"get", hostile}, {"doctor", hostile},
		{"timeline", hostile}, {"wait", hostile}, {"logs", hostile},
		{"support", hostile}, {"status", "--state", "/" + hostile, hostile}, {"preflight", hostile},
		{"generate", "cluster", "x", "--flavor", hostile},
		{"tree", "x", "--kubeconfig", hostile}, {"azure", hostile}, {"--" + hostile},
	} {
		var out, errs bytes.Buffer
		code := Main(append([]string{"casement"}, args...), app.Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
		if all := out.String() + errs.String(); code == app.ExitDone || acts(all) || all == "" {
			t.Errorf("%q: exit code %d: %q", args, code, all)
		}
	}
}

// TestDataIsEscapedOnATerminalAlone: a command's data is unchanged through a pipe, and escaped on a terminal; its
// tables are always escaped; casement's own control sequences are never escaped.
func TestDataIsEscapedOnATerminalAlone(t *testing.T) {
	log := func(a *app.App) {
		l := (&logs.Printer{Out: a.Data(), Notes: a.Err}).Log("kubelet of "+hostile, logs.Options{})
		fmt.Fprintln(l, hostile)
		_ = l.Close()
	}
	object := func(format string) func(*app.App) {
		return func(a *app.App) {
			table := func(w io.Writer) { fmt.Fprintln(w, hostile) }
			if err := a.Print(format, map[string]string{"name": hostile}, table); err != nil {
				t.Error(err)
			}
		}
	}
	for name, c := range map[string]struct {
		write       func(*app.App)
		onAPipeToo  bool
		pipeHasThis string
	}{
		"log":   {log, false, hostile[:len(hostile)-4]},
		"JSON":  {object("json"), false, "\u202e"},
		"YAML":  {object("yaml"), false, "owned"},
		"table": {object("table"), true, "^[]0;owned^G"},
	} {
		t.Run(name, func(t *testing.T) {
			var pipe bytes.Buffer
			a := app.New(app.Streams{Out: &pipe, Err: io.Discard})
			c.write(a)
			a.Flush()
			if got := pipe.String(); !strings.Contains(got, c.pipeHasThis) || c.onAPipeToo && acts(got) {
				t.Errorf("through a pipe: %q", got)
			}
			got := onTerminal(t, func(f *os.File) {
				a := app.New(app.Streams{Out: f, Err: io.Discard})
				if !a.Terminal() {
					t.Fatal("the pseudo-terminal is none")
				}
				c.write(a)
				a.Flush()
			})
			if drawn := strings.ReplaceAll(got, "\r\n", "\n"); acts(drawn) || !strings.Contains(drawn, "owned") {
				t.Errorf("on a terminal: %q", got)
			}
		})
	}
}

// onTerminal returns the bytes that a pseudo-terminal receives.
func onTerminal(t *testing.T, write func(*os.File)) string {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	defer user.Close()
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	shown := make(chan string)
	go func() {
		data, _ := io.ReadAll(user) // the read ends with EIO, because the other end is closed
		shown <- string(data)
	}()
	write(far)
	far.Close()
	return <-shown
}
