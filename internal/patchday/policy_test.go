package patchday

import (
	"strings"
	"testing"
	"time"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// TestWindow: windows open and close by the clock of their time zone, across its changes.
func TestWindow(t *testing.T) {
	for _, test := range []struct {
		name, cron, zone string
		lasts            time.Duration
		at               string
		open             bool
		until            string
	}{
		{"before", "0 22 * * 2", "UTC", 4 * time.Hour, "2026-07-14T21:59:59Z", false, "2026-07-14T22:00:00Z"},
		{"as it opens", "0 22 * * 2", "UTC", 4 * time.Hour, "2026-07-14T22:00:00Z", true, "2026-07-15T02:00:00Z"},
		{"past midnight", "0 22 * * 2", "UTC", 4 * time.Hour, "2026-07-15T01:59:59Z", true, "2026-07-15T02:00:00Z"},
		{"as it closes", "0 22 * * 2", "UTC", 4 * time.Hour, "2026-07-15T02:00:00Z", false, "2026-07-21T22:00:00Z"},
		{"in summer time", "0 22 * * *", "Europe/Berlin", time.Hour, "2026-07-14T20:30:00Z", true, "2026-07-14T21:00:00Z"},
		{"in winter time", "0 22 * * *", "Europe/Berlin", time.Hour, "2026-01-14T21:30:00Z", true, "2026-01-14T22:00:00Z"},
		{"across spring: four hours by the clock on the wall end an hour later", "0 0 * * *", "Europe/Berlin", 4 * time.Hour,
			"2026-03-29T02:59:00Z", true, "2026-03-29T03:00:00Z"},
		{"across autumn", "0 0 * * *", "Europe/Berlin", 4 * time.Hour, "2026-10-25T01:59:00Z", true, "2026-10-25T02:00:00Z"},
		{"an hour that does not exist", "30 2 * * 0", "Europe/Berlin", time.Hour, "2026-03-29T00:00:00Z", false, "2026-04-05T00:30:00Z"},
		{"overlapping", "0 * * * *", "UTC", 90 * time.Minute, "2026-07-14T12:10:00Z", true, "2026-07-14T13:30:00Z"},
		{"never", "0 0 30 2 *", "UTC", time.Hour, "2026-07-14T12:10:00Z", false, ""},
	} {
		w, err := NewWindow(test.cron, test.lasts, test.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, _ := time.Parse(time.RFC3339, test.at)
		open, until := w.Open(at)
		text := ""
		if !until.IsZero() {
			text = until.UTC().Format(time.RFC3339)
		}
		if open != test.open || text != test.until {
			t.Errorf("%s: %t until %s", test.name, open, text)
		}
	}
}

func TestRead(t *testing.T) {
	cluster := map[string]string{infrav1.ImageChannelAnnotation: "latest-verified", infrav1.PatchCanaryAnnotation: "2",
		infrav1.MaintenanceWindowAnnotation: "0 22 * * 2", infrav1.MaintenanceWindowTimeZoneAnnotation: "Europe/Berlin"}
	p, err := Read(cluster, map[string]string{infrav1.PatchCanaryAnnotation: "3"})
	if err != nil || p.Channel != "latest-verified" || p.Canary != 3 || p.Soak != 10*time.Minute || p.Window == nil ||
		p.Window.duration != 4*time.Hour {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := Read(nil, nil); err != nil || p.Channel != infrav1.ImageChannelNone {
		t.Errorf("%+v, %v", p, err)
	}
	for name, value := range map[string]string{
		infrav1.ImageChannelAnnotation: "newest", infrav1.PatchOrderAnnotation: "first", infrav1.PatchCanaryAnnotation: "-1",
		infrav1.PatchSoakAnnotation: "169h", infrav1.PatchTimeoutAnnotation: "soon", infrav1.PatchJobAnnotation: "smoke",
		infrav1.MaintenanceWindowAnnotation: "every night", infrav1.MaintenanceWindowDurationAnnotation: "4",
		infrav1.MaintenanceWindowTimeZoneAnnotation: "Middle/Earth",
	} {
		if _, err := Read(cluster, map[string]string{name: value}); err == nil || !strings.Contains(err.Error(), "maintenance-window") &&
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// TestWindowsThatAreNone: an annotation may contain any text, and the library that parses it supports more forms and
// panics on some.
func TestWindowsThatAreNone(t *testing.T) {
	for _, expression := range []string{"", " ", "@every 1ns", " @every 1ns", "\n@daily", "TZ=UTC", "CRON_TZ=", "* * * *", "* * * * * *",
		"*/0 * * * *", "0-99999999999999999999 * * * *", "5-1 * * * *", "-1 * * * *", "1/ * * * *", "* * * * MON-", "\x00 * * * *"} {
		if w, err := NewWindow(expression, time.Hour, "UTC"); err == nil {
			t.Errorf("%q is taken: %v", expression, w.text)
		}
	}
	for _, zone := range []string{"../../etc/passwd", "/etc/localtime", "Europe/Berlin 0", "\x00"} {
		if _, err := NewWindow("0 1 * * *", time.Hour, zone); err == nil {
			t.Errorf("zone %q is taken", zone)
		}
	}
}
