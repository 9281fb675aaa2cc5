package record

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "casement.dev/casement/api/v1beta1"
)

func TestOlder(t *testing.T) {
	now := time.Now()
	machine := func(name string, at time.Time) *infrav1.AzureMachine {
		return &infrav1.AzureMachine{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(at)}}
	}
	for _, test := range []struct {
		name string
		a, b *infrav1.AzureMachine
		want bool
	}{
		{"older", machine("z", now), machine("a", now.Add(time.Second)), true},
		{"younger", machine("a", now.Add(time.Second)), machine("z", now), false},
		{"same second", machine("a", now), machine("b", now), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if Older(test.a, test.b) != test.want || Older(test.b, test.a) == test.want {
				t.Error("wrong order")
			}
		})
	}
}
