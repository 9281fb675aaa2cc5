package plan

import (
	"maps"
	"slices"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/writable"
)

// merge returns the body of an update: live, overwritten by the fields of want. A PUT deletes the parts that its body
// omits, and others (the cloud provider, users) own parts of casement's resources: rules of a load balancer or security
// group, subnets, tags.
func merge(live, want map[string]any) map[string]any {
	out := maps.Clone(live)
	if out == nil {
		out = map[string]any{}
	}
	for k, w := range want {
		if choices[k] {
			out[k] = w
			continue
		}
		out[k] = overlay(out[k], w)
	}
	return out
}

// choices are the objects with fields that exclude each other, so that Azure would refuse a merge of two objects.
// Source: ImageReference of Microsoft.Compute, whose id, communityGalleryImageId and publisher exclude each other.
var choices = map[string]bool{"imageReference": true}

// rewrite returns the body of an update of the item: the writable fields of have, overwritten by the fields of want.
func (it *item) rewrite(have, want map[string]any) map[string]any {
	if kept := writable.Of(arm.TypeOf(it.ID), it.APIVersion, have); kept != nil {
		have = kept
	}
	return merge(have, want)
}

func overlay(live, want any) any {
	switch w := want.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		return merge(l, w)
	case []any:
		l, _ := live.([]any)
		return overlayList(l, w)
	}
	return want
}

// overlayList returns want in place of live. If the elements have keys, it also keeps the elements that are only in live.
func overlayList(live, want []any) []any {
	if len(want) > 0 && keyOf(want[0]) == "" {
		return want
	}
	out := slices.Clone(live)
	for _, w := range want {
		i := slices.IndexFunc(out, func(l any) bool { return strings.EqualFold(keyOf(l), keyOf(w)) })
		if i < 0 {
			out = append(out, w)
		} else {
			out[i] = overlay(out[i], w)
		}
	}
	return out
}

// tagsOf returns a resource's tags.
func tagsOf(doc map[string]any) map[string]any {
	tags, _ := doc["tags"].(map[string]any)
	return tags
}
