package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
)

// Tags by which a build finds the resources that it created.
const (
	tagBuild   = "casement-image-build"   // the build's name, on the resource group and on the version
	tagFile    = "casement-image-file"    // checksum of the build file
	tagStep    = "casement-image-step"    // the last finished step
	tagVersion = "casement-image-version" // ID of the version to be created
	tagTrial   = "casement-image-trial"   // name of the throw-away cluster, if there may be one
	tagState   = catalog.StateTag         // on the version: verified
	tagHolds   = "casement-holds-"        // on the version: the contents of the image
)

// finished is the value of lastDone for a build that is published and cleaned up.
const finished = 1 << 10

func (b *builder) groupName() string { return "casement-image-" + b.Build.Metadata.Name }

func (b *builder) subscription() string { return "/subscriptions/" + b.Client.SubscriptionID() }

func (b *builder) group() string { return b.subscription() + "/resourceGroups/" + b.groupName() }

func (b *builder) galleryID() string {
	return b.subscription() + "/resourceGroups/" + b.spec.Target.ResourceGroup +
		"/providers/Microsoft.Compute/galleries/" + b.spec.Target.Gallery
}

func (b *builder) definitionID() string { return b.Build.DefinitionID(b.Client.SubscriptionID()) }

func (b *builder) versionID() string { return b.definitionID() + "/versions/" + b.spec.Target.Version }

func (b *builder) vm() string { return b.vmID("builder") }

func (b *builder) vmID(name string) string {
	return b.group() + "/providers/Microsoft.Compute/virtualMachines/" + name
}

// lastDone returns the index of the last finished step, or -1.
func (b *builder) lastDone(ctx context.Context) (int, error) {
	group, under, err := b.azure.get(ctx, b.group(), groupsVersion)
	if err != nil {
		return 0, err
	}
	for under && strings.EqualFold(group.Properties.ProvisioningState, "Deleting") {
		if err := b.azure.sleep(ctx, pollPause); err != nil {
			return 0, err
		}
		if group, under, err = b.azure.get(ctx, b.group(), groupsVersion); err != nil {
			return 0, err
		}
	}
	if id := group.Tags[tagVersion]; under && group.Tags[tagFile] == b.sum && id != "" {
		b.spec.Target.Version = arm.NameOf(id) // of the day on which the build began
	}
	version, made, err := b.azure.get(ctx, b.versionID(), galleryVersion)
	if err != nil {
		return 0, err
	}
	own := version.Tags[tagBuild] == b.Build.Metadata.Name && version.Tags[tagFile] == b.sum
	published := made && own && version.Tags[tagState] == catalog.StateVerified
	for name, value := range version.Tags {
		if program, ok := strings.CutPrefix(name, tagHolds); ok && own {
			b.holds[program] = value
		}
	}
	switch {
	case !under && published:
		return finished, nil
	case made && !own:
		return 0, fmt.Errorf("the image version %s is there already and not of this file: give another spec.target.version", b.versionID())
	case !under && made:
		return 0, fmt.Errorf("the image version %s is left of a build whose resource group is gone: delete it, "+
			"or give another spec.target.version", b.versionID())
	case !under:
		return -1, nil
	case group.Tags[tagBuild] != b.Build.Metadata.Name:
		return 0, fmt.Errorf("the resource group %s is there and no build's: give another metadata.name", b.groupName())
	case group.Tags[tagFile] != b.sum:
		return 0, fmt.Errorf("a build %s of another file is under way: delete it by casement images prune "+
			"%[1]s, or give another metadata.name", b.Build.Metadata.Name)
	}
	if b.trial = group.Tags[tagTrial]; b.trial != "" && b.Join == nil {
		return 0, fmt.Errorf("the build began with --join and has a throw-away cluster %s: give --join again, or delete "+
			"it by casement images prune %s", b.trial, b.Build.Metadata.Name)
	}
	return indexOf(group.Tags[tagStep]), nil
}

// mark records the last finished step in a tag.
func (b *builder) mark(ctx context.Context, step string) error {
	tags := map[string]string{tagBuild: b.Build.Metadata.Name, tagFile: b.sum, tagVersion: b.versionID()}
	if step != "" {
		tags[tagStep] = step
	}
	if b.trial != "" {
		tags[tagTrial] = b.trial
	}
	return b.azure.put(ctx, b.group(), groupsVersion, object{"location": b.spec.Location, "tags": tags})
}

// discard deletes the resources of the build.
func (b *builder) discard(ctx context.Context) error {
	group, ok, err := b.azure.get(ctx, b.group(), groupsVersion)
	if err != nil || !ok || group.Tags[tagBuild] != b.Build.Metadata.Name {
		return err
	}
	return remove(ctx, b.azure, b.Join, group)
}

// Left is a build whose resource group exists.
type Left struct {
	Name  string `json:"name"`
	Group string `json:"group"`
	// Step is the last finished step, or "".
	Step string `json:"step,omitempty"`
	// VersionID is the resource ID of the image version that the build creates.
	VersionID string `json:"versionID"`

	group resource
}

// Leftovers lists the builds of a subscription that have a resource group: those in progress, killed, or kept after a
// failure.
func Leftovers(ctx context.Context, client *arm.Client) ([]Left, error) {
	var out []Left
	for body, err := range client.List(ctx, "/subscriptions/"+client.SubscriptionID()+"/resourcegroups", groupsVersion) {
		if err != nil {
			return nil, fmt.Errorf("list resource groups: %w", err)
		}
		var g resource
		if err := json.Unmarshal(body, &g); err != nil {
			return nil, fmt.Errorf("list resource groups: %w", err)
		}
		if name := g.Tags[tagBuild]; name != "" {
			out = append(out, Left{Name: name, Group: g.Name, Step: g.Tags[tagStep], VersionID: g.Tags[tagVersion], group: g})
		}
	}
	return out, nil
}

// Prune deletes the named builds, or all of them, with their unpublished versions, and waits until they are gone.
// joiner deletes their throw-away clusters; with a nil joiner, Prune refuses to delete a build that may have one.
func Prune(ctx context.Context, client *arm.Client, joiner Joiner, out io.Writer, names ...string) error {
	left, err := Leftovers(ctx, client)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range left {
		if len(names) > 0 && !contains(names, l.Name) {
			continue
		}
		fmt.Fprintf(out, "deleting the build %s: resource group %s\n", l.Name, l.Group)
		if err := remove(ctx, azure{client, sleep}, joiner, l.group); err != nil {
			errs = append(errs, fmt.Errorf("build %s: %w", l.Name, err))
		}
	}
	return errors.Join(errs...)
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}

// remove deletes the resource group of a build, its throw-away cluster, and its version if the version is not published.
func remove(ctx context.Context, a azure, joiner Joiner, group resource) error {
	if err := leave(ctx, joiner, group.Tags[tagTrial]); err != nil {
		return err
	}
	if id := group.Tags[tagVersion]; id != "" {
		version, ok, err := a.settled(ctx, id, galleryVersion)
		if err != nil {
			return fmt.Errorf("read %s: %w", id, err)
		}
		own := version.Tags[tagBuild] == group.Tags[tagBuild] && version.Tags[tagFile] == group.Tags[tagFile]
		if ok && own && version.Tags[tagState] == "" {
			if err := a.delete(ctx, id, galleryVersion); err != nil {
				return err
			}
		}
	}
	return a.delete(ctx, group.ID, groupsVersion)
}

// versionTags returns the tags of the image version.
func (b *builder) versionTags(state string) map[string]string {
	tags := map[string]string{tagBuild: b.Build.Metadata.Name, tagFile: b.sum}
	if state != "" {
		tags[tagState] = state
	}
	for program, version := range maps.All(b.holds) {
		tags[tagHolds+program] = version
	}
	return tags
}
