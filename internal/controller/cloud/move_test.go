package cloud

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/plan"
)

// TestBlockMove: an object stays where it is while an operation is under way, and no
// longer; what other annotations it has is nobody's business here.
func TestBlockMove(t *testing.T) {
	open := States([]plan.Token{{ID: "/subscriptions/s/resourceGroups/g", Verb: "put", Resume: "token"}})
	failed := States([]plan.Token{{ID: "/subscriptions/s/resourceGroups/g", Verb: "put", Code: "Conflict"}})
	other, held := map[string]string{"a": "b"}, map[string]string{"a": "b", BlockMoveAnnotation: ""}
	for _, test := range []struct {
		name         string
		before, want map[string]string
		states       []infrav1.LongRunningOperationState
	}{
		{"begins", other, held, open},
		{"goes on", held, held, open},
		{"ends", held, other, nil},
		{"ends in a failure", held, other, failed},
		{"without annotations", nil, map[string]string{BlockMoveAnnotation: ""}, open},
		{"nothing to do", nil, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Annotations: others(test.before)}}
			if _, ok := test.before[BlockMoveAnnotation]; ok {
				m.Annotations[BlockMoveAnnotation] = ""
			}
			before := m.DeepCopy()
			blockMove(m, test.states)
			if diff := cmp.Diff(test.want, m.Annotations); diff != "" {
				t.Error(diff)
			}
			if changed(before, m) {
				t.Error("the annotation alone would start another pass")
			}
		})
	}
}
