package image

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// tagRetired is the tag of a version with the time at which the version was excluded from latest.
const tagRetired = "casement-image-retired"

// Old is a version of a definition that is not one of the newest.
type Old struct {
	Version string `json:"version"`
	ID      string `json:"id"`
	// Retired is the time at which the version was excluded from latest, zero if it is not excluded.
	Retired time.Time `json:"retired,omitzero"`
	// UsedBy are the machines and objects that refer to the version.
	UsedBy []string `json:"usedBy,omitempty"`
}

// Retirement finds the old versions of an image definition, excludes them from latest and later deletes them.
type Retirement struct {
	Client *arm.Client
	// Definition is the resource ID of the image definition.
	Definition string
	// Keep is the number of newest published versions that do not count as old.
	Keep int
	// After is the time after its exclusion from latest at which a version is deleted.
	After time.Duration
	// Objects are objects of management clusters that may refer to a version.
	Objects []map[string]any
	// Now returns the time for comparison with After; nil means time.Now. Sleep waits between two polls; nil waits in real time.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
	Out   io.Writer
}

// Olds lists the old versions, the oldest first. It omits versions that their build has not published, because Prune
// deletes them.
func (r Retirement) Olds(ctx context.Context) ([]Old, error) {
	var published []resource
	for v, err := range r.list(ctx, r.Definition+"/versions", galleryVersion) {
		if err != nil {
			return nil, fmt.Errorf("list the versions of %s: %w", r.Definition, err)
		}
		if v.Tags[tagBuild] == "" || v.Tags[tagState] != "" {
			published = append(published, v)
		}
	}
	slices.SortFunc(published, func(a, b resource) int {
		if older(a.Name, b.Name) {
			return -1
		}
		return 1
	})
	keep := r.Keep
	for keep > 0 && len(published) > 0 { // versions excluded from latest do not count as the newest
		last := len(published) - 1
		if !published[last].Properties.PublishingProfile.ExcludeFromLatest {
			keep--
		}
		published = published[:last]
	}
	if len(published) == 0 {
		return nil, nil
	}
	users, err := r.users(ctx)
	if err != nil {
		return nil, err
	}
	var out []Old
	for _, v := range published {
		old := Old{Version: v.Name, ID: v.ID, UsedBy: users.of(r.Definition, v.Name)}
		if v.Properties.PublishingProfile.ExcludeFromLatest {
			// Without a valid tag, someone else excluded the version from latest: the time counts from now.
			old.Retired, _ = time.Parse(time.RFC3339, v.Tags[tagRetired])
		}
		out = append(out, old)
	}
	return out, nil
}

// Run excludes the old versions from latest, and deletes versions that have been excluded for long enough and are not in use.
func (r Retirement) Run(ctx context.Context) error {
	r.Now, r.Sleep = clock(r.Now, r.Sleep)
	olds, err := r.Olds(ctx)
	if err != nil {
		return err
	}
	if len(olds) == 0 {
		fmt.Fprintln(r.Out, "No version is old.")
	}
	a := azure{r.Client, r.Sleep}
	var errs []error
	for _, o := range olds {
		err := error(nil)
		switch age := r.Now().Sub(o.Retired); {
		case o.Retired.IsZero():
			fmt.Fprintf(r.Out, "%s: taken out of latest; it goes after %s, if nothing uses it\n", o.Version, r.After)
			err = r.exclude(ctx, a, o.ID)
		case len(o.UsedBy) > 0:
			fmt.Fprintf(r.Out, "%s: kept, because it is used by %s\n", o.Version, strings.Join(o.UsedBy, ", "))
		case age < r.After:
			fmt.Fprintf(r.Out, "%s: out of latest for %s\n", o.Version, age.Round(time.Minute))
		default:
			fmt.Fprintf(r.Out, "%s: deleted\n", o.Version)
			err = a.delete(ctx, o.ID, galleryVersion)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("image version %s: %w", o.Version, err))
		}
	}
	return errors.Join(errs...)
}

// exclude excludes a version from latest and records the time. Azure replaces tags and the profile as a whole.
func (r Retirement) exclude(ctx context.Context, a azure, id string) error {
	body, err := r.Client.Get(ctx, id, galleryVersion)
	if err != nil {
		return err
	}
	var v struct {
		Tags       map[string]string
		Properties struct{ PublishingProfile object }
	}
	if err := json.Unmarshal(body, &v); err != nil {
		return err
	}
	if v.Tags == nil {
		v.Tags = map[string]string{}
	}
	v.Tags[tagRetired] = r.Now().UTC().Format(time.RFC3339)
	v.Properties.PublishingProfile["excludeFromLatest"] = true
	delete(v.Properties.PublishingProfile, "publishedDate") // a read-only field of Azure
	return a.patch(ctx, id, galleryVersion, object{"tags": v.Tags, "properties": object{"publishingProfile": v.Properties.PublishingProfile}})
}

func (r Retirement) list(ctx context.Context, path, version string) iter.Seq2[resource, error] {
	return func(yield func(resource, error) bool) {
		for body, err := range r.Client.List(ctx, path, version) {
			var v resource
			if err == nil {
				err = json.Unmarshal(body, &v)
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// user is a machine or object that may refer to an image version.
type user struct {
	name string
	says any
}

type users []user

// users lists the machines and scale sets of the subscription, and the given objects.
func (r Retirement) users(ctx context.Context) (users, error) {
	var out users
	for _, kind := range []string{"virtualMachines", "virtualMachineScaleSets"} {
		path := "/subscriptions/" + r.Client.SubscriptionID() + "/providers/Microsoft.Compute/" + kind
		for body, err := range r.Client.List(ctx, path, computeVersion) {
			var o object
			if err == nil {
				err = json.Unmarshal(body, &o)
			}
			if err != nil {
				return nil, fmt.Errorf("list %s: %w", kind, err)
			}
			id, _ := o["id"].(string)
			out = append(out, user{strings.TrimSuffix(kind, "s") + " " + arm.NameOf(id), o})
		}
	}
	for _, o := range r.Objects {
		metadata, _ := o["metadata"].(object)
		out = append(out, user{fmt.Sprintf("%v %v/%v", o["kind"], metadata["namespace"], metadata["name"]), o})
	}
	return out, nil
}

// of returns the names of the users of a version, each once.
func (u users) of(definition, version string) []string {
	var out []string
	for _, one := range u {
		if names(one.says, definition, version) && !slices.Contains(out, one.name) {
			out = append(out, one.name)
		}
	}
	return out
}

// names reports whether an object contains a reference to a version anywhere: its ID, or gallery, name and version as
// in CAPZ's fields. A machine that requested the latest version has the definition's ID, and next to it the version
// that it got.
func names(o any, definition, version string) bool {
	switch o := o.(type) {
	case string:
		return strings.EqualFold(o, definition+"/versions/"+version)
	case []any:
		return slices.ContainsFunc(o, func(o any) bool { return names(o, definition, version) })
	case object:
		text := func(key string) string { t, _ := o[key].(string); return t }
		if strings.EqualFold(text("id"), definition) && text("exactVersion") == version {
			return true
		}
		parts := strings.Split(definition, "/") // the definition's ID ends in /galleries/GALLERY/images/NAME
		if len(parts) > 2 && text("version") == version && strings.EqualFold(text("gallery"), parts[len(parts)-3]) &&
			strings.EqualFold(text("name"), parts[len(parts)-1]) {
			return true
		}
		for _, o := range o {
			if names(o, definition, version) {
				return true
			}
		}
	}
	return false
}

// DefinitionID returns the ID of the image definition of which a build creates a version.
func (b *ImageBuild) DefinitionID(subscription string) string {
	t := b.Spec.Target
	return "/subscriptions/" + subscription + "/resourceGroups/" + t.ResourceGroup + "/providers/Microsoft.Compute/galleries/" +
		t.Gallery + "/images/" + t.Definition
}
