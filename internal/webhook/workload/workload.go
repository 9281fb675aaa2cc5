// Package workload runs the lint rules on pods, and on the kinds that create pods, when they are created: an admission
// webhook that calls internal/lint.
//
// It changes no object, and after any error of its own it admits the object. internal/manager registers it.
package workload

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
)

// Path is the URL path of the webhook.
const Path = "/lint-workloads"

// ModeLabel is the label of a namespace that determines the effect of findings in it: off, warn (the default) or enforce.
const ModeLabel = "casement.dev/lint"

// Modes of a namespace.
const (
	off     = "off"
	warn    = "warn"
	enforce = "enforce"
)

// mirrorAnnotation marks the object that represents a static pod, which is running already.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// maxWarnings keeps a response readable; the API server shortens longer ones.
const maxWarnings = 20

// Verdicts about objects and about findings, for observers.
const (
	// Unchecked means that the mode is off, or that the object has no pod.
	Unchecked = "unchecked"
	// Unreadable means that the object is admitted because it could not be examined.
	Unreadable = "unreadable"
	Allowed    = "allowed"
	Warned     = "warned"
	Denied     = "denied"
)

// Verdict is the result for an object: the strictest verdict on one of its findings, or the reason why it has none.
type Verdict struct {
	Object   string
	Findings []Judged
}

// Judged is the rule and severity of one finding, and whether it caused a warning or a refusal.
type Judged struct{ Rule, Severity, Verdict string }

// Setup registers the webhook with a manager; observe is called with each verdict.
func Setup(ctx context.Context, mgr ctrl.Manager, observe func(Verdict)) error {
	// The informer is started now, so that no request waits for it.
	if _, err := mgr.GetCache().GetInformer(ctx, &corev1.Namespace{}, cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("follow namespaces: %w", err)
	}
	reader := mgr.GetClient()
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: New(func(ctx context.Context, namespace string) map[string]string {
		var ns corev1.Namespace
		if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
			return nil // the webhook admits the object then
		}
		return ns.Labels
	}, observe)})
	return nil
}

// handler handles admission requests.
type handler struct {
	labels  func(ctx context.Context, namespace string) map[string]string
	observe func(Verdict)
	rules   []lint.Rule
	// windows are the rules, by ID, that only the behaviour of Windows confirms: the API server has checked the others
	// before it calls the webhook.
	windows map[string]bool
}

// New returns the webhook. labels returns the labels of a namespace, or nil if they are not
// known.
func New(labels func(ctx context.Context, namespace string) map[string]string, observe func(Verdict)) admission.Handler {
	h := &handler{labels: labels, observe: observe, rules: rules.All(), windows: map[string]bool{}}
	for _, r := range h.rules {
		h.windows[r.ID] = r.Oracle == lint.Unit
	}
	return h
}

// Handle implements admission.Handler. The API server has validated the object before.
func (h *handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	answer, verdict := h.judge(ctx, req)
	h.observe(verdict)
	return answer
}

func (h *handler) judge(ctx context.Context, req admission.Request) (admission.Response, Verdict) {
	mode := h.mode(ctx, req.Namespace)
	if mode == off || len(req.Object.Raw) == 0 {
		return admission.Allowed(""), Verdict{Object: Unchecked}
	}
	set, errs := lint.Parse(req.Kind.Kind, req.Object.Raw, lint.Options{})
	switch {
	case len(errs) > 0:
		return admission.Allowed(""), Verdict{Object: Unreadable}
	case len(set.Pods) == 0 || set.Pods[0].Meta.At("annotations", mirrorAnnotation).Exists():
		return admission.Allowed(""), Verdict{Object: Unchecked}
	}
	verdict := Verdict{Object: Allowed}
	var warnings []string
	denied := ""
	findings := lint.Run(set, h.rules, lint.Target{})
	slices.SortStableFunc(findings, func(a, b lint.Finding) int { return cmp.Compare(b.Severity, a.Severity) }) // errors first
	left := 0
	for _, f := range findings {
		if f.Severity == lint.Info { // advice is for authors of manifests, not for those who apply them
			continue
		}
		text := fmt.Sprintf("%s: %s: %s", f.Rule, f.Path, f.Message)
		if f.Fix != "" {
			text += "; write instead: " + f.Fix
		}
		judged := Judged{f.Rule, f.Severity.String(), Warned}
		if mode == enforce && f.Severity == lint.Error && h.windows[f.Rule] {
			judged.Verdict = Denied
		}
		switch {
		case judged.Verdict == Denied && denied == "":
			denied = text
		case len(warnings) < maxWarnings-1:
			warnings = append(warnings, text)
		default:
			left++
		}
		verdict.Findings = append(verdict.Findings, judged)
		verdict.Object = Warned
	}
	if left > 0 {
		warnings = append(warnings, fmt.Sprintf("and %d more: casement lint shows all", left))
	}
	answer := admission.Allowed("")
	if denied != "" {
		answer = admission.Denied("this pod cannot run on Windows: " + denied)
		answer.Result.Code = http.StatusForbidden
		verdict.Object = Denied
	}
	return answer.WithWarnings(warnings...), verdict
}

// mode returns the mode of a namespace: warn if its labels are not known, and off for Kubernetes' own namespaces.
func (h *handler) mode(ctx context.Context, namespace string) string {
	switch mode := h.labels(ctx, namespace)[ModeLabel]; {
	case mode == off || mode == warn || mode == enforce:
		return mode
	case namespace == "kube-system":
		return off
	}
	return warn
}
