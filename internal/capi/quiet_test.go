package capi

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// TestQuiet checks which changes of a MachineSet are reported.
func TestQuiet(t *testing.T) {
	for name, test := range map[string]struct {
		change   func(*clusterv1.MachineSet)
		reported bool
	}{
		"nothing":  {func(*clusterv1.MachineSet) {}, false},
		"a status": {func(s *clusterv1.MachineSet) { s.ResourceVersion, s.Status.Replicas = "2", new(int32(3)) }, false},
		"a spec":   {func(s *clusterv1.MachineSet) { s.Generation = 2 }, true},
		"a label":  {func(s *clusterv1.MachineSet) { s.Labels = map[string]string{"a": "c"} }, true},
		"a revision": {func(s *clusterv1.MachineSet) {
			s.Annotations = map[string]string{clusterv1.RevisionAnnotation: "2"}
		}, true},
		"a finalizer": {func(s *clusterv1.MachineSet) { s.Finalizers = []string{"a/b"} }, true},
		"an owner": {func(s *clusterv1.MachineSet) {
			s.OwnerReferences = []metav1.OwnerReference{{Name: "deployment"}}
		}, true},
		"another object of the name": {func(s *clusterv1.MachineSet) { s.UID = "2" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			was := &clusterv1.MachineSet{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: "1", Generation: 1, ResourceVersion: "1",
				Labels: map[string]string{"a": "b"}, Annotations: map[string]string{clusterv1.RevisionAnnotation: "1"}}}
			is := was.DeepCopy()
			test.change(is)
			reported := false
			quietHandler{toolscache.ResourceEventHandlerFuncs{UpdateFunc: func(any, any) { reported = true }}}.OnUpdate(was, is)
			if reported != test.reported {
				t.Errorf("reported %v, want %v", reported, test.reported)
			}
		})
	}
}
