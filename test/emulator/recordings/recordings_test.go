package recordings

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/testing/golden"
)

var (
	full = flag.Bool("full", false, "replay every recording, not the representative part")
	only = flag.String("only", "", "replay the recordings whose names match")
	file = flag.String("file", "", "replay this recording alone, such as casement azure record makes")
	all  = flag.Bool("differences", false, "print every difference")
	same = flag.Bool("same", false, "the recording is one of a local plane: fail where anything differs")
)

// representative matches the recordings that the usual test run replays.
var representative = regexp.MustCompile(`Compute_VM_2022|Compute_Disk_2020|LoadBalancer_2020|` +
	`VirtualNetwork_2020|NetworkSecurityGroup_2024|RouteTable_2020|PublicIP_2024|` +
	`BastionHost_2024|NatGateway_2024|PublicIPPrefix_2024|VirtualNetworkPeering_2024|PrivateDnsZone_2024|` +
	`@|PrivateEndpoint_2024|PrivateLinkService_2024|DnsZone_CRUD|ApplicationSecurity|` +
	`KeyVault_Vault_CRUD|UserAssignedIdentity_20230131_CRUD|RoleAssignment_OnResourceGroup|ResourceGroup_CRUD|Subnet_CreatedThenVNET.*2020`)

// secret is the secret of the application that the replay uses.
const secret = "the replayer's own"

// TestRecordings compares the local Azure with recorded answers of Azure.
func TestRecordings(t *testing.T) {
	files, err := chosen()
	if err != nil {
		t.Skipf("the recordings cannot be had: %v", err)
	}
	wanted := representative
	switch {
	case *only != "":
		wanted = regexp.MustCompile(*only)
	case *full || *file != "":
		wanted = regexp.MustCompile("")
	}
	baseline := "baseline.tsv"
	if *same {
		baseline = "rehearsal.tsv"
	}
	accepted, err := readBaseline(baseline)
	if err != nil {
		t.Fatal(err)
	}
	result := newReport()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !wanted.MatchString(name) {
			continue
		}
		rec, err := load(name, files[name])
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { replay(t, rec, accepted, result) })
		})
	}
	if *only == "" && *file == "" && !*full {
		holdFloors(t, result)
	}
	if *file == "" {
		known, err := readBaseline("unexplained.tsv")
		if err != nil {
			t.Fatal(err)
		}
		for _, member := range result.unexplained(known) {
			t.Errorf("no default, request or generator explains %s; defaults.tsv, or unexplained.tsv with a reason, has to", member)
		}
	}
	var out strings.Builder
	result.print(&out)
	if *all || *same {
		result.printDifferences(&out)
	}
	if *same && (len(result.differences) > 0 || result.total.unmodelled > 0) {
		t.Error("the recording differs from what the local Azure answers")
	}
	fmt.Fprintln(os.Stdout, out.String())
}

// holdFloors fails the test if fewer answers agree with Azure than before.
func holdFloors(t *testing.T, result *report) {
	const file = "floors.tsv"
	if golden.Update() {
		if err := os.WriteFile(file, []byte(result.floors()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sunk, err := result.sunk(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sunk {
		t.Errorf("%s; go test -update writes %s if that is meant", s, file)
	}
}

// chosen returns the paths of the recordings in the module cache, or of the single named recording,
// by name.
func chosen() (map[string]string, error) {
	if *file != "" {
		return map[string]string{strings.TrimSuffix(filepath.Base(*file), ".yaml"): *file}, nil
	}
	out := map[string]string{}
	for _, s := range sources {
		dir, err := s.download()
		if err != nil {
			return nil, err
		}
		files, err := s.files(dir)
		if err != nil {
			return nil, err
		}
		maps.Copy(out, files)
	}
	return out, nil
}

// recorded is a clock that shows the time of the recording instead of the test's own time. Some
// features in recordings are retired by now, and some that are retired now were not retired then.
type recorded struct {
	clock.RealClock
	ahead time.Duration
}

// Now returns the time of the recording.
func (r recorded) Now() time.Time { return time.Now().Add(r.ahead) }

// Since returns how long ago a time of the recording was.
func (r recorded) Since(t time.Time) time.Duration { return r.Now().Sub(t) }

// replay plays one recording against a new local Azure. It is as slow as Azure, so that a wait for
// the end of one operation does not also end operations that started at the same time.
func replay(t *testing.T, rec recording, accepted baseline, result *report) {
	var ahead time.Duration
	if began := rec.began(); !began.IsZero() {
		ahead = time.Until(began)
	}
	config := azuresim.Config{TenantID: zero, Subscriptions: []string{zero}, Latency: azuresim.RealTime,
		Clients: []azuresim.Client{{ID: zero, Secret: secret}}, Clock: recorded{ahead: ahead}, Linked: rec.linked}
	if *same {
		config.FQDN = func(_, _, ip string) string { return ip } // as local planes configure it
	}
	server, err := azuresim.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	}()
	r := &replayer{azure: server, login: func(audience string) (string, error) { return login(server, audience) }}
	if err := r.play(rec, func(c call, got answer) { result.add(rec.name, judge(c, got, accepted.allow)) }); err != nil {
		t.Error(err)
	}
}

// login returns a token as a service principal obtains it.
func login(server azure, audience string) (string, error) {
	form := url.Values{"grant_type": {"client_credentials"}, "client_id": {zero}, "client_secret": {secret},
		"scope": {audience + "/.default"}}
	req, err := http.NewRequest(http.MethodPost, "https://login.microsoftonline.com/"+zero+"/oauth2/v2.0/token",
		strings.NewReader(form.Encode()))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := server.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	var token struct {
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(data, &token); err != nil || token.AccessToken == "" {
		return "", fmt.Errorf("the local Azure gives no token: %s: %s", resp.Status, data)
	}
	return token.AccessToken, nil
}
