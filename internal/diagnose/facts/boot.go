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

// BootNotes returns the failures in a machine's bootstrap, and its parts without effect, that did not keep the machine
// from becoming a node. It reads the boot log, or without one the condition BootstrapSucceeded. Secrets are removed.
func (s *Snapshot) BootNotes(m *clusterv1.Machine) []string {
	if s.Console != nil {
		if console := s.Console(m); console != "" {
			return shown(cause.ReadBoot(strings.Split(console, "\n")).Notes())
		}
	}
	notes, _ := s.RecordedNotes(m)
	return notes
}

// RecordedNotes returns what of BootNotes the condition BootstrapSucceeded says, and whether the boot log was read for it to its
// end. It reads no boot log, so it costs nothing for each of many machines.
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
