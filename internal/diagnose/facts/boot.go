package facts

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// maxNote is the length of a note, in characters.
const maxNote = 400

// BootNotes returns the failures in a machine's bootstrap, and the parts of its bootstrap data without effect, that did
// not prevent the machine from becoming a node. It reads the boot log or, without a log, the condition
// BootstrapSucceeded. Secrets are removed.
func (s *Snapshot) BootNotes(m *clusterv1.Machine) []string {
	if s.Console != nil {
		if console := s.Console(m); console != "" {
			return shown(cause.ReadBoot(strings.Split(console, "\n")).Notes())
		}
	}
	notes, _ := s.RecordedNotes(m)
	return notes
}

// RecordedNotes returns the notes that are in the condition BootstrapSucceeded, and whether they cover the whole boot
// log. It reads no boot log, so it is cheap for many machines.
func (s *Snapshot) RecordedNotes(m *clusterv1.Machine) (notes []string, whole bool) {
	am := s.AzureMachines[m.Spec.InfrastructureRef.Name]
	if am == nil {
		return nil, false
	}
	c := meta.FindStatusCondition(am.GetConditions(), infrav1.BootstrapSucceededCondition)
	if c == nil || c.Status != metav1.ConditionTrue {
		return nil, false
	}
	if c.Message != "" {
		notes = shown(strings.Split(c.Message, "; "))
	}
	return notes, c.Reason == infrav1.JoinedReason
}

func shown(notes []string) []string {
	for i := range notes {
		notes[i] = redact.Line(notes[i], maxNote)
	}
	return notes
}
