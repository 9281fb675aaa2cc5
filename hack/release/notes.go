package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// pages is the URL of a release's files for readers of the release notes.
const pages = "https://github.com/casement-dev/casement/blob/"

// notes returns the release notes of a version from CHANGELOG.md in the working directory.
func notes(version string) ([]byte, error) {
	changes, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		return nil, fmt.Errorf("release notes: %w", err)
	}
	return notesOf(string(changes), version)
}

var relative = regexp.MustCompile(`\]\(([^)\s:#]+)(#[^)\s]*)?\)`)

// notesOf returns the section of a version, or "Unreleased" if the changelog has no section for it.
// Its links lead to the files of that version.
func notesOf(changes, version string) ([]byte, error) {
	for _, name := range []string{version, "Unreleased"} {
		_, section, found := strings.Cut("\n"+changes, "\n## "+name+"\n")
		if !found {
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		section = relative.ReplaceAllString(strings.TrimSpace(section), "]("+pages+version+"/$1$2)")
		if section == "" {
			break
		}
		return []byte("# casement " + version + "\n\n" + section + "\n"), nil
	}
	return nil, fmt.Errorf("release notes: CHANGELOG.md has nothing below %q or \"Unreleased\": write what changed", "## "+version)
}
