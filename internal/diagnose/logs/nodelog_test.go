package logs

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestWhen(t *testing.T) {
	for _, c := range []struct {
		name, line string
		want       time.Time
	}{
		{"container", "2026-01-02T11:59:58.123456789Z stdout F hello", time.Date(2026, 1, 2, 11, 59, 58, 123456789, time.UTC)},
		{"journal", "2026-01-02T12:59:58+0100 node kubelet[1]: hello", time.Date(2026, 1, 2, 11, 59, 58, 0, time.UTC)},
		{"containerd", `time="2026-01-02T11:59:58Z" level=info msg=hello`, time.Date(2026, 1, 2, 11, 59, 58, 0, time.UTC)},
		{"simulated kubelet", "time=2026-01-02T11:59:58.000Z level=INFO msg=hello", time.Date(2026, 1, 2, 11, 59, 58, 0, time.UTC)},
		{"cloud-init", "2026-01-02 11:59:58,500 - util.py[DEBUG]: hello", time.Date(2026, 1, 2, 11, 59, 58, 0, time.UTC)},
		{"cloudbase-init", "2026-01-02 11:59:58.500 2024 DEBUG cloudbaseinit.init [-] hello",
			time.Date(2026, 1, 2, 11, 59, 58, 0, time.UTC)},
		{"klog", "I0102 11:59:58.500000    1 server.go:1] hello", time.Date(2026, 1, 2, 11, 59, 58, 500000000, time.UTC)},
		{"klog of last year", "E1231 11:59:58.500000    1 server.go:1] hello", time.Date(2025, 12, 31, 11, 59, 58, 500000000, time.UTC)},
		{"nothing", "[preflight] Running pre-flight checks", time.Time{}},
		{"no date at all", "2026-99-99 11:59:58.500 x", time.Time{}},
		{"empty", "", time.Time{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := When(c.line, noon)
			if ok == c.want.IsZero() || !got.Equal(c.want) {
				t.Errorf("got %v, %v; want %v", got, ok, c.want)
			}
		})
	}
}

func FuzzWhen(f *testing.F) {
	f.Add("I0102 11:59:58.500000 x")
	f.Add("time=\"2026-01-02T11:59:58Z\"")
	f.Fuzz(func(t *testing.T, line string) {
		if at, ok := When(line, noon); !ok && !at.IsZero() {
			t.Errorf("%q has no time and it is %v", line, at)
		}
	})
}

func TestPrinter(t *testing.T) {
	const text = "2026-01-02 11:00:00.0 old\n  and its rest\n2026-01-02 11:59:00.0 new token=abcdef.0123456789abcdef\r\n  and more\nlast"
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{"all", Options{}, "2026-01-02 11:00:00.0 old\n  and its rest\n" +
			"2026-01-02 11:59:00.0 new token=abcdef.[redacted]\n  and more\nlast\n"},
		{"since", Options{Since: noon.Add(-time.Minute * 10), Now: noon},
			"2026-01-02 11:59:00.0 new token=abcdef.[redacted]\n  and more\nlast\n"},
		{"tail", Options{Tail: 2}, "  and more\nlast\n"},
		{"nothing so young", Options{Since: noon, Now: noon}, ""},
	} {
		for _, step := range []int{1, 7, len(text)} {
			t.Run(c.name, func(t *testing.T) {
				var out bytes.Buffer
				log := (&Printer{Out: &out}).Log("a", c.o)
				for part := range slices.Chunk([]byte(text), step) {
					if _, err := log.Write(part); err != nil {
						t.Fatal(err)
					}
				}
				if err := log.Close(); err != nil {
					t.Fatal(err)
				}
				want := c.want
				if want != "" {
					want = "==> a <==\n" + want
				}
				if out.String() != want {
					t.Errorf("in parts of %d:\n%s\nwant\n%s", step, out.String(), want)
				}
			})
		}
	}
}

func TestPrinterHeadings(t *testing.T) {
	var out bytes.Buffer
	p := &Printer{Out: &out}
	a, b := p.Log("a", Options{}), p.Log("b", Options{})
	for _, step := range []struct {
		log  *Log
		text string
	}{{a, "1\n2"}, {b, "x\n"}, {b, "y\n"}, {a, "\n"}} {
		if _, err := step.log.Write([]byte(step.text)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "==> a <==\n1\n\n==> b <==\nx\ny\n\n==> a <==\n2\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		name    string
		names   []string
		windows bool
		want    string
		refusal string
	}{
		{
			"all of Linux", nil, false,
			"boot kubelet containerd kube-proxy cni etcd kube-apiserver kube-controller-manager kube-scheduler", "",
		},
		{"all of Windows", nil, true, "boot kubelet containerd kube-proxy cni hns", ""},
		{"aliases and order", []string{"cni", "cloudbase-init"}, true, "boot cni", ""},
		{"hns of Linux", []string{"hns"}, false, "", ""},
		{"a static pod", []string{"kube-apiserver"}, false, "kube-apiserver", ""},
		{"a static pod of Windows", []string{"etcd"}, true, "", ""},
		{"unknown", []string{"coredns"}, false, "", "there are: boot"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sources, err := Choose(c.names, c.windows)
			if c.refusal != "" {
				if err == nil || !strings.Contains(err.Error(), c.refusal) {
					t.Errorf("got %v", err)
				}
				return
			}
			var got []string
			for _, s := range sources {
				got = append(got, s.Name)
			}
			if err != nil || strings.Join(got, " ") != c.want {
				t.Errorf("got %v, %v; want %s", got, err, c.want)
			}
		})
	}
}
