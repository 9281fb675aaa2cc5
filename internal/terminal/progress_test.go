package terminal

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/golden"
)

// views returns the views that `up` and `wait` show, one after another.
func views() map[string][]View {
	starting := func(elapsed time.Duration, steps ...Step) View {
		return View{Title: "Starting the local plane", Elapsed: elapsed, Steps: steps}
	}
	etcd := Step{Name: "etcd and the management API server", State: Done, Took: 1200 * time.Millisecond}
	waiting := func(workers, cause string) View {
		return View{Title: "Waiting for cluster demo", Elapsed: 12300 * time.Millisecond, Cause: cause,
			Waits: "Machine demo-md-win-x7k2p: its node is not ready: NodeHealthy: Waiting for AzureMachine to report spec.providerID",
			Steps: []Step{
				{Name: "infrastructure", State: Done}, {Name: "control plane", State: Done, Detail: "1/1 ready"},
				{Name: "workers demo-md-win", State: Now, Detail: workers + " ready"},
				{Name: "available", State: Now}}}
	}
	return map[string][]View{
		"up": {starting(200*time.Millisecond, Step{Name: etcd.Name, State: Now}), starting(1500*time.Millisecond,
			etcd, Step{Name: "custom resource definitions", State: Now, Detail: "30 of 64"}),
			starting(3*time.Second, etcd,
				Step{Name: "custom resource definitions", State: Done, Took: 900 * time.Millisecond},
				Step{Name: "webhooks", State: Ahead})},
		"wait": {waiting("0/2", ""), waiting("1/2", ""),
			waiting("1/2", "QuotaExceeded at AzureMachine/demo-md-win-x7k2p: the subscription's quota for this "+
				"VM family, region or resource is used up")},
		"hostile": {{Title: "a\x1b[2Jb", Steps: []Step{{Name: "x\ry", State: Now, Detail: "\x1b]0;owned\a\nnext"}}, Cause: "\u202eowned"}},
	}
}

// TestScreens compares the content of a terminal of each size after every view.
func TestScreens(t *testing.T) {
	for _, size := range []struct{ width, height int }{{60, 24}, {80, 24}, {200, 50}, {80, 5}} {
		for _, color := range []bool{false, true} {
			for name, shown := range views() {
				file := fmt.Sprintf("%s-%dx%d.txt", name, size.width, size.height)
				if color {
					file = "color-" + file
				}
				t.Run(file, func(t *testing.T) {
					var out bytes.Buffer
					p := NewProgress(Screen{Out: &out, Size: func() (int, int) { return size.width, size.height }, Color: color})
					var all strings.Builder
					for i, v := range shown {
						p.Show(v)
						fmt.Fprintf(&all, "--- view %d\n%s", i+1, screen(t, out.String(), size.width, size.height))
					}
					p.End(shown[len(shown)-1], "It is ready.", "Next: casement wait demo")
					fmt.Fprintf(&all, "--- the end\n%s", screen(t, out.String(), size.width, size.height))
					if strings.Contains(out.String(), "m") && strings.Contains(out.String(), plain) != color {
						t.Errorf("coloured: %q", out.String())
					}
					if !color {
						golden.Compare(t, filepath.Join("testdata", "screens", file), []byte(all.String()))
					}
				})
			}
		}
	}
}

// TestPipe checks the lines that are written if there is no terminal.
func TestPipe(t *testing.T) {
	for name, shown := range views() {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			p := NewProgress(NewScreen(&out))
			for _, v := range shown {
				p.Show(v)
				p.Show(v) // an unchanged view prints no line
			}
			p.End(shown[len(shown)-1], "It is ready.", "Next: casement wait demo")
			if strings.ContainsAny(out.String(), "\x1b\r\a\u202e") {
				t.Errorf("a control function is left: %q", out.String())
			}
			golden.Compare(t, filepath.Join("testdata", "screens", name+"-pipe.txt"), out.Bytes())
		})
	}
}

// screen returns the content of a terminal after it received text: it supports lines that scroll, moving the cursor up,
// and clearing to the end. Any other control function fails the test. A line that is longer than the terminal wraps.
func screen(t *testing.T, text string, width, height int) string {
	t.Helper()
	rows, y, x := [][]rune{nil}, 0, 0
	runes := []rune(text)
	for i := 0; i < len(runes); i++ {
		switch r := runes[i]; r {
		case '\n':
			if y, x = y+1, 0; y == len(rows) {
				rows = append(rows, nil)
			}
		case '\r':
			x = 0
		case '\x1b':
			end := i + 2
			for end < len(runes) && (runes[end] >= '0' && runes[end] <= '9' || runes[end] == ';') {
				end++
			}
			n, _ := strconv.Atoi(string(runes[i+2 : end])) // a colour, or nothing, is not a number of lines
			switch runes[end] {
			case 'A':
				if y -= n; y < max(0, len(rows)-height) {
					t.Fatalf("the cursor leaves the screen: %q", text)
				}
			case 'J':
				rows = rows[:y+1]
				rows[y] = rows[y][:min(x, len(rows[y]))]
			case 'K':
				rows[y] = rows[y][:min(x, len(rows[y]))]
			case 'm':
			default:
				t.Fatalf("control function %q", string(runes[i:end+1]))
			}
			i = end
		default:
			if x == width {
				t.Fatalf("a line is longer than %d columns: %q", width, string(rows[y]))
			}
			rows[y] = append(rows[y][:x], r)
			x++
		}
	}
	var out strings.Builder
	for _, row := range rows[max(0, len(rows)-height):] {
		fmt.Fprintf(&out, "%s\n", strings.TrimRight(string(row), " "))
	}
	return out.String()
}
