package image

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/windows"
)

// resolve determines the source image and refuses builds that cannot succeed, before the first resource is created.
func (b *builder) resolve(ctx context.Context) error {
	var missing []string
	for _, d := range b.spec.downloads() {
		if d.SHA256 == "" {
			missing = append(missing, d.Name)
		}
	}
	if len(missing) > 0 {
		return fixf("give spec.components[].sha256, or --pins with the output of: casement images pins FILE",
			"no SHA-256 of %s", strings.Join(missing, ", "))
	}
	_, ok, err := b.azure.get(ctx, b.galleryID(), galleryVersion)
	if err != nil {
		return err
	}
	if !ok {
		return fixf(fmt.Sprintf("make it: az sig create --resource-group %s --gallery-name %s, or correct spec.target",
			b.spec.Target.ResourceGroup, b.spec.Target.Gallery),
			"the gallery %s in resource group %s does not exist", b.spec.Target.Gallery, b.spec.Target.ResourceGroup)
	}
	if err := b.findSource(ctx); err != nil {
		return err
	}
	now := b.Now()
	if !b.release.supportedAt(now) {
		b.warnf("%s is out of support since %s", b.release.Title, b.release.EndOfSupport.Format(time.DateOnly))
	} else if b.release.EndOfSupport.Before(now.AddDate(1, 0, 0)) {
		b.warnf("support of %s ends on %s", b.release.Title, b.release.EndOfSupport.Format(time.DateOnly))
	}
	if end, ok := kubernetesEnd(b.spec.KubernetesVersion); ok && now.After(end) {
		b.warnf("Kubernetes %s is out of support since %s", b.spec.KubernetesVersion, end.Format(time.DateOnly))
	}
	return nil
}

// source returns the image reference of the marketplace image.
func (b *builder) source() object {
	return object{"publisher": b.release.Publisher, "offer": b.release.Offer, "sku": b.sku(), "version": b.spec.Source.Version}
}

// sku returns the SKU of the marketplace image.
func (b *builder) sku() string { return cmp.Or(b.spec.Source.SKU, b.release.SKU) }

// findSource checks that the marketplace has the source image.
func (b *builder) findSource(ctx context.Context) error {
	s := b.source()
	at := fmt.Sprintf("%s/providers/Microsoft.Compute/locations/%s/publishers/%s/artifacttypes/vmimage/offers/"+
		"%s/skus/%s/versions", b.subscription(), b.spec.Location, s["publisher"], s["offer"], s["sku"])
	missing := fixf("correct spec.source; casement images list --publisher "+b.release.Publisher+" --offer "+
		b.release.Offer+" shows what there is",
		"the marketplace image %s:%s:%s:%s is not in %s", s["publisher"], s["offer"], s["sku"], s["version"], b.spec.Location)
	if b.spec.Source.Version != "latest" {
		_, ok, err := b.azure.get(ctx, at+"/"+b.spec.Source.Version, computeVersion)
		if err == nil && !ok {
			return missing
		}
		if err == nil {
			b.judge(b.spec.Source.Version)
		}
		return err
	}
	newest := ""
	for body, err := range b.Client.List(ctx, at, computeVersion) {
		if err != nil && arm.ClassOf(err) != arm.NotFound {
			return err
		}
		var one struct{ Name string }
		if err == nil && json.Unmarshal(body, &one) == nil && (newest == "" || older(newest, one.Name)) {
			newest = one.Name
		}
	}
	if newest == "" {
		return missing
	}
	b.judge(newest)
	return nil
}

// older reports whether a marketplace version, whose parts are numbers, is before another one.
func older(a, b string) bool {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(x, y string) int {
		return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(x, y))
	}) < 0
}

// judge warns about known regressions of the Windows build of a version, and if nothing is known about the build.
func (b *builder) judge(version string) {
	build, ok := windows.MarketplaceBuild(version)
	if !ok {
		return
	}
	v := windows.Judge(build, windows.HitsHost)
	for _, r := range v.Found {
		b.warnf("Windows %s has a known regression: %s; %s; %s", build, r.Name(), r.Remedy(), r.Source)
	}
	if !v.Known {
		b.warnf("whether Windows %s has regressions is %s", build, windows.Verdict{Newest: v.Newest})
	}
}

// provision creates the resource group, a network if none is given, and the machine.
func (b *builder) provision(ctx context.Context) error {
	if err := b.mark(ctx, ""); err != nil {
		return err
	}
	return b.machine(ctx, "builder", b.source(), b.spec.Builder.DiskGiB)
}

// machine creates a virtual machine of the build, without a public address.
func (b *builder) machine(ctx context.Context, name string, image object, diskGiB int) error {
	subnet := b.spec.Builder.SubnetID
	if subnet == "" {
		network := b.group() + "/providers/Microsoft.Network/virtualNetworks/build"
		subnet = network + "/subnets/build"
		// The subnet of a new network has outbound access only if this is enabled. Source:
		// https://learn.microsoft.com/azure/virtual-network/ip-services/default-outbound-access.
		err := b.azure.ensure(ctx, network, networkVersion, object{"location": b.spec.Location, "properties": object{
			"addressSpace": object{"addressPrefixes": []string{"10.91.0.0/24"}},
			"subnets": []object{{"name": "build",
				"properties": object{"addressPrefix": "10.91.0.0/24", "defaultOutboundAccess": true}}}}})
		if err != nil {
			return err
		}
	}
	nic := b.group() + "/providers/Microsoft.Network/networkInterfaces/" + name
	err := b.azure.ensure(ctx, nic, networkVersion, object{"location": b.spec.Location, "properties": object{
		"ipConfigurations": []object{{"name": "ip", "properties": object{"subnet": object{"id": subnet}}}}}})
	if err != nil {
		return err
	}
	password, err := password()
	if err != nil {
		return err
	}
	disk := object{"createOption": "FromImage", "osType": b.release.OS, "deleteOption": "Delete",
		"managedDisk": object{"storageAccountType": "Premium_LRS"}}
	if diskGiB > 0 {
		disk["diskSizeGB"] = diskGiB
	}
	vm := object{"location": b.spec.Location, "properties": object{
		"hardwareProfile":    object{"vmSize": b.spec.Builder.Size},
		"storageProfile":     object{"imageReference": image, "osDisk": disk},
		"osProfile":          b.osProfile(name, password),
		"networkProfile":     object{"networkInterfaces": []object{{"id": nic, "properties": object{"deleteOption": "Delete"}}}},
		"diagnosticsProfile": object{"bootDiagnostics": object{"enabled": true}},
	}}
	if ids := b.spec.Builder.Identities; len(ids) > 0 && name == "builder" {
		assigned := object{}
		for _, id := range ids {
			assigned[id] = object{}
		}
		vm["identity"] = object{"type": "UserAssigned", "userAssignedIdentities": assigned}
	}
	return b.azure.ensure(ctx, b.vmID(name), computeVersion, vm)
}

// osProfile returns the account and the agent settings of a machine, to which no user logs in.
func (b *builder) osProfile(name, password string) object {
	profile := object{"computerName": name, "adminUsername": "casement", "adminPassword": password}
	if b.release.OS == osWindows {
		profile["windowsConfiguration"] = object{"provisionVMAgent": true, "enableAutomaticUpdates": false,
			"patchSettings": object{"patchMode": "Manual"}}
	} else {
		profile["linuxConfiguration"] = object{"provisionVMAgent": true, "disablePasswordAuthentication": false,
			"patchSettings": object{"patchMode": "ImageDefault"}}
	}
	return profile
}

// password returns a random password, which is neither stored nor shown.
func password() (string, error) {
	const letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"
	out := []byte("a-A2") // contains all four classes that Windows requires
	for len(out) < 40 {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(letters))))
		if err != nil {
			return "", fmt.Errorf("make a password: %w", err)
		}
		out = append(out, letters[n.Int64()])
	}
	return string(out), nil
}

// customise runs the parts in order.
func (b *builder) customise(ctx context.Context) error {
	for _, p := range b.parts() {
		fmt.Fprintf(b.Out, "      %s: %s\n", p.name, p.does)
		if _, err := b.script(ctx, b.vm(), p); err != nil {
			return err
		}
	}
	return nil
}

// maxRestarts is the maximum number of restarts that a script may request.
const maxRestarts = 5

// script runs a part on a machine, and again after each restart that the script requests. It returns the script's output.
func (b *builder) script(ctx context.Context, vm string, p part) (string, error) {
	for try := 1; try <= maxRestarts+1; try++ {
		id := fmt.Sprintf("%s/runCommands/%s-%d", vm, p.name, try)
		view, err := b.ran(ctx, id, p)
		if err != nil {
			return "", &fixed{part: p.name, fix: fixOf(err), err: err}
		}
		switch {
		case view.ExecutionState == "Succeeded" && view.ExitCode == 0:
			return view.Output, nil
		case view.ExitCode != b.system().restart:
			return "", &fixed{part: p.name, fix: p.fix, err: view.failure(p, b.system().restart)}
		}
		fmt.Fprintf(b.Out, "      %s asks for a restart\n", p.name)
		if err := b.azure.post(ctx, vm, "restart", computeVersion); err != nil {
			return "", &fixed{part: p.name, err: err}
		}
	}
	return "", &fixed{part: p.name, fix: "end it with another exit code once there is nothing left to do",
		err: fmt.Errorf("it asked for a restart (exit code %d) more than %d times", b.system().restart, maxRestarts)}
}

// ran runs a script, or waits for the run that an earlier process began.
func (b *builder) ran(ctx context.Context, id string, p part) (instanceView, error) {
	view := arm.Query("$expand", "instanceView")
	r, ok, err := b.azure.settled(ctx, id, computeVersion, view)
	if err != nil {
		return instanceView{}, err
	}
	if ok && r.Properties.ProvisioningState == "Failed" && r.Properties.InstanceView.ExecutionState != "Failed" {
		// The run was interrupted with its agent or process. It is deleted and started again, because scripts may run twice.
		if err := b.azure.delete(ctx, id, computeVersion); err != nil {
			return instanceView{}, err
		}
		ok = false
	}
	if !ok {
		body := object{"location": b.spec.Location, "properties": object{
			"source": object{"script": p.text}, "asyncExecution": false,
			"timeoutInSeconds": int(p.timeout.Seconds()), "treatFailureAsDeploymentFailure": false}}
		if err := b.azure.put(ctx, id, computeVersion, body); err != nil {
			return instanceView{}, err
		}
		if r, _, err = b.azure.settled(ctx, id, computeVersion, view); err != nil {
			return instanceView{}, err
		}
	}
	return r.Properties.InstanceView, nil
}

// failure returns an error that describes how a script ended.
func (v instanceView) failure(p part, restartCode int) error {
	switch v.ExecutionState {
	case "TimedOut":
		return fmt.Errorf("it did not end within %s (spec.timeouts)", p.timeout)
	case "Succeeded", "Failed":
		if v.ExitCode == -1 && v.ExecutionMessage != "" {
			return fmt.Errorf("it did not end: %s; a script asks for a restart by exit code %d", v.ExecutionMessage, restartCode)
		}
		return fmt.Errorf("exit code %d: %s", v.ExitCode, lastLines(v.Output+"\n"+v.Error))
	}
	return fmt.Errorf("it is %s: %s", v.ExecutionState, v.ExecutionMessage)
}

// verify checks the installed software on the machine.
func (b *builder) verify(ctx context.Context) error { return b.check(ctx, b.vm(), "verify") }

// check compares the programs on a machine with the build file.
func (b *builder) check(ctx context.Context, vm, name string) error {
	out, err := b.script(ctx, vm, b.checkPart(name))
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "holds" {
			b.holds[f[1]] = f[2]
		}
	}
	var wrong []error
	for _, want := range [][2]string{{"kubelet", b.spec.KubernetesVersion}, {"kubeadm", b.spec.KubernetesVersion},
		{"kubectl", b.spec.KubernetesVersion}, {"containerd", "v" + b.spec.ContainerdVersion}} {
		if has := b.holds[want[0]]; has != want[1] {
			wrong = append(wrong, fmt.Errorf("%s is %s, not %s", want[0], orMissing(has), want[1]))
		}
	}
	if len(wrong) > 0 {
		return &fixed{part: name, fix: "a script of spec.scripts.after may have replaced it, or a component's " +
			"url is that of another version", err: errors.Join(wrong...)}
	}
	for _, program := range slices.Sorted(maps.Keys(b.holds)) {
		fmt.Fprintf(b.Out, "      %s %s\n", program, b.holds[program])
	}
	return nil
}

func orMissing(version string) string {
	if version == "" {
		return "missing"
	}
	return version
}

// generalise runs sysprep, or waagent, and marks the machine as generalized in Azure.
func (b *builder) generalise(ctx context.Context) error {
	if _, err := b.script(ctx, b.vm(), b.lastPart()); err != nil {
		return err
	}
	if err := b.azure.post(ctx, b.vm(), "deallocate", computeVersion); err != nil {
		return err
	}
	return b.azure.post(ctx, b.vm(), "generalize", computeVersion)
}

// capture creates the image definition if it is missing, and the version.
func (b *builder) capture(ctx context.Context) error {
	definition, ok, err := b.azure.get(ctx, b.definitionID(), galleryVersion)
	if err != nil {
		return err
	}
	if ok && definition.Properties.OSType != b.release.OS {
		return fixf("give another spec.target.definition", "the image definition %s is for %s",
			b.spec.Target.Definition, definition.Properties.OSType)
	}
	if !ok {
		body := object{"location": b.spec.Location, "properties": object{"osType": b.release.OS,
			"osState": "Generalized", "hyperVGeneration": b.release.generation(b.sku()),
			"identifier": object{"publisher": "casement",
				"offer": strings.ToLower(strings.ReplaceAll(b.release.Title, " ", "-")), "sku": b.spec.Target.Definition}}}
		if err := b.azure.put(ctx, b.definitionID(), galleryVersion, body); err != nil {
			return err
		}
	}
	return b.azure.ensure(ctx, b.versionID(), galleryVersion,
		object{"location": b.spec.Location, "tags": b.versionTags(""), "properties": object{
			"publishingProfile": b.publishing(true), "storageProfile": object{"source": object{"virtualMachineId": b.vm()}}}})
}

// publishing returns the publishing profile of the version.
func (b *builder) publishing(excluded bool) object {
	var regions []object
	for _, r := range b.spec.Target.Regions {
		regions = append(regions, object{"name": r, "regionalReplicaCount": b.spec.Target.Replicas, "storageAccountType": "Standard_LRS"})
	}
	return object{"targetRegions": regions, "excludeFromLatest": excluded, "replicaCount": b.spec.Target.Replicas}
}

// tryOut boots a machine from the version and checks it.
func (b *builder) tryOut(ctx context.Context) error {
	if err := b.machine(ctx, "trial", object{"id": b.versionID()}, 0); err != nil {
		return &fixed{part: "trial",
			fix: "look at its serial console with --keep: sysprep may have left a machine that does not boot",
			err: err}
	}
	return b.check(ctx, b.vmID("trial"), "trial")
}

// publish makes the version available to machines that request the latest one.
func (b *builder) publish(ctx context.Context) error {
	return b.azure.patch(ctx, b.versionID(), galleryVersion, object{"tags": b.versionTags(catalog.StateVerified),
		"properties": object{"publishingProfile": b.publishing(b.spec.Target.ExcludeFromLatest)}})
}

// prune deletes all resources of the build except the version.
func (b *builder) prune(ctx context.Context) error {
	if err := leave(ctx, b.Join, b.trial); err != nil {
		return err
	}
	return b.azure.delete(ctx, b.group(), groupsVersion)
}

// Holds returns the programs in the tags of an image version, with their versions.
func Holds(ctx context.Context, client *arm.Client, versionID string) (map[string]string, error) {
	body, err := client.Get(ctx, versionID, galleryVersion)
	if err != nil {
		return nil, fmt.Errorf("read the image version: %w", err)
	}
	var r resource
	if err := json.Unmarshal(body, &r); err != nil {
		return nil, fmt.Errorf("read the image version: %w", err)
	}
	out := map[string]string{}
	for name, value := range r.Tags {
		if program, ok := strings.CutPrefix(name, tagHolds); ok {
			out[program] = value
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s says nothing of what it holds: it was not built by casement images build", versionID)
	}
	return out, nil
}
