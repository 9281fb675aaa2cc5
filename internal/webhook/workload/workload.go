// Package workload lets the lint rules look at pods, and at what makes pods, when
// they are created: a thin caller of internal/lint behind an admission webhook.
//
// It changes no object, and whatever goes wrong in it lets the object pass.
// internal/manager registers it.
package workload

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
)

// Path is where the webhook is served.
const Path = "/lint-workloads"

// ModeLabel of a namespace says what findings do there: off, warn (the default) or
// enforce.
const ModeLabel = "casement.dev/lint"

// Modes of a namespace.
const (
	off     = "off"
	warn    = "warn"
	enforce = "enforce"
)

// mirrorAnnotation marks the object that stands for a static pod: it runs already.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// maxWarnings keeps an answer readable; the API server cuts longer ones.
const maxWarnings = 20

// Setup registers the webhook with a manager.
func Setup(mgr ctrl.Manager) {
	reader := mgr.GetClient()
	mgr.GetWebhookServer().Register(Path, &admission.Webhook{Handler: New(func(ctx context.Context, namespace string) map[string]string {
		var ns corev1.Namespace
		if err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &ns); err != nil {
			return nil // the webhook fails open
		}
		return ns.Labels
	})})
}

// handler answers admission requests.
type handler struct {
	labels func(ctx context.Context, namespace string) map[string]string
	rules  []lint.Rule
}

// New returns the webhook. labels are those of a namespace, nil when they are not
// known.
func New(labels func(ctx context.Context, namespace string) map[string]string) admission.Handler {
	return &handler{labels: labels, rules: rules.All()}
}

// Handle implements admission.Handler. What the API server refuses itself it has
// refused before it asks.
func (h *handler) Handle(ctx context.Context, req admission.Request) admission.Response {
	mode := h.mode(ctx, req.Namespace)
	if mode == off || len(req.Object.Raw) == 0 {
		return admission.Allowed("")
	}
	set, errs := lint.Parse(req.Kind.Kind, req.Object.Raw, lint.Options{})
	if len(errs) > 0 || len(set.Pods) == 0 || set.Pods[0].Meta.At("annotations", mirrorAnnotation).Exists() {
		return admission.Allowed("")
	}
	var warnings []string
	denied := ""
	for _, f := range lint.Run(set, h.rules, lint.Target{}) {
		if f.Severity == lint.Info { // advice is for who writes manifests, not for who applies them
			continue
		}
		text := fmt.Sprintf("%s: %s: %s", f.Rule, f.Path, f.Message)
		if f.Fix != "" {
			text += "; write instead: " + f.Fix
		}
		switch {
		case mode == enforce && f.Severity == lint.Error && denied == "":
			denied = text
		case len(warnings) < maxWarnings:
			warnings = append(warnings, text)
		}
	}
	answer := admission.Allowed("")
	if denied != "" {
		answer = admission.Denied("this pod cannot run on Windows: " + denied)
		answer.Result.Code = http.StatusForbidden
	}
	return answer.WithWarnings(warnings...)
}

// mode is that of a namespace; one that is not known is warned about, and
// Kubernetes' own is left alone.
func (h *handler) mode(ctx context.Context, namespace string) string {
	switch mode := h.labels(ctx, namespace)[ModeLabel]; {
	case mode == off || mode == warn || mode == enforce:
		return mode
	case namespace == "kube-system":
		return off
	}
	return warn
}
