package plan

import (
	"reflect"
	"testing"
)

// TestMergeChoices: an image that is identified in another way replaces the previous one, and foreign fields next to it are kept.
func TestMergeChoices(t *testing.T) {
	type object = map[string]any
	community, own := object{"communityGalleryImageId": "/CommunityGalleries/g/Images/i/Versions/1"}, object{"id": "/subscriptions/s/own"}
	for _, test := range []struct {
		name       string
		live, want object
	}{
		{"from a community's to an own one", community, own},
		{"from an own one to a community's", own, community},
		{"from the marketplace's", object{"publisher": "p", "offer": "o", "sku": "s", "version": "1"}, own},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := merge(object{"storageProfile": object{"imageReference": test.live, "diskControllerType": "SCSI"}},
				object{"storageProfile": object{"imageReference": test.want}})
			want := object{"storageProfile": object{"imageReference": test.want, "diskControllerType": "SCSI"}}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}
