package windows

import (
	_ "embed" // embeds regressions.tsv
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// regressionRows are builds of Windows whose updates caused regressions for containers, one per line. Each row names
// its public source; docs/reference/windows-builds.md describes how to update the table.
//
//go:embed regressions.tsv
var regressionRows string

// checkedUntil are the newest builds for which the table was checked, by release: nothing is known about newer builds.
// Source: Microsoft's update history of each release; for autumn 2026 the fixed builds in Microsoft's CVE records
// (CVE-2026-105009 and CVE-2026-83643 of 2026-10-13, CVE-2026-78445 of 2026-09-08), and the issues of that time.
var checkedUntil = map[string]string{
	"2016": "10.0.14393.9612", "2019": "10.0.17763.9376", "2004": "10.0.19041.1415", "20H2": "10.0.19042.1889",
	"2022": "10.0.20348.5761", "2025": "10.0.26100.33438",
}

// The places of a regression.
const (
	// HitsHost is nodes with the build.
	HitsHost = "host"
	// HitsImage is containers whose base image has the build.
	HitsImage = "image"
	// HitsController is domain controllers with the build, which containers with an identity use for their logon.
	HitsController = "controller"
)

// Regression is a defect that an update of Windows introduced, or that builds before an update have.
type Regression struct {
	// From is the first build with the regression; Until is the first without it, or without a known report, and "" if
	// no fix is known. Both have four parts and belong to one release.
	From, Until string
	// KB is the update that introduced it, "" if the release has always had it; FixedBy is the update without it.
	KB, FixedBy string
	// Date is the day of From.
	Date time.Time
	// Area is containers, HNS, network, storage or gMSA.
	Area string
	// Hits are HitsHost, HitsImage and HitsController.
	Hits []string
	// What describes the effect, Workaround is a remedy without the fix, and Source is a URL.
	What, Workaround, Source string
	// Reported is true if users report it and Microsoft has not confirmed it.
	Reported bool
	// Unread is true if the source could not be compared when the table was last checked.
	Unread bool
}

// Regressions returns the table.
func Regressions() []Regression {
	var out []Regression
	for line := range strings.Lines(regressionRows) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 11 { // a test checks the form
			continue
		}
		day, _ := time.Parse(time.DateOnly, f[3]) // likewise
		out = append(out, Regression{From: f[0], Until: f[1], KB: f[2], Date: day, FixedBy: f[4], Area: f[5], Hits: strings.Fields(f[6]),
			What: f[7], Workaround: f[8], Source: f[9], Reported: f[10] == "reported", Unread: f[10] == "unread"})
	}
	return out
}

// Has reports whether a build of four parts has the regression.
func (r Regression) Has(build string) bool {
	number, revision, ok := fourParts(build)
	from, first, _ := fourParts(r.From)
	if !ok || number != from || revision < first {
		return false
	}
	_, fixed, bounded := fourParts(r.Until)
	return !bounded || revision < fixed
}

// Name returns a line with the build that introduced the regression, and its effect.
func (r Regression) Name() string {
	what := r.What
	if r.KB != "" {
		what = r.KB + ": " + what
	}
	if r.Reported {
		what += " (reported by users)"
	}
	return what
}

// Remedy returns the update that fixes the regression, and the workaround without it.
func (r Regression) Remedy() string {
	if r.Until == "" {
		return "no fix is known: " + r.Workaround
	}
	if r.Reported && r.FixedBy == "" {
		return r.Workaround + "; no reports of it from build " + r.Until + " on"
	}
	fix := "build " + r.Until
	if r.FixedBy != "" {
		fix = r.FixedBy + " (" + r.Until + ")"
	}
	return fix + " or newer; without it: " + r.Workaround
}

// Verdict is the knowledge about a build.
type Verdict struct {
	// Found are its regressions.
	Found []Regression
	// Known is false for a build that is newer than the table, of a release that is not in the table, or without a
	// fourth part. An empty Found then has no meaning.
	Known bool
	// Newest is the newest build of the release for which the table was checked.
	Newest string
}

// Judge returns the verdict on a build of four parts, for nodes, images or domain controllers.
func Judge(build, hits string) Verdict {
	var v Verdict
	for _, r := range Regressions() {
		if r.Has(build) && slices.Contains(r.Hits, hits) {
			v.Found = append(v.Found, r)
		}
	}
	release, ok := ReleaseByBuild(build)
	_, revision, whole := fourParts(build)
	if v.Newest = checkedUntil[release.Name]; !ok || !whole || v.Newest == "" {
		return v
	}
	_, newest, _ := fourParts(v.Newest)
	v.Known = revision <= newest
	return v
}

// String returns the verdict in a line: the names of the regressions, "none known", or that the build is not known.
func (v Verdict) String() string {
	var names []string
	for _, r := range v.Found {
		names = append(names, r.Name())
	}
	switch {
	case len(names) > 0 && !v.Known:
		return strings.Join(names, "; ") + "; newer than the table, so others are not known"
	case len(names) > 0:
		return strings.Join(names, "; ")
	case !v.Known && v.Newest != "":
		return fmt.Sprintf("not known: newer than %s, with which the table was made", v.Newest)
	case !v.Known:
		return "not known"
	}
	return "none known"
}

// fourParts parses a build such as 10.0.20348.2582.
func fourParts(build string) (number, revision int, ok bool) {
	parts := strings.Split(build, ".")
	if len(parts) != 4 || parts[0] != "10" || parts[1] != "0" {
		return 0, 0, false
	}
	number, err := strconv.Atoi(parts[2])
	if err != nil {
		return 0, 0, false
	}
	revision, err = strconv.Atoi(parts[3])
	return number, revision, err == nil && revision >= 0
}

// MarketplaceBuild returns the build of a version of Microsoft's Windows Server images, such as
// 20348.2700.240905; ok is false for another form.
func MarketplaceBuild(version string) (build string, ok bool) {
	parts := strings.Split(version, ".")
	if len(parts) != 3 || len(parts[2]) != len("240905") {
		return "", false
	}
	build = "10.0." + parts[0] + "." + parts[1]
	_, known := ReleaseByBuild(build)
	_, _, whole := fourParts(build)
	return build, known && whole
}

// ImageBuild returns the build of four parts in the tag of a container image; ok is false if it has none.
func ImageBuild(reference string) (build string, ok bool) {
	_, tag := splitImage(reference)
	build = wholeBuild.FindString(tag)
	return build, build != ""
}
