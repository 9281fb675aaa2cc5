package supervisor

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestLogger: --v selects which V(level) messages of logr and klog the plane's log contains.
func TestLogger(t *testing.T) {
	t.Cleanup(func() {
		_, err := Options{Log: &bytes.Buffer{}}.logger()
		if klog.ClearLogger(); err != nil {
			t.Error(err)
		}
	})
	for verbosity, want := range map[int]string{
		0: "plain wrong klog0", 2: "plain two wrong klog0 klog2", 4: "plain two four wrong klog0 klog2 klog4",
	} {
		var out bytes.Buffer
		log, err := Options{Log: &out, Verbosity: verbosity}.logger()
		if err != nil {
			t.Fatal(err)
		}
		klog.SetLogger(log)
		log.Info("plain")
		log.V(2).Info("two")
		log.V(4).Info("four")
		log.Error(errors.New("why"), "wrong")
		klog.InfoS("klog0")
		klog.V(2).InfoS("klog2")
		klog.V(4).InfoS("klog4")
		var got []string
		for line := range strings.Lines(out.String()) {
			_, rest, _ := strings.Cut(line, "msg=")
			got = append(got, strings.Fields(rest)[0])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("--v %d logs %q, want %q", verbosity, got, want)
		}
	}
}
