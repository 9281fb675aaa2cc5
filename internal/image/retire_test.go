package image

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"casement.dev/casement/azuresim"
	"casement.dev/casement/internal/kuberelease"
	"casement.dev/casement/internal/windows"
)

// retirement prepares a definition with five versions: a machine uses one, an object uses another, and a
// third belongs to a build that has not published it.
func retirement(t *testing.T) (r Retirement, versions func() []string) {
	t.Helper()
	s := newStage(t)
	a := azure{s.client, quick}
	definition := sample(t).DefinitionID(azuresim.DefaultSubscription)
	put := func(id, version string, body object) {
		t.Helper()
		if err := a.put(t.Context(), id, version, body); err != nil {
			t.Fatal(err)
		}
	}
	put(definition, galleryVersion, object{"location": "westeurope", "properties": object{"osType": "Windows", "osState": "Generalized",
		"identifier": object{"publisher": "p", "offer": "o", "sku": "s"}}})
	known, err := windows.DefaultImage(kuberelease.Default, windows.OSWindows, nil)
	if err != nil {
		t.Fatal(err)
	}
	source := object{"source": object{"communityGalleryImageId": known.Reference()}}
	for _, v := range []string{"1.0.2", "1.0.9", "1.0.10", "1.0.11", "1.0.12"} {
		tags := object{"owner": "me"}
		if v == "1.0.12" {
			tags[tagBuild] = "windows-2022"
		}
		put(definition+"/versions/"+v, galleryVersion, object{"location": "westeurope", "tags": tags, "properties": object{
			"storageProfile": source, "publishingProfile": object{"replicaCount": 2}}})
	}
	group := sub + "/resourceGroups/images"
	subnet := group + "/providers/Microsoft.Network/virtualNetworks/v/subnets/s"
	put(group+"/providers/Microsoft.Network/virtualNetworks/v", networkVersion, object{"location": "westeurope", "properties": object{
		"addressSpace": object{"addressPrefixes": []string{"10.0.0.0/16"}},
		"subnets":      []object{{"name": "s", "properties": object{"addressPrefix": "10.0.0.0/24"}}}}})
	nic := group + "/providers/Microsoft.Network/networkInterfaces/n"
	put(nic, networkVersion, object{"location": "westeurope", "properties": object{
		"ipConfigurations": []object{{"name": "c", "properties": object{"subnet": object{"id": subnet}}}}}})
	put(group+"/providers/Microsoft.Compute/virtualMachines/old", computeVersion, object{"location": "westeurope", "properties": object{
		"hardwareProfile": object{"vmSize": "Standard_D2s_v3"}, "networkProfile": object{"networkInterfaces": []object{{"id": nic}}},
		"osProfile": object{"computerName": "old", "adminUsername": "me", "adminPassword": "Long-enough-9"},
		"storageProfile": object{"imageReference": object{"id": strings.ToUpper(definition) + "/versions/1.0.2"},
			"osDisk": object{"createOption": "FromImage"}}}})
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	r = Retirement{Client: s.client, Definition: definition, Keep: 1, After: 24 * time.Hour, Sleep: quick, Out: t.Output(),
		Now: func() time.Time { return now },
		Objects: []map[string]any{{"kind": "AzureMachineTemplate", "metadata": object{"namespace": "default", "name": "win"},
			"spec": object{"template": object{"spec": object{"image": object{"computeGallery": object{
				"gallery": "nodes", "name": "win-2022", "version": "1.0.9"}}}}}}}}
	versions = func() (out []string) {
		for v, err := range r.list(t.Context(), definition+"/versions", galleryVersion) {
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, fmt.Sprintf("%s %t %s", v.Name, v.Properties.PublishingProfile.ExcludeFromLatest, v.Tags["owner"]))
		}
		slices.Sort(out)
		return out
	}
	return r, versions
}

// TestRetire: old versions are first excluded from latest and deleted later, if no machine and no object refers to
// them; the version of a running build is kept.
func TestRetire(t *testing.T) {
	r, versions := retirement(t)
	run := func(want ...string) {
		t.Helper()
		if err := r.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		slices.Sort(want)
		if got := versions(); !slices.Equal(got, want) {
			t.Errorf("the versions are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	all := []string{"1.0.2 true me", "1.0.9 true me", "1.0.10 true me", "1.0.11 false me", "1.0.12 false me"}
	run(all...)
	run(all...) // not excluded for long enough
	olds, err := r.Olds(t.Context())
	if err != nil || len(olds) != 3 || olds[0].Version != "1.0.2" || !slices.Equal(olds[0].UsedBy, []string{"virtualMachine old"}) ||
		!slices.Equal(olds[1].UsedBy, []string{"AzureMachineTemplate default/win"}) || olds[2].UsedBy != nil {
		t.Errorf("the old ones are %+v, %v", olds, err)
	}
	later := r.Now().Add(25 * time.Hour)
	r.Now = func() time.Time { return later }
	run("1.0.2 true me", "1.0.9 true me", "1.0.11 false me", "1.0.12 false me")
	r.Objects = nil
	run("1.0.2 true me", "1.0.11 false me", "1.0.12 false me")
}

// TestNames: the ways in which a machine, a template and a topology refer to a version.
func TestNames(t *testing.T) {
	const definition = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/galleries/nodes/images/win"
	for name, test := range map[string]struct {
		o    any
		want bool
	}{
		"its ID":           {object{"id": strings.ToUpper(definition) + "/VERSIONS/1.0.0"}, true},
		"another's ID":     {object{"id": definition + "/versions/1.0.00"}, false},
		"a longer version": {object{"id": definition + "/versions/1.0.0.1"}, false},
		"latest, resolved": {object{"id": definition, "exactVersion": "1.0.0"}, true},
		"latest, another":  {object{"id": definition, "exactVersion": "1.0.1"}, false},
		"gallery":          {[]any{object{"gallery": "Nodes", "name": "Win", "version": "1.0.0"}}, true},
		"other gallery":    {[]any{object{"gallery": "Others", "name": "Win", "version": "1.0.0"}}, false},
		"a variable":       {object{"variables": []any{object{"name": "windowsImage", "value": definition + "/versions/1.0.0"}}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := names(test.o, definition, "1.0.0"); got != test.want {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestDated: a scheduled build has a version of its first day, even if it ends a day later.
func TestDated(t *testing.T) {
	s := newStage(t)
	ctx, kill := context.WithCancel(t.Context())
	day := time.Date(2026, 12, 8, 23, 0, 0, 0, time.UTC)
	build := func(ctx context.Context) (Result, error) {
		b := sample(t)
		b.Spec.Target.Version = "1.0.date"
		return Run(ctx, Config{Client: s.client, Build: b, Out: t.Output(), Sleep: quick, Now: func() time.Time { return day }})
	}
	calls := 0
	s.cut = func() error {
		if calls++; calls == 40 {
			kill()
		}
		return ctx.Err()
	}
	if _, err := build(ctx); err == nil {
		t.Fatal("it was not killed")
	}
	s.cut = nil
	if left, err := Leftovers(t.Context(), s.client); err != nil || len(left) != 1 || left[0].Step == "" {
		t.Fatalf("%+v, %v", left, err)
	}
	for _, want := range []string{"1.0.20261208", "1.0.20261209", "1.0.20261209"} {
		day = time.Date(2026, 12, 9, 4, 0, 0, 0, time.UTC)
		result, err := build(t.Context())
		if err != nil || !strings.HasSuffix(result.VersionID, "/versions/"+want) {
			t.Fatalf("%s, want %s: %v", result.VersionID, want, err)
		}
	}
}

// TestRetireInRealTime: a Retirement without a clock, like the command line's.
func TestRetireInRealTime(t *testing.T) {
	r, versions := retirement(t)
	r.Now, r.Sleep = nil, nil
	if err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := versions(); !slices.Contains(got, "1.0.2 true me") {
		t.Errorf("the versions are %v", got)
	}
}
