package windows

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"casement.dev/casement/internal/testing/golden"
)

// TestRegressions checks the form of the rows, and the builds of each: the first build and the last one before the fix
// have the regression; the build before the first, the fix itself, and builds of other releases do not.
func TestRegressions(t *testing.T) {
	lines := strings.Count(regressionRows, "\n") - strings.Count("\n"+regressionRows, "\n#") // minus the heading
	all := Regressions()
	if len(all) != lines || len(all) < 25 {
		t.Fatalf("read %d rows of %d", len(all), lines)
	}
	for i, r := range all {
		name := fmt.Sprintf("row %d, %s %s", i+2, r.From, r.Source)
		number, first, ok := fourParts(r.From)
		until, fixed, bounded := fourParts(r.Until)
		release, known := ReleaseByBuild(r.From)
		link, err := url.Parse(r.Source)
		switch {
		case !ok || r.Until != "" && (!bounded || until != number || fixed <= first):
			t.Errorf("%s: until %q", name, r.Until)
		case !known:
			t.Errorf("%s: of no release", name)
		case err != nil || link.Scheme != "https" || link.Host == "":
			t.Errorf("%s: no link", name)
		case r.Date.IsZero() || r.What == "" || r.Workaround == "" || len(r.Hits) == 0:
			t.Errorf("%s: something is missing", name)
		case !slices.Contains([]string{"containers", "HNS", "network", "storage", "gMSA"}, r.Area):
			t.Errorf("%s: area %s", name, r.Area)
		case r.FixedBy != "" && r.Until == "":
			t.Errorf("%s: fixed by %s, and no build", name, r.FixedBy)
		}
		for _, h := range r.Hits {
			if h != HitsHost && h != HitsImage && h != HitsController {
				t.Errorf("%s: hits %s", name, h)
			}
		}
		of := func(revision int) string { return fmt.Sprintf("10.0.%d.%d", number, revision) }
		last := fixed - 1
		if !bounded {
			last = first + 100000
		}
		if !r.Has(of(first)) || !r.Has(of(last)) || r.Has(of(first-1)) || bounded && r.Has(of(fixed)) || r.Has(release.Build) {
			t.Errorf("%s: not its builds", name)
		}
		for _, other := range allReleases() {
			if other.Build != release.Build && r.Has(fmt.Sprintf("%s.%d", other.Build, first)) {
				t.Errorf("%s: has a build of %s", name, other.Name)
			}
		}
	}
}

// TestJudge checks past updates by the builds that had their regressions.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		build, hits, about string
		known              bool
	}{
		{"10.0.20348.2582", HitsHost, "516", true}, {"10.0.20348.2700", HitsHost, "516", true},
		{"10.0.20348.2762", HitsHost, "", true}, {"10.0.20348.2227", HitsHost, "", true},
		{"10.0.17763.1457", HitsHost, "issues/61", true}, {"10.0.17763.1397", HitsHost, "40998", true},
		{"10.0.17763.7919", HitsHost, "", true}, {"10.0.26100.4652", HitsHost, "50915", true},
		{"10.0.26100.6899", HitsHost, "server-2025", true}, {"10.0.26100.7019", HitsHost, "", true},
		{"10.0.20348.1249", HitsController, "5021656", true}, {"10.0.20348.1366", HitsController, "", true},
		{"10.0.17763.3532", HitsHost, "AKS/issues/3278", true}, {"10.0.17763.3534", HitsImage, "", true},
		{"10.0.20348.1129", HitsImage, "AKS/issues/3278", true}, {"10.0.20348.1131", HitsImage, "", true},
		{"10.0.20348.473", HitsController, "", true}, {"10.0.17763.2452", HitsController, "5010791", true},
		{"10.0.17763.1577", HitsController, "4594442", true}, {"10.0.17763.1579", HitsController, "", true},
		{"10.0.26100.4652", HitsHost, "5064489", true}, {"10.0.20348.3932", HitsHost, "issues/606", true},
		{"10.0.17763.4851", HitsImage, "issues/420", true}, {"10.0.17763.6659", HitsHost, "hcsshim/issues/2342", true},
		{"10.0.26100.33158", HitsImage, "docker/issues/7283", true}, {"10.0.26100.32995", HitsImage, "", true},
		{"10.0.20348.99999", HitsHost, "", false}, {"10.0.20348", HitsHost, "", false}, {"10.0.30000.1", HitsHost, "", false},
		{"6.8.0-1030-azure", HitsHost, "", false}, {"", HitsHost, "", false},
	} {
		v := Judge(c.build, c.hits)
		about := slices.ContainsFunc(v.Found, func(r Regression) bool { return c.about != "" && strings.HasSuffix(r.Source, c.about) })
		if v.Known != c.known || about != (c.about != "") || c.about == "" && len(v.Found) > 0 {
			t.Errorf("%s (%s): %+v", c.build, c.hits, v)
		}
		if text := v.String(); len(v.Found) == 0 && (text == "none known") != c.known || text == "" {
			t.Errorf("%s: %q", c.build, text)
		}
	}
}

// TestReports: the builds in public reports, which docs/reference/reports.md lists, have the reported
// regression.
func TestReports(t *testing.T) {
	for _, c := range []struct{ build, hits, about string }{
		{"10.0.20348.2582", HitsHost, "516"},             // microsoft/Windows-Containers#516
		{"10.0.20348.2582", HitsHost, "516"},             // projectcalico/calico#9019
		{"10.0.20348.2322", HitsHost, "8529"},            // projectcalico/calico#8529
		{"10.0.17763.1432", HitsHost, "issues/61"},       // microsoft/Windows-Containers#61
		{"10.0.17763.1457", HitsHost, "issues/61"},       // rancher/rancher#29399
		{"10.0.17763.1217", HitsHost, "40998"},           // moby/moby#40998
		{"10.0.17763.1217", HitsHost, "40998"},           // docker/for-win#6787
		{"10.0.19041.329", HitsHost, "issues/18"},        // microsoft/Windows-Containers#18
		{"10.0.17763.3532", HitsImage, "3278"},           // Azure/AKS#3278
		{"10.0.20348.1129", HitsHost, "3278"},            // Azure/AKS#3278
		{"10.0.17763.4851", HitsImage, "420"},            // microsoft/Windows-Containers#420
		{"10.0.20348.3932", HitsHost, "606"},             // microsoft/Windows-Containers#606
		{"10.0.17763.6532", HitsHost, "2342"},            // microsoft/hcsshim#2342
		{"10.0.20348.2340", HitsImage, "502"},            // microsoft/Windows-Containers#502
		{"10.0.20348.2402", HitsHost, "439"},             // microsoft/Windows-Containers#439
		{"10.0.20348.502", HitsHost, "204"},              // microsoft/Windows-Containers#204
		{"10.0.20348.587", HitsHost, "204"},              // rancher/windows#159
		{"10.0.17763.1397", HitsHost, "common-problems"}, // rancher/rancher#29411
		{"10.0.20348.1129", HitsHost, "278"},             // microsoft/Windows-Containers#278
		{"10.0.17763.3532", HitsHost, "278"},             // Azure/aks-engine#5094
		{"10.0.17763.3406", HitsHost, "278"},             // Azure/AKS#3177
		{"10.0.17763.2028", HitsHost, "129"},             // microsoft/Windows-Containers#129
		{"10.0.17763.1697", HitsHost, "configure-gmsa"},  // microsoft/Windows-Containers#44
		{"10.0.20348.2402", HitsImage, "537"},            // microsoft/Windows-Containers#537
		{"10.0.19041.804", HitsImage, "1730"},            // microsoft/navcontainerhelper#1730
		{"10.0.17763.316", HitsHost, "39104"},            // moby/moby#39104
		{"10.0.17763.316", HitsHost, "39104"},            // docker/for-win#3763
		{"10.0.18363.836", HitsHost, "39476"},            // moby/moby#39476
		{"10.0.14393.5582", HitsHost, "556"},             // microsoft/Windows-Containers#556
		{"10.0.26100.3194", HitsHost, "591"},             // microsoft/Windows-Containers#591
		{"10.0.26100.2894", HitsHost, "11582"},           // actions/runner-images#11582
		{"10.0.26100.6899", HitsHost, "server-2025"},     // dotnet/WatsonWebserver#183
		{"10.0.26100.4349", HitsHost, "50915"},           // rancher/rancher#50915
		{"10.0.26100.32690", HitsHost, "616"},            // microsoft/Windows-Containers#616
		{"10.0.26100.33158", HitsImage, "7283"},          // dotnet/dotnet-docker#7283
		{"10.0.20348.707", HitsImage, "225"},             // microsoft/Windows-Containers#225
		{"10.0.17763.973", HitsImage, "4542617"},         // microsoft/dotnet-framework-docker#522
		{"10.0.14393.3443", HitsImage, "4542617"},        // docker-library/openjdk#395
		{"10.0.17763.1697", HitsHost, "566"},             // kubernetes-sigs/image-builder#566
	} {
		found := Judge(c.build, c.hits).Found
		if !slices.ContainsFunc(found, func(r Regression) bool { return strings.HasSuffix(strings.TrimSuffix(r.Source, "/"), c.about) }) {
			t.Errorf("%s (%s): nothing of %s", c.build, c.hits, c.about)
		}
	}
}

// TestRemedy checks the texts for a known fix, for none, and for reports that end with an update.
func TestRemedy(t *testing.T) {
	for want, r := range map[string]Regression{
		"KB2 (10.0.20348.2) or newer; without it: wait":     {Until: "10.0.20348.2", FixedBy: "KB2", Workaround: "wait"},
		"no fix is known: wait":                             {Workaround: "wait", Reported: true},
		"wait; no reports of it from build 10.0.20348.2 on": {Until: "10.0.20348.2", Workaround: "wait", Reported: true},
	} {
		if got := r.Remedy(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// TestChecked: the builds of reference images are known, and have no regression.
func TestChecked(t *testing.T) {
	for _, name := range ServerReleases() {
		r, _ := ReleaseByName(name)
		if v := Judge(r.KernelVersion(), HitsHost); !v.Known || len(v.Found) > 0 {
			t.Errorf("%s: %s", r.KernelVersion(), v)
		}
	}
}

// TestBuilds reads builds of marketplace versions and tags.
func TestBuilds(t *testing.T) {
	for version, want := range map[string]string{"20348.2700.240905": "10.0.20348.2700", "1.34.1": "", "latest": "", "20348.2700": "",
		"127.14.20240517": "", "30000.1.240905": ""} {
		if got, ok := MarketplaceBuild(version); ok != (want != "") || ok && got != want {
			t.Errorf("%s: %q, %t", version, got, ok)
		}
	}
	for reference, want := range map[string]string{"mcr.microsoft.com/windows/servercore:10.0.20348.2402-amd64": "10.0.20348.2402",
		"mcr.microsoft.com/windows/nanoserver:ltsc2022": "", "x:10.0.20348": ""} {
		if got, ok := ImageBuild(reference); ok != (want != "") || got != want {
			t.Errorf("%s: %q, %t", reference, got, ok)
		}
	}
}

// TestBuildsPage compares docs/reference/windows-builds.md with the table.
func TestBuildsPage(t *testing.T) {
	var out strings.Builder
	out.WriteString("<!-- made by make generate -->\n# Builds of Windows with known regressions\n\nUpdates of Windows that broke " +
		"something for containers, " +
		"HNS, DNS, storage or the identities of pods, and what releases lacked at their beginning. `images list -o wide`, `images show` and " +
		"`images build`, preflight (PRE307), lint ([WIN711](../rules/WIN711.md)), doctor (D38) and `why` look here. A build that is newer " +
		"than the table is not known, which is not the same as fine. *Reported* are reports of users that Microsoft has not confirmed; of " +
		"*unread* rows no copy of the source could be compared when the table was last checked.\n\n" +
		"The table was made with these builds as the newest:")
	for _, r := range allReleases() {
		if newest := checkedUntil[r.Name]; newest != "" {
			fmt.Fprintf(&out, " %s (Windows Server %s),", newest, r.Name)
		}
	}
	text := strings.TrimSuffix(out.String(), ",") + ".\n\n| from | until | update | area | where | what | what helps | source " +
		"|\n|---|---|---|---|---|---|---|---|\n"
	for _, r := range Regressions() {
		until, kb, what := r.Until, r.KB, r.What
		if until == "" {
			until = "no fix known"
		}
		if r.FixedBy != "" {
			until += " (" + r.FixedBy + ")"
		}
		if r.Reported {
			what += " (*reported*)"
		}
		if r.Unread {
			what += " (*unread*)"
		}
		text += fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | [source](%s) |\n", r.From, until, kb, r.Area, strings.Join(r.Hits, ", "), what,
			strings.ReplaceAll(r.Workaround, "|", `\|`), r.Source)
	}
	text += "\n## To bring it up to date\n\nAfter the second Tuesday of a month:\n\n" +
		"1. Read \"known issues\" and \"resolved issues\" of each release at learn.microsoft.com/windows/release-health, the month's " +
		"KB pages, and what is new in " +
		"microsoft/Windows-Containers, Azure/AKS, projectcalico/calico and kubernetes/kubernetes with the build in its title.\n" +
		"2. Write a row per release into `internal/windows/regressions.tsv`: the first build that has it, the first without it, both " +
		"KBs, the day, a link. " +
		"What users alone report gets `reported`, what could not be read again `unread`.\n" +
		"3. Set `checkedUntil` in `internal/windows/regression.go` to the newest build that you have read about; the UBR of reference " +
		"images in " +
		"`windows.go` may follow.\n4. `go test ./internal/windows -run 'TestRegressions|TestBuildsPage' -update`: each row is held to " +
		"its builds and to no other.\n"
	golden.Compare(t, "../../docs/reference/windows-builds.md", []byte(text))
}
