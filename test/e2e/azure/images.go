package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"casement.dev/casement/internal/windows"
)

// firstImage and nextImage are the versions of the run's own image. Workers start with the first,
// and patch day moves them to the second.
const firstImage, nextImage = "1.0.0", "1.1.0"

const galleryVersion = "2024-03-03"

// begin starts the creation of two versions of our own image, which are copies of the workers'
// image, in the cluster's resource group. Azure needs minutes for them; the steps that use them
// wait for the end.
func (l *life) begin(ctx context.Context) error {
	year := map[string]string{windows.WindowsServerVersionAnnotation: "windows-" + l.release}
	image, err := windows.DefaultImage(l.s.older, windows.OSWindows, year)
	if err != nil {
		return err
	}
	if image.Gallery == "" {
		return fmt.Errorf("the image of Kubernetes %s is %s, which is in no community gallery", l.s.older, image.Reference())
	}
	// Azure copies an image only to a definition with the same properties.
	var original struct {
		HyperVGeneration string `json:"hyperVGeneration"`
		Architecture     string `json:"architecture,omitempty"`
		Features         []any  `json:"features,omitempty"`
	}
	at := fmt.Sprintf("/subscriptions/%s/providers/Microsoft.Compute/locations/%s/communityGalleries/%s/images/%s", l.s.subscription,
		l.s.location, image.Gallery, image.Name)
	if err := l.groups.read(ctx, at, galleryVersion, &original); err != nil {
		return err
	}
	type object = map[string]any
	definition := object{"osType": "Windows", "osState": "Generalized", "hyperVGeneration": original.HyperVGeneration,
		"identifier": object{"publisher": "casement", "offer": "e2e", "sku": l.release}}
	if original.Architecture != "" {
		definition["architecture"] = original.Architecture
	}
	if len(original.Features) > 0 {
		definition["features"] = original.Features
	}
	if err := l.groups.put(ctx, l.gallery(), galleryVersion, l.s.location, object{}); err != nil {
		return err
	}
	if err := l.groups.put(ctx, l.gallery()+"/images/nodes", galleryVersion, l.s.location, definition); err != nil {
		return err
	}
	l.published = make(chan error, 1)
	go func() {
		both := make(chan error, 2)
		for _, version := range []string{firstImage, nextImage} {
			go func() {
				both <- l.groups.put(ctx, l.image(version), galleryVersion, l.s.location, object{
					"storageProfile": object{"source": object{"communityGalleryImageId": image.Reference()}}})
			}()
		}
		l.published <- errors.Join(<-both, <-both)
	}()
	return nil
}

func (l *life) gallery() string {
	return "/subscriptions/" + l.s.subscription + "/resourceGroups/" + l.name + "/providers/Microsoft.Compute/galleries/nodes"
}

func (l *life) image(version string) string { return l.gallery() + "/images/nodes/versions/" + version }

// ownImage sets the image of the Windows workers, of which there are none at this time, to the
// first version of our image.
func (l *life) ownImage(ctx context.Context) error {
	if err := <-l.published; err != nil {
		return err
	}
	image := map[string]any{"id": l.image(firstImage)}
	if l.kind == "machinepool" {
		return l.patch(ctx, "azuremachinepool/"+l.name+l.windows, holding("spec", "template", "image", image))
	}
	text, err := l.kubectl(ctx, "get", "azuremachinetemplate", l.name+l.windows, "-o", "json")
	if err != nil {
		return err
	}
	var template map[string]any
	if err := json.Unmarshal([]byte(text), &template); err != nil {
		return err
	}
	template["metadata"] = map[string]any{"name": l.name + l.windows + "-own", "namespace": inside(template, "metadata")["namespace"]}
	delete(template, "status")
	inside(template, "spec", "template", "spec")["image"] = image
	own, err := json.Marshal(template)
	if err != nil {
		return err
	}
	if _, err := l.run(ctx, own, "kubectl", "apply", "-f", "-"); err != nil {
		return err
	}
	return l.patch(ctx, l.workers(l.windows), l.template(l.name+l.windows+"-own", ""))
}

// template returns a patch that sets the machine template of a MachineDeployment and, if version is
// not empty, its version.
func (l *life) template(name, version string) map[string]any {
	spec := map[string]any{"infrastructureRef": map[string]any{"name": name}}
	if version != "" {
		spec["version"] = version
	}
	return holding("spec", "template", "spec", spec)
}

// holding returns an object with a value at a path of three keys.
func holding(a, b, c string, value any) map[string]any {
	return map[string]any{a: map[string]any{b: map[string]any{c: value}}}
}

func (l *life) patch(ctx context.Context, object string, change map[string]any) error {
	data, err := json.Marshal(change)
	if err == nil {
		_, err = l.kubectl(ctx, "patch", object, "--type", "merge", "-p", string(data))
	}
	return err
}

const channel = "infrastructure.cluster.x-k8s.io/image-channel="

// patchDay lets casement move the Windows workers to the second version of the image, as an
// annotation requests.
func (l *life) patchDay(ctx context.Context) error {
	on := []string{"annotate", "--overwrite", l.workers(l.windows), channel + "latest", "infrastructure.cluster.x-k8s.io/patch-soak=30s"}
	if _, err := l.kubectl(ctx, on...); err != nil {
		return err
	}
	var last string
	moved := func(all []node) bool {
		text, err := l.run(ctx, nil, "upgrade", "status", l.name, "-o", "json")
		var pools []struct{ Pool, Phase, Reason, Message string }
		if err != nil || json.Unmarshal([]byte(text), &pools) != nil {
			return false
		}
		for _, p := range pools {
			if strings.HasSuffix(p.Pool, "/"+l.name+l.windows) {
				last = p.Reason + ": " + p.Message
			}
		}
		return strings.HasPrefix(last, "UpToDate: ") && strings.Contains(last, nextImage) && count(all, "windows", "") == 1
	}
	if err := l.nodes(ctx, moved); err != nil {
		return fmt.Errorf("patch day is at %q: %w", last, err)
	}
	_, err := l.kubectl(ctx, "annotate", "--overwrite", l.workers(l.windows), channel+"none")
	return err
}

// upgradeWindows upgrades the Windows workers to the newer Kubernetes version, with the image that
// casement chooses for it.
func (l *life) upgradeWindows(ctx context.Context) error {
	pause := func(is bool) error {
		return l.patch(ctx, "cluster/"+l.name, map[string]any{"spec": map[string]any{"paused": is}})
	}
	if l.kind == "machinedeployment" {
		if err := l.patch(ctx, l.workers(l.windows), l.template(l.name+l.windows, l.s.newer)); err != nil {
			return err
		}
	} else { // two objects that must change together
		if err := errors.Join(pause(true), l.patch(ctx, "azuremachinepool/"+l.name+l.windows, holding("spec", "template", "image", nil)),
			l.patch(ctx, l.workers(l.windows),
				holding("spec", "template", "spec", map[string]any{"version": l.s.newer})), pause(false)); err != nil {
			return err
		}
	}
	return l.nodes(ctx, func(all []node) bool { return count(all, "windows", l.s.newer) > 0 })
}

// read reads the properties of a resource.
func (g *groups) read(ctx context.Context, id, version string, properties any) error {
	got, err := g.resources.GetByID(ctx, id, version, nil)
	if err != nil {
		return err
	}
	data, err := json.Marshal(got.Properties)
	if err == nil {
		err = json.Unmarshal(data, properties)
	}
	return err
}

// put creates a resource, in a region if one is given, and waits until it exists.
func (g *groups) put(ctx context.Context, id, version, location string, properties map[string]any) error {
	made := armresources.GenericResource{Properties: properties}
	if location != "" {
		made.Location = &location
	}
	var first *http.Response
	operation, err := g.resources.BeginCreateOrUpdateByID(policy.WithCaptureResponse(ctx, &first), id, version, made, nil)
	if first != nil && strings.HasPrefix(first.Header.Get("Location"), "/") {
		return nil // an identity is created immediately, and the SDK takes its path in Location for a URL to poll
	}
	if err == nil {
		_, err = operation.PollUntilDone(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", id, err)
	}
	return nil
}
