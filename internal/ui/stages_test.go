package ui

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"casement.dev/casement/internal/diagnose/timeline"
)

// TestStageNames: the page has a colour for each stage of a boot.
func TestStageNames(t *testing.T) {
	script, err := os.ReadFile("assets/boot.js")
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^const stageNames = \["(.*)"\];$`).FindSubmatch(script)
	if list == nil || string(list[1]) != strings.Join(timeline.Names, `", "`) {
		t.Errorf("the page has the stages %s, want %q", list, timeline.Names)
	}
}
