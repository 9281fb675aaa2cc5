package windows

import (
	_ "embed" // of regressions.tsv
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// regressionRows are builds of Windows whose updates broke something for containers, one a
// line. A row is from a public source that it names; docs/reference/windows-builds.md says how
// the table is brought up to date.
//
//go:embed regressions.tsv
var regressionRows string

// checkedUntil are the newest builds that the table was made with, by release: of a newer one
// nothing is known. Source: Microsoft's update history of each release; of autumn 2026 the fixed builds of Microsoft's CVE records
// (CVE-2026-105009 and CVE-2026-83643 of 2026-10-13, CVE-2026-78445 of 2026-09-08), with the issues of that time read.
var checkedUntil = map[string]string{
	"2016": "10.0.14393.9612", "2019": "10.0.17763.9376", "2004": "10.0.19041.1415", "20H2": "10.0.19042.1889",
	"2022": "10.0.20348.5761", "2025": "10.0.26100.33438",
}

// Where a regression is.
const (
	// HitsHost: on nodes of the build.
	HitsHost = "host"
	// HitsImage: in containers whose base image is of the build.
	HitsImage = "image"
	// HitsController: on domain controllers of the build, which containers with an identity log on at.
	HitsController = "controller"
)

// Regression is something that an update of Windows broke, or that builds before an update
// lack.
type Regression struct {
	// From is the first build with the regression, Until the first without it, or the first without a known
	// report; empty if no fix is known. Both have four parts and are of one release.
	From, Until string
	// KB is the update that brought it, empty where the release had it from its beginning;
	// FixedBy the one without it.
	KB, FixedBy string
	// Date is the day of From.
	Date time.Time
	// Area is containers, HNS, network, storage or gMSA.
	Area string
	// Hits are HitsHost, HitsImage and HitsController.
	Hits []string
	// What describes the effect, Workaround a remedy without the fix, Source is a link.
	What, Workaround, Source string
	// Reported is set where users report it and Microsoft has not confirmed it.
	Reported bool
	// Unread is set where no copy of the source could be compared when the table was last checked.
	Unread bool
}

// Regressions returns the table.
func Regressions() []Regression {
	var out []Regression
	for line := range strings.Lines(regressionRows) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 11 { // a test holds the form
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

// Name returns a line with the build that brought the regression and its effect.
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

// Remedy returns the update that repairs the regression, and the workaround without it.
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
	// Known is false for a build that is newer than the table, of a release that is not in it, or without a
	// fourth part. An empty Found then means nothing.
	Known bool
	// Newest is the newest build of the release that the table was made with.
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

// String says the verdict in a line: the names of the regressions, "none known", or that the
// build is not known.
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

// fourParts reads a build such as 10.0.20348.2582.
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

// ImageBuild returns the build of four parts in the tag of a container image; ok is false where
// it has none.
func ImageBuild(reference string) (build string, ok bool) {
	_, tag := splitImage(reference)
	build = wholeBuild.FindString(tag)
	return build, build != ""
}
