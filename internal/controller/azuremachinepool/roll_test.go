package azuremachinepool

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
)

// members returns the members that a line describes. Each word is an instance, and its letters mean: o it has an old
// model, r its node is ready, n its node is not ready, c Cluster API cannot observe it, d it is being deleted, m a user
// marked it, u a health check considers it unhealthy, f Azure has given it up.
func members(line string) []member {
	var out []member
	for i, word := range strings.Fields(line) {
		m := member{
			instance: &instance{id: fmt.Sprint("/", i), number: fmt.Sprint(i), created: time.Unix(int64(i), 0),
				outdated: strings.Contains(word, "o"), state: "Succeeded"},
			machine: &clusterv1.Machine{}, shown: &infrav1.AzureMachinePoolMachine{},
		}
		if strings.Contains(word, "r") {
			m.machine.Status.NodeRef.Name = "n"
			m.machine.Status.Conditions = []metav1.Condition{{Type: clusterv1.MachineNodeReadyCondition, Status: metav1.ConditionTrue}}
		}
		for letter, is := range map[string]metav1.Condition{
			"n": {Status: metav1.ConditionFalse, Reason: clusterv1.MachineNodeNotReadyReason},
			"c": {Status: metav1.ConditionUnknown, Reason: clusterv1.MachineNodeConnectionDownReason},
		} {
			if strings.Contains(word, letter) {
				m.machine.Status.NodeRef.Name, is.Type = "n", clusterv1.MachineNodeReadyCondition
				m.machine.Status.Conditions = []metav1.Condition{is}
			}
		}
		if strings.Contains(word, "f") {
			m.instance.state = string(infrav1.Failed)
		}
		if strings.Contains(word, "d") {
			m.machine.DeletionTimestamp = new(metav1.Now())
		}
		if strings.Contains(word, "m") {
			m.machine.Annotations = map[string]string{clusterv1.DeleteMachineAnnotation: ""}
		}
		if strings.Contains(word, "u") {
			m.machine.Status.Conditions = append(m.machine.Status.Conditions,
				metav1.Condition{Type: clusterv1.MachineOwnerRemediatedCondition, Status: metav1.ConditionFalse})
		}
		out = append(out, m)
	}
	return out
}

func TestChoose(t *testing.T) {
	for _, test := range []struct {
		name    string
		members string
		budget  budget
		want    string
	}{
		{"as many as wanted", "r r", budget{wanted: 2, surge: 1}, ""},
		{"too few", "r", budget{wanted: 2, surge: 1}, ""},
		{"too many: the oldest", "r r r r", budget{wanted: 2, surge: 1}, "0 1"},
		{"too many: the newest", "r r r r", budget{wanted: 2, surge: 1, policy: infrav1.NewestDeletePolicyType}, "2 3"},
		{"too many: marked ones first", "r r rm r", budget{wanted: 3, surge: 1}, "2"},
		{"too many: those without a node first", "r x r", budget{wanted: 2, surge: 1}, "1"},
		{"too many, one is going", "rd r r", budget{wanted: 2, surge: 1}, ""},
		{"down to none", "r r", budget{wanted: 0, surge: 1}, "0 1"},
		{"old model, no surge yet", "ro ro", budget{wanted: 2, surge: 1}, ""},
		{"old model, the surge is not ready", "ro ro x", budget{wanted: 2, surge: 1}, ""},
		{"old model, the surge is ready", "ro ro r", budget{wanted: 2, surge: 1}, "0"},
		{"old model, the first is going", "rod ro r", budget{wanted: 2, surge: 1}, ""},
		{"old model, one may be missing", "ro ro", budget{wanted: 2, unavailable: 1}, "0"},
		{"old model without nodes goes at once", "o o r", budget{wanted: 2, surge: 1}, "0 1"},
		{"old model and too many", "ro ro ro r", budget{wanted: 2, surge: 1}, "0 1"},
		{"old model, nodes that are not ready go one by one", "no no no no", budget{wanted: 4, surge: 1}, "0"},
		{"old model, one that is not ready is going", "nod no no ro", budget{wanted: 4, surge: 1}, ""},
		{"old model, as many that are not ready as may be missing", "no no no no", budget{wanted: 4, unavailable: 2}, "0 1"},
		{"old model, the cluster is not seen", "co co co co", budget{wanted: 4, surge: 1}, ""},
		{"old model, the cluster is not seen, half way", "co co c c c", budget{wanted: 4, unavailable: 2}, ""},
		{"old model, a new node fails in the middle", "ro ro r n", budget{wanted: 3, surge: 1}, ""},
		{"old model, a new node that failed is replaced", "ro ro r nu", budget{wanted: 3, surge: 1}, "3"},
		{"old model, Azure gives up one of the new", "ro ro r f", budget{wanted: 3, surge: 1}, "3"},
		{"old model, Azure gives up the first of the new", "ro ro ro f", budget{wanted: 3, surge: 1}, ""},
		{"old model, Azure gives up one that is a node", "ro ro r nf", budget{wanted: 3, surge: 1}, ""},
		{"no old model, Azure gives one up", "r r f", budget{wanted: 3, surge: 1}, ""},
		{"old model, the surge is ready and held", "ro ro r", budget{wanted: 2, surge: 1, minReady: time.Hour}, ""},
		{"old model, one may be missing, held", "ro ro ro", budget{wanted: 3, unavailable: 1, minReady: time.Hour}, "0"},
		{"old model, one is missing, held", "ro ro r", budget{wanted: 3, unavailable: 1, minReady: time.Hour}, ""},
		{"broken", "ru r", budget{wanted: 2, surge: 1}, "0"},
		{"broken, of an old model", "rou ro r", budget{wanted: 2, surge: 1}, "0"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, m := range choose(members(test.members), test.budget) {
				got = append(got, m.instance.number)
			}
			slices.Sort(got)
			if strings.Join(got, " ") != test.want {
				t.Errorf("%v go, want %q", got, test.want)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	percent := intstr.FromString
	for _, test := range []struct {
		name               string
		replicas           int32
		surge, unavailable *intstr.IntOrString
		want               budget
	}{
		{"unset", 3, nil, nil, budget{wanted: 3, surge: 1}},
		{"surge rounds up, unavailable down", 5, new(percent("25%")), new(percent("25%")), budget{wanted: 5, surge: 2, unavailable: 1}},
		{"never nothing at all", 1, new(percent("0%")), new(percent("25%")), budget{wanted: 1, surge: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := &scope{machinePool: &clusterv1.MachinePool{}, pool: &infrav1.AzureMachinePool{}}
			s.machinePool.Spec.Replicas = &test.replicas
			s.pool.Spec.Strategy.RollingUpdate = &infrav1.MachineRollingUpdateDeployment{
				MaxSurge: test.surge, MaxUnavailable: test.unavailable,
			}
			test.want.policy = infrav1.OldestDeletePolicyType
			if got := s.budget(); got != test.want {
				t.Errorf("budget %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestMachineName(t *testing.T) {
	for _, test := range []struct{ pool, number, want string }{
		{"p", "12", "p-12"},
		{"demo-mp-0", "demo-mp-0_1A2b", "demo-mp-0-1a2b"},
		{"demo-mp-win", "win-p-win_7", "demo-mp-win-win-p-win-7"},
	} {
		if got := machineName(test.pool, test.number); got != test.want {
			t.Errorf("machineName(%s, %s) = %s, want %s", test.pool, test.number, got, test.want)
		}
	}
}
