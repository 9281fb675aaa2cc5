package record

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/plan"
)

// TestBlockMove: an object's move is blocked only while an operation is in progress; its other annotations do not change.
func TestBlockMove(t *testing.T) {
	open := States([]plan.Token{{ID: "/subscriptions/s/resourceGroups/g", Verb: "put", Resume: "token"}})
	failed := States([]plan.Token{{ID: "/subscriptions/s/resourceGroups/g", Verb: "put", Code: "Conflict"}})
	other, blocked := map[string]string{"a": "b"}, map[string]string{"a": "b", BlockMoveAnnotation: ""}
	for _, test := range []struct {
		name         string
		before, want map[string]string
		states       []infrav1.LongRunningOperationState
		more         bool
	}{
		{"begins", other, blocked, open, false},
		{"goes on", blocked, blocked, open, false},
		{"ends", blocked, other, nil, false},
		{"ends in a failure", blocked, other, failed, false},
		{"without annotations", nil, map[string]string{BlockMoveAnnotation: ""}, open, false},
		{"nothing to do", nil, nil, nil, false},
		{"ends, and others follow", blocked, blocked, nil, true},
		{"has not begun", other, other, nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			m := &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Annotations: others(test.before)}}
			if _, ok := test.before[BlockMoveAnnotation]; ok {
				m.Annotations[BlockMoveAnnotation] = ""
			}
			before := m.DeepCopy()
			blockMove(m, test.states, test.more)
			if diff := cmp.Diff(test.want, m.Annotations); diff != "" {
				t.Error(diff)
			}
			if Changed(before, m) {
				t.Error("the annotation alone would start another pass")
			}
		})
	}
}
