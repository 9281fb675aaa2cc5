package explain

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/labels/format"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/terminal"
)

func NewTree(a *app.App) *cobra.Command {
	var t app.Target
	var output string
	c := &cobra.Command{
		Use:   "tree NAME",
		Short: "Show the objects of a cluster, grouped, with what is wrong",
		Example: `  casement tree demo
  casement tree demo -o json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			root, err := Tree(cmd.Context(), a, c, ClusterObject(t.Namespace, args[0]))
			if err != nil {
				return err
			}
			return a.Print(output, root, func(w io.Writer) {
				if output == "wide" {
					fmt.Fprintln(w, "OBJECT\tREADY\tDETAIL")
					root.write(w, "", "", nil)
					return
				}
				root.Fold()
				line := a.Width(lineWidth)
				l := &layout{line, line - root.width(0) - len("  Unknown  ")}
				l.write(w, "OBJECT", "READY", "DETAIL")
				root.write(w, "", "", l)
			})
		},
	}
	t.AddFlags(c)
	c.Flags().StringVarP(&output, "output", "o", "table", "table, wide (all machines, whole messages), name, json or yaml")
	return c
}

// Tree reads the tree of a cluster and marks the first fault.
func Tree(ctx context.Context, a *app.App, c client.Client, cluster facts.Object) (Branch, error) {
	snapshot, err := Snapshot(ctx, a, c, cluster)
	if err != nil {
		return Branch{}, err
	}
	root, err := readTree(ctx, c, snapshot)
	if err != nil {
		return Branch{}, err
	}
	root.markFirst(walk.Cluster(snapshot))
	return root, nil
}

// Branch is one object of a tree, with the objects that it owns.
type Branch struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Ready is True, False or Unknown.
	Ready  string `json:"ready"`
	Reason string `json:"reason,omitempty"`
	// Message explains a Ready that is not True.
	Message string `json:"message,omitempty"`
	// Detail describes a healthy object, such as its version or replicas.
	Detail string `json:"detail,omitempty"`
	// FirstWrong names the cause if the first fault is in this object.
	FirstWrong string   `json:"firstWrong,omitempty"`
	Children   []Branch `json:"children,omitempty"`
}

// object is any Cluster API object with conditions.
type object interface {
	client.Object
	GetConditions() []metav1.Condition
}

func newBranch(kind string, o object, condition, detail string) Branch {
	b := Branch{Kind: kind, Name: o.GetName(), Ready: "Unknown", Detail: detail}
	for _, c := range o.GetConditions() {
		if c.Type != condition {
			continue
		}
		b.Ready = string(c.Status)
		if c.Status != metav1.ConditionTrue {
			b.Reason, b.Message = c.Reason, c.Message
		}
	}
	return b
}

// readTree builds the tree from the gathered facts, and reads the MachineDeployments that own MachineSets.
func readTree(ctx context.Context, c client.Client, f *facts.Snapshot) (Branch, error) {
	root := newBranch("Cluster", f.Cluster, clusterv1.ClusterAvailableCondition, f.Cluster.Status.Phase)
	var deployments clusterv1.MachineDeploymentList
	if err := c.List(ctx, &deployments, client.InNamespace(f.Cluster.Namespace),
		client.MatchingLabels{clusterv1.ClusterNameLabel: f.Cluster.Name}); err != nil {
		return Branch{}, err
	}
	infra := map[string]Branch{}
	for _, a := range f.AzureMachines {
		infra["AzureMachine/"+a.Name] = newBranch("AzureMachine", a, clusterv1.ReadyCondition,
			fmt.Sprintf("%s %s", a.Spec.OSDisk.OSType, a.Spec.VMSize))
	}
	for _, a := range f.PoolMachines {
		infra[infrav1.AzureMachinePoolMachineKind+"/"+a.Name] = newBranch(infrav1.AzureMachinePoolMachineKind, a,
			clusterv1.ReadyCondition, a.Status.InstanceName)
	}
	if ac := f.AzureCluster; ac != nil {
		root.Children = append(root.Children, newBranch("AzureCluster", ac, clusterv1.ReadyCondition, ac.Spec.Location))
	}
	if k := f.ControlPlane; k != nil {
		b := newBranch("KubeadmControlPlane", k, controlplanev1.KubeadmControlPlaneAvailableCondition, k.Spec.Version)
		b.Children = machineBranches(f.Machines, infra, func(m *clusterv1.Machine) bool { return metav1.IsControlledBy(m, k) })
		root.Children = append(root.Children, b)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		b := newBranch("MachineDeployment", d, clusterv1.MachineDeploymentAvailableCondition, d.Spec.Template.Spec.Version)
		b.Children = machineBranches(f.Machines, infra, func(m *clusterv1.Machine) bool {
			return m.Labels[clusterv1.MachineDeploymentNameLabel] == d.Name
		})
		root.Children = append(root.Children, b)
	}
	for i := range f.Pools {
		root.Children = append(root.Children, poolBranch(&f.Pools[i], f.AzurePools, f.Machines, infra))
	}
	return root, nil
}

// poolBranch returns a machine pool with its scale set and machines. A MachinePool has no summary condition, so the
// Ready condition of its scale set is shown.
func poolBranch(p *clusterv1.MachinePool, azurePools map[string]*infrav1.AzureMachinePool,
	machines []clusterv1.Machine, infra map[string]Branch) Branch {
	b := newBranch("MachinePool", p, "", fmt.Sprintf("%s, %d replicas", p.Spec.Template.Spec.Version, ptr.Deref(p.Status.Replicas, 0)))
	if a := azurePools[p.Spec.Template.Spec.InfrastructureRef.Name]; a != nil {
		set := newBranch("AzureMachinePool", a, clusterv1.ReadyCondition,
			fmt.Sprintf("%s %s", a.Spec.Template.OSDisk.OSType, a.Spec.Template.VMSize))
		b.Ready = set.Ready
		b.Children = append(b.Children, set)
	}
	name := format.MustFormatValue(p.Name)
	b.Children = append(b.Children, machineBranches(machines, infra,
		func(m *clusterv1.Machine) bool { return m.Labels[clusterv1.MachinePoolNameLabel] == name })...)
	return b
}

// markFirst marks the branch that has the first fault. For a node or guest, which has no branch, it marks the machine's branch.
func (b *Branch) markFirst(a walk.Answer) bool {
	at := strings.TrimPrefix(a.At, "guest of ")
	name := strings.TrimPrefix(at, "Node/")
	if !a.Healthy && (b.Kind+"/"+b.Name == at || name != at && b.Detail == "node "+name) {
		b.FirstWrong = a.Name()
		return true
	}
	for i := range b.Children {
		if b.Children[i].markFirst(a) {
			return true
		}
	}
	return false
}

// machineBranches returns the branches of the machines of an owner, machines with problems first.
func machineBranches(machines []clusterv1.Machine, infra map[string]Branch, belongs func(*clusterv1.Machine) bool) []Branch {
	var out []Branch
	for i := range machines {
		m := &machines[i]
		if !belongs(m) {
			continue
		}
		b := newBranch("Machine", m, clusterv1.MachineReadyCondition, "node "+m.Status.NodeRef.Name)
		if a, ok := infra[m.Spec.InfrastructureRef.Kind+"/"+m.Spec.InfrastructureRef.Name]; ok {
			b.Children = append(b.Children, a)
		}
		out = append(out, b)
	}
	slices.SortStableFunc(out, func(a, b Branch) int {
		return strings.Compare(rank(a.Ready)+a.Name, rank(b.Ready)+b.Name)
	})
	return out
}

func rank(ready string) string {
	if ready == string(metav1.ConditionTrue) {
		return "1"
	}
	return "0"
}

// maxTroubled and maxWell are the number of machines of one owner that a table lists, with problems and without; or a few more,
// if no machine is then left out.
const maxTroubled, maxWell = 20, 5

// Fold replaces the machines beyond the limits by one summary line.
func (b *Branch) Fold() {
	var kept []Branch
	well, troubled := 0, 0
	for _, child := range b.Children {
		child.Fold()
		switch {
		case child.Kind != "Machine" || child.marked():
		case child.Ready == string(metav1.ConditionTrue):
			well++
		default:
			troubled++
		}
		if child.Kind != "Machine" || child.marked() ||
			child.Ready == string(metav1.ConditionTrue) && well <= maxWell ||
			child.Ready != string(metav1.ConditionTrue) && troubled <= maxTroubled {
			kept = append(kept, child)
		}
	}
	for _, more := range []struct {
		n     int
		ready string
	}{{troubled - maxTroubled, string(metav1.ConditionFalse)}, {well - maxWell, string(metav1.ConditionTrue)}} {
		if more.n > 0 {
			kept = append(kept, Branch{Kind: "Machine", Name: fmt.Sprintf("… %d more", more.n), Ready: more.ready,
				Detail: "-o wide shows them"})
		}
	}
	b.Children = kept
}

// marked reports whether the first fault is in the branch.
func (b *Branch) marked() bool {
	return b.FirstWrong != "" || slices.ContainsFunc(b.Children, func(c Branch) bool { return c.marked() })
}

// lineWidth is the width of a table's line in characters if there is no terminal.
const lineWidth = 101

// width returns the number of characters that the first column needs for the branch at a depth of the tree.
func (b Branch) width(depth int) int {
	n := 2*depth + utf8.RuneCountInString(b.Kind+"/"+b.Name)
	for _, child := range b.Children {
		n = max(n, child.width(depth+1))
	}
	return n
}

// cut shortens a text to a width in characters; 0 means that the text is not shortened.
func cut(text string, width int) string {
	if runes := []rune(text); width > 0 && len(runes) > width {
		return string(runes[:width-1]) + "…"
	}
	return text
}

// layout is the width of a tree's lines, and of their last column. Without a layout, every text is printed in its row.
type layout struct {
	line, detail int
}

// write prints a row; if l is nil, as tab-separated cells of a table.
func (l *layout) write(w io.Writer, name, ready, detail string) {
	if l == nil {
		fmt.Fprintf(w, "%s\t%s\t%s\n", name, ready, detail)
		return
	}
	if l.detail < app.LeastDetail {
		detail = ""
	}
	row := fmt.Sprintf("%-*s  %-7s  %s", l.line-l.detail-len("  Unknown  "), name, ready, cut(detail, l.detail))
	fmt.Fprintln(w, strings.TrimRight(row, " "))
}

// contextLines is the maximum number of lines of a message that is not about the first fault. Messages above the fault repeat it.
const contextLines = 2

// reported returns the text for the last column of a branch's row, and the text for the lines below the row if the
// column is too narrow for it.
func (b *Branch) reported(l *layout) (row, below string) {
	switch {
	case b.Message == "" && b.FirstWrong == "":
		return b.Detail, ""
	case b.FirstWrong == "":
		row, below = b.Reason, app.Sentence(b.Message)
	default:
		row, below = "◀ first wrong: "+b.FirstWrong, cmp.Or(app.Sentence(b.Message), b.Detail)
		if b.Reason != "" && b.Reason != b.FirstWrong {
			below = b.Reason + ": " + below
		}
	}
	whole := strings.TrimSuffix(row+": "+below, ": ")
	switch {
	case l == nil || l.detail >= app.LeastDetail && utf8.RuneCountInString(whole) <= l.detail:
		return whole, ""
	case utf8.RuneCountInString(row) > l.detail || l.detail < app.LeastDetail:
		return "", whole
	}
	return row, below
}

// write prints the branch with tree lines; head is the prefix of its own line, and tail the prefix of its children's
// lines. A message that does not fit into its row is printed in the lines below.
func (b *Branch) write(w io.Writer, head, tail string, l *layout) {
	row, below := b.reported(l)
	l.write(w, head+b.Kind+"/"+b.Name, b.Ready, row)
	if below != "" {
		bar := tail + "  "
		if len(b.Children) > 0 {
			bar = tail + "│ "
		}
		lines := terminal.Wrap(below, max(app.LeastDetail, l.line-utf8.RuneCountInString(bar)-2))
		if b.FirstWrong == "" && len(lines) > contextLines {
			lines = append(lines[:contextLines-1], lines[contextLines-1]+" …")
		}
		for _, line := range lines {
			fmt.Fprintf(w, "%s%s\n", bar, line)
		}
	}
	for i := range b.Children {
		child := &b.Children[i]
		if i == len(b.Children)-1 {
			child.write(w, tail+"└─", tail+"  ", l)
		} else {
			child.write(w, tail+"├─", tail+"│ ", l)
		}
	}
}
