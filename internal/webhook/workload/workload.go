// Package workload lets the lint rules look at pods, and at the kinds that make pods, when
// they are created: a thin caller of internal/lint behind an admission webhook.
//
// It changes no object, and whatever goes wrong in it lets the object pass.
// internal/manager registers it.
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

// Path is where the webhook is served.
const Path = "/lint-workloads"

// ModeLabel is the label of a namespace that decides the effect of findings there: off,
// warn (the default) or enforce.
const ModeLabel = "casement.dev/lint"

// Modes of a namespace.
const (
	off     = "off"
	warn    = "warn"
	enforce = "enforce"
)

// mirrorAnnotation marks the object that represents a static pod: it runs already.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// maxWarnings keeps an answer readable; the API server cuts longer ones.
const maxWarnings = 20

// Verdicts on objects and on findings, which observers get.
const (
	// Unchecked: the mode is off, or the object has no pod.
	Unchecked = "unchecked"
	// Unreadable: the object passes, as it could not be looked at.
	Unreadable = "unreadable"
	Allowed    = "allowed"
	Warned     = "warned"
	Denied     = "denied"
)

// Verdict is the outcome for an object: the strictest answer to one of its findings, or why it has none.
type Verdict struct {
	Object   string
	Findings []Judged
}

// Judged is one finding's rule and severity, and whether it was warned of or denied.
type Judged struct{ Rule, Severity, Verdict string }

// Setup registers the webhook with a manager; observe gets each verdict.
func Setup(ctx context.Context, mgr ctrl.Manager, observe func(Verdict)) error {
	// Followed from the start, so that no request waits for them.
	if _, err := mgr.GetCache().GetInformer(ctx, &corev1.Namespace{}, cache.BlockUntilSynced(false)); err != nil {
		return fmt.Errorf("follow namespaces: %w", err)
	}
	reader := mgr.GetClient()
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: New(func(ctx context.Context, namespace string) map[string]string {
		var ns corev1.Namespace
		if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
			return nil // the webhook fails open
		}
		return ns.Labels
	}, observe)})
	return nil
}

// handler answers admission requests.
type handler struct {
	labels  func(ctx context.Context, namespace string) map[string]string
	observe func(Verdict)
	rules   []lint.Rule
	// windows are the rules that Windows alone decides, by ID: the API server has had
	// its say about the others before it asks.
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

// Handle implements admission.Handler. The API server's own validation comes before this webhook.
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
		if f.Severity == lint.Info { // advice is for who writes manifests, not for who applies them
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

// mode returns the mode of a namespace: warn if its labels are not known, and off for
// Kubernetes' own namespaces.
func (h *handler) mode(ctx context.Context, namespace string) string {
	switch mode := h.labels(ctx, namespace)[ModeLabel]; {
	case mode == off || mode == warn || mode == enforce:
		return mode
	case namespace == "kube-system":
		return off
	}
	return warn
}
