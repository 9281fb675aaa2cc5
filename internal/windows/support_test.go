package windows

import (
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/internal/testing/golden"
)

// TestSupport checks the form of the rows: a URL, a day, and one row for each project and release.
func TestSupport(t *testing.T) {
	for _, s := range supports {
		link, err := url.Parse(s.Source)
		if _, day := time.Parse(time.DateOnly, s.Checked); err != nil || link.Scheme != "https" || day != nil {
			t.Errorf("%s has no source or day", s)
		}
		if _, ok := ReleaseByName(s.Release); !ok {
			t.Errorf("%s is of no release", s)
		}
	}
	for _, by := range []string{"Kubernetes", "Calico", "Flannel", "Azure CNI"} {
		for _, release := range ServerReleases() {
			for _, minor := range []int{0, 30, 36, 37} {
				if _, ok := SupportOf(by, release, minor); !ok {
					t.Errorf("nothing is known of %s on %s in 1.%d", by, release, minor)
				}
			}
		}
	}
}

// TestChooseRelease: 2025 is chosen if Kubernetes and the network support it.
func TestChooseRelease(t *testing.T) {
	calico, _ := NetworkByPlugin("calico")
	azure, _ := NetworkByPlugin("azure-vnet")
	for _, c := range []struct {
		minor int
		n     Network
		want  string
	}{{36, calico, "2022"}, {37, calico, "2022"}, {0, calico, "2022"}, {36, azure, "2022"}, {37, azure, "2025"}, {0, azure, "2025"},
		{37, Network{}, "2022"}} {
		if got := ChooseRelease(c.minor, c.n); got != c.want {
			t.Errorf("1.%d with %s: %s, want %s", c.minor, c.n.Name, got, c.want)
		}
	}
}

// TestEnds: the text names both ends of 2025, and states that 2022 gets only security fixes.
func TestEnds(t *testing.T) {
	day := time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)
	for name, want := range map[string]string{"2025": "2034-11-14, base images until 2034-10-10",
		"2022": "mainstream support ended 2026-10-13",
		"2019": "mainstream support ended 2024-01-09, security fixes until 2029-01-09", "23H2": "support ended 2025-10-24"} {
		r, _ := ReleaseByName(name)
		if got := r.Support(day); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q in it", name, got, want)
		}
	}
}

// TestSupportPage compares docs/reference/windows-releases.md with the tables.
func TestSupportPage(t *testing.T) {
	var out strings.Builder
	out.WriteString("<!-- made by make generate -->\n# Windows releases and who supports them\n\nWhat each project says of a " +
		"Windows release as a node, " +
		"with its source and the day on which that said so. Preflight (PRE308) and lint ([WIN830](../rules/WIN830.md)) report what is " +
		"not supported.\n\n" +
		"| release | by | Kubernetes | state | note | source | seen |\n|---|---|---|---|---|---|---|\n")
	for _, release := range ServerReleases() {
		for _, s := range supports {
			if s.Release != release {
				continue
			}
			from := "all, or below another row"
			if s.From > 0 {
				from = "1." + strconv.Itoa(s.From) + " and newer"
			}
			out.WriteString("| " + s.Release + " | " + s.By + " | " + from + " | " + string(s.Level) + " | " + s.Note + " | [source](" + s.Source +
				") | " + s.Checked + " |\n")
		}
	}
	out.WriteString("\n## Microsoft's dates\n\nThe lifecycle of the product and that of the container base images are two lists, " +
		"which differ for 2025. " +
		"Sources: learn.microsoft.com/lifecycle/products/export; " +
		"learn.microsoft.com/virtualization/windowscontainers/deploy-containers/base-image-lifecycle.\n\n" +
		"| release | from | mainstream until | security fixes until | base images until |\n|---|---|---|---|---|\n")
	for _, r := range Releases() {
		mainstream, images := r.Mainstream, r.ImagesEnd
		if mainstream.IsZero() {
			mainstream = r.EndOfSupport
		}
		if images.IsZero() {
			images = r.EndOfSupport
		}
		out.WriteString("| " + r.Name + " | " + r.Released.Format(time.DateOnly) + " | " + mainstream.Format(time.DateOnly) + " | " +
			r.EndOfSupport.Format(time.DateOnly) + " | " + images.Format(time.DateOnly) + " |\n")
	}
	out.WriteString("\n## What is chosen\n\n`casement generate cluster` takes 2025 from Kubernetes 1.37 on where the flavor's " +
		"network supports it, which is Azure CNI, and 2022 " +
		"else; `WINDOWS_SERVER_VERSION` says otherwise. A machine template that names no release gets 2022: the image of machines " +
		"that run must not change.\n")
	golden.Compare(t, "../../docs/reference/windows-releases.md", []byte(out.String()))
}
