package explain

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/checks"
	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/sshroute"
)

// drainTime is the time that pods have to leave a node, as in the addon windows-node-repair.
const drainTime = 5 * time.Minute

// repaired runs a remedy on its node. A remedy that breaks connections runs on a drained node, which is uncordoned
// afterwards unless it was cordoned before.
func repaired(ctx context.Context, a *app.App, t app.Target, c client.Client, route sshroute.Route, r checks.Remedy) (err error) {
	if !r.Breaks {
		return remedyOn(ctx, a, t, route, r.Script)
	}
	w, _, err := facts.Workload(ctx, c, route.Cluster)
	if err != nil {
		return err
	}
	node := &corev1.Node{}
	if err := w.Get(ctx, client.ObjectKey{Name: r.Node}, node); err != nil {
		return err
	}
	if !node.Spec.Unschedulable {
		if err := cordon(ctx, w, node, true); err != nil {
			return err
		}
		defer func() {
			if undone := cordon(context.WithoutCancel(ctx), w, node, false); err == nil {
				err = undone
			}
		}()
	}
	fmt.Fprintf(a.Err, "%s: %s: draining\n", r.Check, r.Node)
	if err := drain(ctx, w, r.Node); err != nil {
		return err
	}
	pods, err := podsOf(ctx, w, r.Node)
	if err != nil {
		return err
	}
	var addresses []string
	for i := range pods {
		if ip := pods[i].Status.PodIP; ip != "" {
			addresses = append(addresses, "'"+ip+"'")
		}
	}
	return remedyOn(ctx, a, t, route, "$addresses = @("+strings.Join(addresses, ", ")+")\n"+r.Script)
}

// cordon sets whether a node accepts new pods.
func cordon(ctx context.Context, w client.Client, node *corev1.Node, off bool) error {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"unschedulable": off}})
	if err != nil {
		return err
	}
	return w.Patch(ctx, node, client.RawPatch(types.MergePatchType, patch))
}

func podsOf(ctx context.Context, w client.Client, node string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	err := w.List(ctx, list, client.MatchingFields{"spec.nodeName": node})
	return list.Items, err
}

// drain evicts the pods on a node and waits until they have left. Disruption budgets are respected.
func drain(ctx context.Context, w client.Client, node string) error {
	begun, err := podsOf(ctx, w, node)
	if err != nil {
		return err
	}
	last := ""
	err = wait.PollUntilContextTimeout(ctx, time.Second, drainTime, true, func(ctx context.Context) (bool, error) {
		pods, err := podsOf(ctx, w, node)
		if err != nil {
			return false, err
		}
		left := leaving(begun, pods)
		for _, p := range left {
			last = p.Namespace + "/" + p.Name
			if p.DeletionTimestamp != nil {
				continue
			}
			err := w.SubResource("eviction").Create(ctx, p, &policyv1.Eviction{})
			if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
				return false, err
			}
		}
		return len(left) == 0, nil
	})
	if wait.Interrupted(err) {
		return fmt.Errorf("drain node %s: pod %s does not leave it in %s: look at its disruption budget", node, last, drainTime)
	}
	return err
}

// leaving returns the pods of a node for which a drain waits. It omits pods of DaemonSets, static pods, ended pods, and
// pods created after the drain began, because they tolerate the cordon and would be created again and again. Source:
// kubectl drain, which lists pods once.
func leaving(begun, pods []corev1.Pod) (out []*corev1.Pod) {
	for i := range pods {
		p := &pods[i]
		owner := metav1.GetControllerOf(p)
		stays := owner != nil && owner.Kind == "DaemonSet" || p.Annotations[corev1.MirrorPodAnnotationKey] != "" ||
			p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !stays && slices.ContainsFunc(begun, func(b corev1.Pod) bool { return b.UID == p.UID }) {
			out = append(out, p)
		}
	}
	return out
}
