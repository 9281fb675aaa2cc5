package timeline

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/diagnose/facts"
)

// Fleet summarizes the boot times of all machines of a cluster.
type Fleet struct {
	Machines []Timeline `json:"machines"`
	// Stages are in the order of Names.
	Stages []FleetStage `json:"stages"`
	Advice []Advice     `json:"advice,omitempty"`
}

// FleetStage is the duration of one stage, in seconds, over all machines that have passed it.
type FleetStage struct {
	Name     string  `json:"name"`
	Machines int     `json:"machines"`
	Median   float64 `json:"medianSeconds"`
	Slowest  float64 `json:"slowestSeconds"`
	// By is the name of the slowest machine.
	By string `json:"by"`
}

// Advice is a recommended change, and the seconds of a machine's boot that it would save.
type Advice struct {
	What string `json:"what"`
	// Seconds is the difference between the medians of the machines without and with the trait if Measured is true;
	// otherwise it is the median of the stages in Stages, which is the maximum that the change can save.
	Seconds  float64 `json:"seconds"`
	Measured bool    `json:"measured"`
	// Stages are the stages that the change affects; Machines is the number of machines without the trait.
	Stages   []string `json:"stages"`
	Machines int      `json:"machines"`
	// How describes the change.
	How string `json:"how"`
}

// The names of stages.
const (
	stageSeen        = "instance seen in the scale set"
	stageRequested   = "machine requested"
	stageData        = "bootstrap data rendered"
	stageInterface   = "network interface"
	stageProvisioned = "VM provisioned, agent ready"
	stageBootstrap   = "bootstrap succeeded"
	stageRegistered  = "node registered"
	stageReady       = "node ready (CNI configured)"
	stagePod         = "first pod ready"
)

// Names are the names of all stages, in the order of a boot.
var Names = []string{stageSeen, stageRequested, stageData, stageInterface, stageProvisioned, stageBootstrap, stageRegistered,
	stageReady, stagePod}

// least is the number of seconds below which no advice is given.
const least = 2

// trait is a property that machines have or lack.
type trait struct {
	what, how string
	stages    []string
	has       func(f *facts.Snapshot, m *clusterv1.Machine) bool
}

// traits are the traits with the advice to introduce them, for machines that have their own VM.
var traits = []trait{
	{"a node image that has the container images already",
		"casement images build with spec.images, and the version as spec.image of the machine template",
		[]string{stageReady, stagePod},
		func(f *facts.Snapshot, m *clusterv1.Machine) bool {
			a := azureMachine(f, m)
			return a.Spec.Image != nil
		}},
	{"an ephemeral OS disk", "osDisk.diffDiskSettings.option: Local in the machine template, with a size whose " +
		"cache or local disk holds the image", []string{stageProvisioned},
		func(f *facts.Snapshot, m *clusterv1.Machine) bool {
			return azureMachine(f, m).Spec.OSDisk.DiffDiskSettings != nil
		}},
	{"a faster OS disk", "osDisk.managedDisk.storageAccountType: Premium_LRS in the machine template",
		[]string{stageBootstrap, stageRegistered, stageReady},
		func(f *facts.Snapshot, m *clusterv1.Machine) bool {
			disk := azureMachine(f, m).Spec.OSDisk
			return disk.DiffDiskSettings != nil ||
				disk.ManagedDisk != nil && strings.HasPrefix(disk.ManagedDisk.StorageAccountType, "Premium")
		}},
	{"a size of 8 cores or more", "a larger vmSize in the machine template", []string{stageBootstrap, stageRegistered, stageReady},
		func(f *facts.Snapshot, m *clusterv1.Machine) bool { return cores(azureMachine(f, m).Spec.VMSize) >= 8 }},
	{"parallel pulls of images",
		"serializeImagePulls: false in a kubelet configuration of the KubeadmConfigTemplate",
		[]string{stageReady, stagePod},
		func(f *facts.Snapshot, m *clusterv1.Machine) bool {
			c := f.Configs[m.Spec.Bootstrap.ConfigRef.Name]
			if c == nil {
				return false
			}
			for _, file := range c.Spec.Files {
				if strings.Contains(file.Content, "serializeImagePulls: false") {
					return true
				}
			}
			return false
		}},
}

func azureMachine(f *facts.Snapshot, m *clusterv1.Machine) *infrav1.AzureMachine {
	if a := f.AzureMachines[m.Spec.InfrastructureRef.Name]; a != nil {
		return a
	}
	return &infrav1.AzureMachine{}
}

var coresOfSize = regexp.MustCompile(`^Standard_[A-Z]+(\d+)`)

// cores returns the number in a VM size's name. It is the number of cores, except in old names, where the number of
// cores is larger.
func cores(size string) int {
	m := coresOfSize.FindStringSubmatch(size)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1]) // the match is digits; a number that is too long is no size
	return n
}

// OfFleet builds the timelines of all machines and their summary. For the advice, it compares Windows machines that
// have their own VM with one another.
func OfFleet(f *facts.Snapshot) Fleet {
	var fleet Fleet
	var windows []*clusterv1.Machine
	lines := map[string]Timeline{}
	for i := range f.Machines {
		m := &f.Machines[i]
		line := Of(f, m)
		if len(line.Stages) == 0 {
			continue
		}
		fleet.Machines, lines[m.Name] = append(fleet.Machines, line), line
		if isWindows(f, m) && f.AzureMachines[m.Spec.InfrastructureRef.Name] != nil {
			windows = append(windows, m)
		}
	}
	slices.SortFunc(fleet.Machines, func(a, b Timeline) int { return cmp.Compare(b.whole(), a.whole()) })
	fleet.Stages = stagesOf(fleet.Machines)
	for _, t := range traits {
		if a, ok := t.advise(f, windows, lines); ok {
			fleet.Advice = append(fleet.Advice, a)
		}
	}
	slices.SortStableFunc(fleet.Advice, func(a, b Advice) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return fleet
}

func isWindows(f *facts.Snapshot, m *clusterv1.Machine) bool {
	if n := f.Nodes[m.Status.NodeRef.Name]; n != nil {
		return n.Labels[corev1.LabelOSStable] == "windows"
	}
	return azureMachine(f, m).Spec.OSDisk.OSType == "Windows"
}

// whole returns the time from the request to the last stage, in seconds.
func (t Timeline) whole() float64 { return t.Stages[len(t.Stages)-1].After }

// took returns the total time of some stages in seconds; ok is false if the machine has passed none of them.
func (t Timeline) took(names []string) (sum float64, ok bool) {
	for _, s := range t.Stages {
		if slices.Contains(names, s.Name) {
			sum, ok = sum+s.Took, true
		}
	}
	return sum, ok
}

func stagesOf(lines []Timeline) []FleetStage {
	type passed struct {
		FleetStage
		took []float64
	}
	by := map[string]*passed{}
	for _, line := range lines {
		for _, s := range line.Stages[1:] {
			p := by[s.Name]
			if p == nil {
				p = &passed{FleetStage: FleetStage{Name: s.Name, Slowest: -1}}
				by[s.Name] = p
			}
			p.took = append(p.took, s.Took)
			if s.Took > p.Slowest {
				p.Slowest, p.By = s.Took, line.Machine
			}
		}
	}
	var all []*passed
	for _, p := range by {
		p.Machines, p.Median = len(p.took), median(p.took)
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *passed) int {
		return cmp.Compare(slices.Index(Names, a.Name), slices.Index(Names, b.Name))
	})
	var out []FleetStage
	for _, p := range all {
		out = append(out, p.FleetStage)
	}
	return out
}

// median returns the median of numbers; of an even count, the lower of the two middle numbers.
func median(numbers []float64) float64 {
	sorted := slices.Sorted(slices.Values(numbers))
	return sorted[(len(sorted)-1)/2]
}

// advise compares the machines without a trait with those that have it.
func (t trait) advise(f *facts.Snapshot, machines []*clusterv1.Machine, lines map[string]Timeline) (Advice, bool) {
	var with, without []float64
	for _, m := range machines {
		took, ok := lines[m.Name].took(t.stages)
		switch {
		case !ok:
		case t.has(f, m):
			with = append(with, took)
		default:
			without = append(without, took)
		}
	}
	if len(without) == 0 {
		return Advice{}, false
	}
	a := Advice{What: t.what, How: t.how, Stages: t.stages, Machines: len(without), Seconds: median(without)}
	if len(with) > 0 {
		a.Seconds, a.Measured = a.Seconds-median(with), true
	}
	return a, a.Seconds >= least
}

// Text returns the advice as a line.
func (a Advice) Text() string {
	saves := fmt.Sprintf("at most %.0f s", a.Seconds)
	if a.Measured {
		saves = fmt.Sprintf("%.0f s, as machines of this cluster that have it show", a.Seconds)
	}
	return fmt.Sprintf("%s saves %s for %d machines: %s", a.What, saves, a.Machines, a.How)
}
