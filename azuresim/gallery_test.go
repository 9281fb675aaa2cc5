package azuresim

import (
	"cmp"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"casement.dev/casement/azuresim/host"
	"casement.dev/casement/azuresim/internal/compute"
	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

// captured creates a gallery with one Windows definition and a generalized VM; it returns the VM's
// ID.
func (a *azure) captured() string {
	a.t.Helper()
	ctx, t := a.t.Context(), a.t
	nic := a.network()
	put, err := a.vms().BeginCreateOrUpdate(ctx, "g", "w", windowsVM(nic), nil)
	vm := must(t, put, err)
	if _, err := a.vms().Generalize(ctx, "g", "w", nil); code(err) != "OperationNotAllowed" {
		t.Errorf("generalize of a VM that runs: %v", err)
	}
	off, err := a.vms().BeginDeallocate(ctx, "g", "w", nil)
	must(t, off, err)
	if _, err := a.vms().Generalize(ctx, "g", "w", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := a.vms().BeginStart(ctx, "g", "w", nil); code(err) != "OperationNotAllowed" {
		t.Errorf("start of a generalized VM: %v", err)
	}
	galleries, _ := armcompute.NewGalleriesClient(engine.DefaultSubscription, a.credential, a.options)
	g, err := galleries.BeginCreateOrUpdate(ctx, "g", "images", armcompute.Gallery{Location: new("westeurope"),
		Properties: &armcompute.GalleryProperties{SharingProfile: &armcompute.SharingProfile{
			Permissions: new(armcompute.GallerySharingPermissionTypesCommunity), CommunityGalleryInfo: &armcompute.CommunityGalleryInfo{
				PublicNamePrefix: new("ours1"), PublisherURI: new("https://example.com"),
				PublisherContact: new("a@example.com"), Eula: new("none"),
			}}}}, nil)
	must(t, g, err)
	definitions, _ := armcompute.NewGalleryImagesClient(engine.DefaultSubscription, a.credential, a.options)
	i, err := definitions.BeginCreateOrUpdate(ctx, "g", "images", "nodes",
		armcompute.GalleryImage{Location: new("westeurope"), Properties: &armcompute.GalleryImageProperties{
			OSType:     new(armcompute.OperatingSystemTypesWindows),
			OSState:    new(armcompute.OperatingSystemStateTypesGeneralized),
			Identifier: &armcompute.GalleryImageIdentifier{Publisher: new("p"), Offer: new("o"), SKU: new("s")}}}, nil)
	must(t, i, err)
	return *vm.ID
}

func (a *azure) putVersion(name, vm string, change func(*armcompute.GalleryImageVersionProperties)) error {
	a.t.Helper()
	versions, _ := armcompute.NewGalleryImageVersionsClient(engine.DefaultSubscription, a.credential, a.options)
	v := armcompute.GalleryImageVersion{Location: new("westeurope"), Properties: &armcompute.GalleryImageVersionProperties{
		PublishingProfile: &armcompute.GalleryImageVersionPublishingProfile{},
		StorageProfile: &armcompute.GalleryImageVersionStorageProfile{
			Source: &armcompute.GalleryArtifactVersionFullSource{VirtualMachineID: &vm},
		}}}
	if change != nil {
		change(v.Properties)
	}
	p, err := versions.BeginCreateOrUpdate(a.t.Context(), "g", "images", "nodes", name, v, nil)
	if err != nil {
		return err
	}
	_, err = p.PollUntilDone(a.t.Context(), nil)
	return err
}

const definitionID = "/subscriptions/" + engine.DefaultSubscription +
	"/resourceGroups/g/providers/Microsoft.Compute/galleries/images/images/nodes"

// boot creates a scale set with one instance from an image, returns the image that its
// guest booted, and deletes the set.
func (a *azure) boot(h *rack, ref armcompute.ImageReference) (host.Image, error) {
	a.t.Helper()
	set := windowsSet(1)
	set.Properties.VirtualMachineProfile.StorageProfile.ImageReference = &ref
	p, err := a.sets().BeginCreateOrUpdate(a.t.Context(), "g", "win", set, nil)
	if err != nil {
		return host.Image{}, err
	}
	must(a.t, p, err)
	image := h.vms[value.Lower(*a.listed()["0"].ID)].Image
	gone, err := a.sets().BeginDelete(a.t.Context(), "g", "win", nil)
	must(a.t, gone, err)
	return image, nil
}

func TestGallery(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	vm := a.captured()
	base := *imageID("2022", "1.36.3")
	if err := a.putVersion("1.x", vm, nil); code(err) != "InvalidParameter" {
		t.Errorf("a version's name: %v", err)
	}
	for _, v := range []string{"1.2.0", "1.10.0"} {
		if err := a.putVersion(v, vm, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := a.putVersion("2.0.0", vm, func(p *armcompute.GalleryImageVersionProperties) {
		p.PublishingProfile.ExcludeFromLatest = new(true)
	}); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ id, version, code string }{
		"version":  {definitionID + "/versions/1.2.0", "1.2.0", ""},
		"latest":   {definitionID, "1.10.0", ""},
		"excluded": {definitionID + "/versions/2.0.0", "2.0.0", ""},
		"no such":  {definitionID + "/versions/3.0.0", "", "GalleryImageNotFound"},
		"no image": {
			"/subscriptions/" + engine.DefaultSubscription + "/resourceGroups/g/providers/Microsoft.Compute/images/i",
			"", "ImageNotFound",
		},
		"not an image": {vm, "", "InvalidParameter"},
	} {
		t.Run(name, func(t *testing.T) {
			image, err := a.boot(h, armcompute.ImageReference{ID: &tc.id})
			if code(err) != tc.code {
				t.Fatalf("error %v, want %q", err, tc.code)
			}
			if err == nil && (image.ExactVersion != tc.version || image.Source != base) {
				t.Errorf("booted from %s which holds %s, want %s of %s", image.ExactVersion, image.Source, tc.version, base)
			}
		})
	}
	versions, _ := armcompute.NewGalleryImageVersionsClient(engine.DefaultSubscription, a.credential, a.options)
	v, err := versions.Get(t.Context(), "g", "images", "nodes", "1.2.0",
		&armcompute.GalleryImageVersionsClientGetOptions{Expand: new(armcompute.ReplicationStatusTypesReplicationStatus)})
	if err != nil ||
		*v.Properties.ReplicationStatus.AggregatedState != armcompute.AggregatedReplicationStateCompleted ||
		v.Properties.PublishingProfile.PublishedDate == nil {
		t.Errorf("replication %+v (%v)", v.Properties, err)
	}
	definitions, _ := armcompute.NewGalleryImagesClient(engine.DefaultSubscription, a.credential, a.options)
	if _, err := definitions.BeginDelete(t.Context(), "g", "images", "nodes", nil); code(err) != "CannotDeleteResource" {
		t.Errorf("delete of a definition that has versions: %v", err)
	}
}

func TestCommunityGallery(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	vm := a.captured()
	if err := a.putVersion("1.0.0", vm, nil); err != nil {
		t.Fatal(err)
	}
	galleries, _ := armcompute.NewGalleriesClient(engine.DefaultSubscription, a.credential, a.options)
	g, err := galleries.Get(t.Context(), "g", "images", nil)
	if err != nil {
		t.Fatal(err)
	}
	name := *g.Properties.SharingProfile.CommunityGalleryInfo.PublicNames[0]
	ref := armcompute.ImageReference{CommunityGalleryImageID: new("/CommunityGalleries/" + name + "/Images/nodes/Versions/latest")}
	if _, err := a.boot(h, ref); code(err) != "GalleryImageNotFound" {
		t.Errorf("image of a gallery that is not shared: %v", err)
	}
	sharing, _ := armcompute.NewGallerySharingProfileClient(engine.DefaultSubscription, a.credential, a.options)
	share, err := sharing.BeginUpdate(t.Context(), "g", "images",
		armcompute.SharingUpdate{OperationType: new(armcompute.SharingUpdateOperationTypesEnableCommunity)}, nil)
	must(t, share, err)
	image, err := a.boot(h, ref)
	if err != nil || image.Source != *imageID("2022", "1.36.3") {
		t.Errorf("booted from %+v (%v)", image, err)
	}
	versions, _ := armcompute.NewCommunityGalleryImageVersionsClient(engine.DefaultSubscription, a.credential, a.options)
	images, _ := armcompute.NewCommunityGalleryImagesClient(engine.DefaultSubscription, a.credential, a.options)
	for gallery, want := range map[string]struct {
		images, versions int
		image            string
	}{name: {1, 1, "nodes"}, compute.CommunityGallery: {5, 128, "capi-win-2025-containerd"}} {
		page, err := images.NewListPager("westeurope", gallery, nil).NextPage(t.Context())
		if err != nil || len(page.Value) != want.images {
			t.Errorf("%d images in %s, want %d (%v)", len(page.Value), gallery, want.images, err)
		}
		i, err := images.Get(t.Context(), "westeurope", gallery, want.image, nil)
		if err != nil || *i.Properties.OSType != armcompute.OperatingSystemTypesWindows {
			t.Errorf("image %+v (%v)", i, err)
		}
		list, err := versions.NewListPager("westeurope", gallery, want.image, nil).NextPage(t.Context())
		if err != nil || len(list.Value) != want.versions {
			t.Errorf("%d versions of %s, want %d (%v)", len(list.Value), want.image, want.versions, err)
		}
	}
	if image, err = a.boot(h, armcompute.ImageReference{
		CommunityGalleryImageID: new(strings.Replace(*imageID("2025", "x"), "x", "latest", 1)),
	}); err != nil || image.Source != *imageID("2025", "1.37.2") {
		t.Errorf("latest reference image %+v (%v)", image, err)
	}
}

func TestManagedImage(t *testing.T) {
	h := newRack()
	a := startWith(t, Config{}, h)
	defer a.Close()
	vm := a.captured()
	images, _ := armcompute.NewImagesClient(engine.DefaultSubscription, a.credential, a.options)
	if _, err := images.BeginCreateOrUpdate(t.Context(), "g", "i",
		armcompute.Image{Location: new("westeurope"), Properties: &armcompute.ImageProperties{}},
		nil); code(err) != "InvalidParameter" {
		t.Errorf("an image of nothing: %v", err)
	}
	p, err := images.BeginCreateOrUpdate(t.Context(), "g", "i", armcompute.Image{Location: new("westeurope"),
		Properties: &armcompute.ImageProperties{SourceVirtualMachine: &armcompute.SubResource{ID: &vm}}}, nil)
	made := must(t, p, err)
	if *made.Properties.StorageProfile.OSDisk.OSType != armcompute.OperatingSystemTypesWindows {
		t.Errorf("image %+v", made.Properties.StorageProfile)
	}
	image, err := a.boot(h, armcompute.ImageReference{ID: made.ID})
	if err != nil || image.Source != *imageID("2022", "1.36.3") {
		t.Errorf("booted from %+v (%v)", image, err)
	}
	if _, err := images.Get(t.Context(), "g", "none", nil); code(err) != "ResourceNotFound" {
		t.Errorf("an image that is not there: %v", err)
	}
}

// TestLaunch: an image captured from a machine with trusted launch requires trusted launch, and a
// first-generation image excludes it. Newer API versions show the security type of each.
func TestLaunch(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	vm := a.captured()
	const nic = "resourceGroups/g/providers/Microsoft.Network/networkInterfaces/launch"
	define := func(generation, features string) {
		t.Helper()
		a.carried("DELETE", definitionID+"/versions/1.0.0", "")
		a.carried("DELETE", definitionID+"?api-version=2023-07-03", "")
		a.carried("PUT", definitionID+"?api-version=2023-07-03", `{"location": "westeurope", "properties": {"osType": "Windows",
			"osState": "Generalized", "hyperVGeneration": "`+generation+`", "features": `+features+`,
			"identifier": {"publisher": "p", "offer": "o", "sku": "s"}}}`)
		if err := a.putVersion("1.0.0", vm, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, generation, features, asked, refusal string }{
		{"only trusted launch, without", "V2", `[{"name": "SecurityType", "value": "TrustedLaunch"}]`, "", "'TrustedLaunch' security type"},
		{"only trusted launch, standard", "V2", `[{"name": "SecurityType", "value": "TrustedLaunch"}]`, "Standard",
			"'TrustedLaunch' security type"},
		{"only trusted launch, with", "V2", `[{"name": "SecurityType", "value": "TrustedLaunch"}]`, "TrustedLaunch", ""},
		{"supported, without", "V2", `[{"name": "SecurityType", "value": "TrustedLaunchSupported"}]`, "", ""},
		{"supported, with", "V2", `[{"name": "SecurityType", "value": "TrustedLaunchSupported"}]`, "TrustedLaunch", ""},
		{"first generation, with", "V1", `[]`, "TrustedLaunch", "Gen2 OS Image"},
	} {
		t.Run(test.name, func(t *testing.T) {
			define(test.generation, test.features)
			a.carried("PUT", nic, `{"location": "westeurope", "properties": {"ipConfigurations": [{"name": "c", "properties": {"subnet": {"id":
				"/subscriptions/`+engine.DefaultSubscription+"/"+vnetPath("v")+`/subnets/nodes"}}}]}}`)
			machine := windowsVM("/subscriptions/" + engine.DefaultSubscription + "/" + nic)
			machine.Properties.StorageProfile.ImageReference = &armcompute.ImageReference{ID: new(definitionID)}
			machine.Properties.OSProfile.ComputerName = new("launch")
			machine.Properties.StorageProfile.OSDisk.Name = nil
			if test.asked != "" {
				machine.Properties.SecurityProfile = &armcompute.SecurityProfile{SecurityType: new(armcompute.SecurityTypes(test.asked))}
			}
			p, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "launch", machine, nil)
			if test.refusal != "" {
				if err == nil || !strings.Contains(err.Error(), test.refusal) {
					t.Errorf("%v, want %s", err, test.refusal)
				}
				return
			}
			made := must(t, p, err)
			if got, want := string(*made.Properties.SecurityProfile.SecurityType), cmp.Or(test.asked, "Standard"); got != want {
				t.Errorf("security type %s, want %s", got, want)
			}
			old := a.carried("GET", "resourceGroups/g/providers/Microsoft.Compute/virtualMachines/launch?api-version=2024-11-01", "")
			if got := value.Str(old, "properties", "securityProfile", "securityType"); got != test.asked {
				t.Errorf("security type of an older version %q, want %q", got, test.asked)
			}
			gone, err := a.vms().BeginDelete(t.Context(), "g", "launch", nil)
			must(t, gone, err)
		})
	}
}

// TestSpecialized: a machine of a specialized image is not provisioned and must not have an OS
// profile. The contents of its disk are not known, and nothing boots.
func TestSpecialized(t *testing.T) {
	a := start(t, Config{})
	defer a.Close()
	nic := a.network()
	p, err := a.vms().BeginCreateOrUpdate(t.Context(), "g", "w", windowsVM(nic), nil)
	source := must(t, p, err)
	const gallery = "resourceGroups/g/providers/Microsoft.Compute/galleries/images"
	a.carried("PUT", gallery, `{"location":"westeurope"}`)
	a.carried("PUT", gallery+"/images/nodes", `{"location":"westeurope","properties":{"osType":"Windows","osState":"Specialized",
		"identifier":{"publisher":"p","offer":"o","sku":"s"}}}`)
	if err := a.putVersion("1.0.0", "/subscriptions/"+engine.DefaultSubscription+
		"/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/none", nil); code(err) != "ResourceNotFound" {
		t.Errorf("a version of no machine: %v", err)
	}
	if err := a.putVersion("1.0.0", *source.ID, nil); err != nil {
		t.Fatal(err)
	}
	vm := windowsVM(nic)
	vm.Properties.StorageProfile = &armcompute.StorageProfile{ImageReference: &armcompute.ImageReference{ID: new(definitionID)}}
	p, err = a.vms().BeginCreateOrUpdate(t.Context(), "g", "copy", vm, nil)
	refused(t, p, err, "InvalidParameter")
	vm.Properties.OSProfile = nil
	vm.Properties.NetworkProfile.NetworkInterfaces[0].ID = new(strings.TrimSuffix(nic, "/n") + "/m")
	a.carried("PUT", networkPath("networkInterfaces/m"), `{"location":"westeurope","properties":{"ipConfigurations":[{"name":"c",
		"properties":{"subnet":{"id":"`+idOf(vnetPath("v"))+`/subnets/nodes"}}}]}}`)
	p, err = a.vms().BeginCreateOrUpdate(t.Context(), "g", "copy", vm, nil)
	made := must(t, p, err)
	if made.Properties.OSProfile != nil || *made.Properties.StorageProfile.OSDisk.OSType != armcompute.OperatingSystemTypesWindows {
		t.Errorf("the machine is %+v on %+v", made.Properties.OSProfile, made.Properties.StorageProfile.OSDisk)
	}
	p, err = a.vms().BeginCreateOrUpdate(t.Context(), "g", "copy", vm, nil)
	if again := must(t, p, err); again.Properties.OSProfile != nil {
		t.Errorf("written again, it has %+v", again.Properties.OSProfile)
	}
}
