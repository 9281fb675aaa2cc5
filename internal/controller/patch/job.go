package patch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/controller/workload"
	"casement.dev/casement/internal/patchday"
)

// workloadTimeout is the timeout of a call to a workload cluster.
const workloadTimeout = 10 * time.Second

// workload returns a client of a workload cluster.
func (r *Reconciler) workload(ctx context.Context, cluster client.ObjectKey) (client.Client, error) {
	if r.Workload != nil {
		return r.Workload(ctx, cluster)
	}
	cfg, err := workload.Config(ctx, r.Client, cluster)
	if err != nil {
		return nil, err
	}
	cfg.Timeout, cfg.UserAgent = workloadTimeout, string(fieldOwner)
	return client.New(cfg, client.Options{Scheme: r.Client.Scheme()})
}

// copyName returns the name of the copy of the user's Job for a node and a version.
func copyName(job, node, version string) string {
	sum := sha256.Sum256([]byte(node + "@" + version))
	return job[:min(len(job), 50)] + "-" + hex.EncodeToString(sum[:5])
}

// results reads the results of the copies of the user's Job.
func (r *Reconciler) results(ctx context.Context, p *pool) {
	namespace, name, _ := strings.Cut(p.plan.Policy.Job, "/")
	var remote client.Client
	for i := range p.plan.Nodes {
		n := &p.plan.Nodes[i]
		node := p.nodes[n.Name]
		if !n.Fits || node == "" || slices.Contains(p.plan.State.Going, n.Name) {
			continue
		}
		if remote == nil {
			var err error
			if remote, err = r.workload(ctx, client.ObjectKeyFromObject(p.cluster)); err != nil {
				n.JobWhy = err.Error()
				return
			}
		}
		job := &batchv1.Job{}
		key := client.ObjectKey{Namespace: namespace, Name: copyName(name, node, p.plan.State.To)}
		if err := remote.Get(ctx, key, job); err != nil {
			if !apierrors.IsNotFound(err) {
				n.JobWhy = err.Error()
			} else if err := remote.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &batchv1.Job{}); err != nil {
				n.JobWhy = err.Error()
			}
			continue
		}
		for _, c := range job.Status.Conditions {
			switch {
			case c.Status != corev1.ConditionTrue:
			case c.Type == batchv1.JobComplete:
				n.Job = patchday.Good
			case c.Type == batchv1.JobFailed:
				n.Job, n.JobWhy = patchday.Bad, cmp.Or(c.Message, c.Reason, "failed")
			}
		}
	}
}

// test creates the missing copies of the user's Job, one for each canary node.
func (r *Reconciler) test(ctx context.Context, p *pool) error {
	namespace, name, _ := strings.Cut(p.plan.Policy.Job, "/")
	var remote client.Client
	template := &batchv1.Job{}
	for _, n := range p.plan.Nodes {
		node := p.nodes[n.Name]
		if !n.Fits || n.Leaving || node == "" || slices.Contains(p.plan.State.Going, n.Name) || n.Job != "" || n.JobWhy != "" {
			continue
		}
		if remote == nil {
			var err error
			if remote, err = r.workload(ctx, client.ObjectKeyFromObject(p.cluster)); err != nil {
				return err
			}
			if err := remote.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, template); err != nil {
				return fmt.Errorf("read the Job %s: %w", p.plan.Policy.Job, err)
			}
		}
		job := copyOf(template, node, p.plan.State.To)
		if err := remote.Create(ctx, job); client.IgnoreAlreadyExists(err) != nil {
			return fmt.Errorf("make the Job %s: %w", job.Name, err)
		} else if err == nil {
			ctrl.LoggerFrom(ctx).Info("The Job of patch day begins", "pool", p.plan.Name, "node", node, "job", job.Name)
		}
	}
	return nil
}

// copyOf returns the user's Job for one node.
func copyOf(template *batchv1.Job, node, version string) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: template.Namespace, Name: copyName(template.Name, node, version),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(template, batchv1.SchemeGroupVersion.WithKind("Job"))}},
		Spec: *template.Spec.DeepCopy()}
	job.Spec.Suspend, job.Spec.Selector, job.Spec.ManualSelector = new(false), nil, nil
	// These labels belong to the template only.
	for _, label := range []string{"controller-uid", "job-name", batchv1.ControllerUidLabel, batchv1.JobNameLabel} {
		delete(job.Spec.Template.Labels, label)
	}
	pod := &job.Spec.Template.Spec
	if pod.NodeSelector == nil {
		pod.NodeSelector = map[string]string{}
	}
	pod.NodeSelector[corev1.LabelHostname] = node
	return job
}
