package walk

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/cause"
	"casement.dev/casement/internal/redact"
)

// reader examines one kind without a walk of its own. asked is true for the object that a user named, for which more is reported.
type reader func(f walker, o *unstructured.Unstructured, asked bool) *finding

// readers returns the functions for kinds with specific rules; the generic rules apply to every kind.
func readers() map[string]reader {
	return map[string]reader{
		"Ingress": routes, "HorizontalPodAutoscaler": autoscaler, "CronJob": cronJob, "NetworkPolicy": policy,
		"PersistentVolume": persistentVolume, "CertificateSigningRequest": signing, "ResourceClaim": device,
		"ClusterResourceSet": resourceSet, "PodDisruptionBudget": budget,
	}
}

// other examines an object of any kind.
func (w walker) other(o *unstructured.Unstructured, asked bool) *finding {
	if asked && w.Refused != "" {
		s := sourceOfObject(o)
		s.kind = cause.Admission
		a := s.because("Refused", w.Refused)
		a.Type = "Request"
		return a
	}
	return first(func() *finding {
		if read := readers()[o.GetKind()]; read != nil {
			return read(w, o, asked)
		}
		return nil
	}, func() *finding { return w.generic(o, asked) })
}

// others examines the objects of all kinds that were read in addition to the usual ones.
func (w walker) others() *finding {
	var checks []func() *finding
	for _, kind := range []string{"ClusterResourceSet", "Namespace", "APIService", "PersistentVolume", "Ingress",
		"HorizontalPodAutoscaler", "CronJob", "CertificateSigningRequest", "CustomResourceDefinition",
		"ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"} {
		all := w.Others[kind]
		for i := range all {
			if kind == "ClusterResourceSet" && w.applied(all[i].GetName()) {
				continue // the set failed for another cluster
			}
			checks = append(checks, func() *finding { return w.other(&all[i], false) })
		}
	}
	for i := range w.Custom {
		checks = append(checks, func() *finding { return w.custom(&w.Custom[i]) })
	}
	return first(checks...)
}

// summaries are the conditions that summarise an object.
var summaries = []string{"Ready", "Available", "Healthy", "Synced"}

// ending matches the fields in which an object that runs once records that it has ended.
var ending = regexp.MustCompile(`^(?:completion|finished|end|completed|stopped)(?:Time|Timestamp|At|edAt)?$`)

// custom examines an object of another project that no user named. Only its summary counts, because only its project
// knows the meaning of its other conditions, and only if it lasts longer than an operation takes. An object that has
// ended is ignored.
func (w walker) custom(o *unstructured.Unstructured) *finding {
	s := sourceOfObject(o)
	if t := o.GetDeletionTimestamp(); t != nil {
		if w.Taken.Sub(t.Time) > slowDeletion {
			return w.beingDeleted(s, o, t.Time)
		}
		return nil
	}
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	for field := range status {
		if ending.MatchString(field) {
			return nil
		}
	}
	for _, c := range conditionsOf(o) {
		bad := slices.Contains(badWords, c.Type) && c.Status == metav1.ConditionTrue
		since := c.LastTransitionTime.Time
		if since.IsZero() {
			since = o.GetCreationTimestamp().Time
		}
		failed := bad || badPhase.MatchString(c.Reason)
		switch lasts := w.Taken.Sub(since); {
		case !bad && !(slices.Contains(summaries, c.Type) && c.Status == metav1.ConditionFalse):
		case failed && lasts > slowStatus, lasts > slowAzure:
			return s.unknown(c.Type, c.Reason, reported(&c), since)
		}
	}
	if w.Taken.Sub(o.GetCreationTimestamp().Time) < slowStatus {
		return nil
	}
	if a := w.stated(o, s); a != nil && !a.Waiting {
		return a
	}
	return nil
}

// sourceOfObject returns the source of an object's texts.
func sourceOfObject(o *unstructured.Unstructured) said {
	next := "kubectl describe " + strings.ToLower(o.GetKind())
	if group, _, has := strings.Cut(o.GetAPIVersion(), "/"); has && strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") {
		next += "." + group
	}
	next += " " + o.GetName()
	if o.GetNamespace() != "" {
		next += " -n " + o.GetNamespace()
	}
	return said{"object", "", o.GetKind() + "/" + o.GetName(), next}
}

// unknown returns the finding for a condition, an event or a field of unknown meaning.
func (s said) unknown(kind, reason, line string, since time.Time) *finding {
	saying := strings.TrimSpace(strings.TrimPrefix(kind, "Field") + " " + reason)
	return &finding{Step: s.step, At: s.at, Type: kind, Reason: reason, Cause: reason, Since: since, Unknown: true,
		Says:     fmt.Sprintf("%s says %s; the cause is not known here", s.at, cmp.Or(saying, "this")),
		Evidence: evidence(line), Fix: "see what the line says, and what shows more with the next command", Next: s.next}
}

// badWords are the words at the end of the types of conditions for which True means a fault.
var badWords = []string{"Fail", "Failed", "Failure", "Failing", "Stalled", "Degraded", "Conflict", "Error", "Pressure",
	"Unavailable", "Problem"}

// neutral are conditions that describe an object's activity and not its health.
var neutral = []string{"Deleting", "ScalingUp", "ScalingDown", "RollingOut", "Remediating", "Progressing", "Reconciling", "Suspended",
	"Complete", "ScalingLimited", "Local", "Resizing", "Updating", "Approved", "Denied"}

// wrong reports whether a condition means that something is wrong with its object.
func wrong(c *metav1.Condition) bool {
	bad := strings.Contains(c.Type, "Failure") ||
		slices.ContainsFunc(badWords, func(word string) bool { return strings.HasSuffix(c.Type, word) })
	want := metav1.ConditionFalse
	if bad {
		want = metav1.ConditionTrue
	}
	return c.Status == want && c.Type != clusterv1.PausedCondition && !slices.Contains(neutral, c.Type)
}

// left finds a condition, of an object with a walk of its own, that no step of that walk has examined and that has
// reported a fault for longer than any operation takes.
func (w walker) left(s said, conditions []metav1.Condition) *finding {
	for i := range conditions {
		c := &conditions[i]
		if since := c.LastTransitionTime.Time; wrong(c) && !since.IsZero() && w.Taken.Sub(since) > slowAzure {
			return s.unknown(c.Type, c.Reason, reported(c), since)
		}
	}
	return nil
}

// generic examines the properties that objects of all kinds have: deletion and finalizers, pauses, generations,
// conditions and events.
func (w walker) generic(o *unstructured.Unstructured, asked bool) *finding {
	s := sourceOfObject(o)
	if t := o.GetDeletionTimestamp(); t != nil {
		return w.beingDeleted(s, o, t.Time)
	}
	if _, is := o.GetAnnotations()[clusterv1.PausedAnnotation]; is {
		return w.paused(s.at, o, s.next)
	}
	if p, _, _ := unstructured.NestedBool(o.Object, "spec", "paused"); p && asked {
		return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "Paused", Says: s.at + " is paused, so nothing is done about it",
			Evidence: []string{"spec.paused: true"}, Fix: "set spec.paused to false", Harm: "whoever paused it may have had a " +
				"reason", Next: s.next}
	}
	for _, c := range conditionsOf(o) {
		switch {
		case !wrong(&c) && !unsure(&c), c.Reason == "ScalingDisabled": // an HPA whose target has no replicas
			continue
		case inProgress(c.Reason) || w.Taken.Sub(c.LastTransitionTime.Time) < slowStatus && !c.LastTransitionTime.IsZero():
			return w.waits(s, c.Reason, s.at+": "+reported(&c), c.LastTransitionTime.Time)
		}
		return s.unknown(c.Type, c.Reason, reported(&c), c.LastTransitionTime.Time)
	}
	observed, has, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
	if has && observed < o.GetGeneration() && asked {
		return s.unknown("Field", "OldGeneration", fmt.Sprintf("status.observedGeneration: %d; metadata.generation: %d",
			observed, o.GetGeneration()), time.Time{})
	}
	refers, stated := w.refers(o, s), w.stated(o, s)
	if refers != nil && stated != nil {
		refers.Evidence = append(refers.Evidence, stated.Evidence...)
	}
	if a := cmp.Or(refers, stated); a != nil || !asked {
		return a
	}
	warned := slices.DeleteFunc(w.events(slices.Concat(w.Notices, w.Warnings), o.GetUID()), func(e *corev1.Event) bool {
		return inProgress(e.Reason)
	})
	if len(warned) > 0 {
		return s.unknown("Event", warned[0].Reason, warned[0].Message, when(warned[0]))
	}
	return nil
}

// unsure reports whether a condition is a summary whose status is Unknown.
func unsure(c *metav1.Condition) bool {
	return c.Status == metav1.ConditionUnknown && slices.Contains(summaries, c.Type)
}

// Fields of a status in which controllers without conditions report an object's state, the words for a state that is
// bad or unfinished, and the fields with the reason.
var (
	phaseField  = regexp.MustCompile(`(?i)^(?:phase|state|status|health|result|outcome|provisioningState)$`)
	badPhase    = regexp.MustCompile(`(?i)fail|error|degraded|unhealthy|invalid|stalled|conflict|denied|rejected|expired|lost|unavailable`)
	earlyPhase  = regexp.MustCompile(`(?i)^(?:new|pending|waiting|queued|inprogress|in progress|creating|provisioning|starting)$`)
	reasonField = regexp.MustCompile(`(?i)(?:message|reason|error|failure|errors|failures)$`)
)

// stated examines the status of an object whose controller writes no conditions: a field for its phase, and the fields
// with the reason.
func (w walker) stated(o *unstructured.Unstructured, s said) *finding {
	status, _, _ := unstructured.NestedMap(o.Object, "status")
	if len(conditionsOf(o)) > 0 {
		return nil
	}
	var phase, value string
	var why []string
	for _, field := range slices.Sorted(maps.Keys(status)) {
		text := strings.Trim(fmt.Sprint(status[field]), "[]")
		if whole, is := status[field].(map[string]any); is && reasonField.MatchString(field) {
			if text, _ = whole["message"].(string); text != "" {
				why = append(why, "status."+field+".message: "+text)
			}
			continue
		}
		_, isText := status[field].(string)
		_, isList := status[field].([]any)
		switch {
		case text == "" || !isText && !isList:
		case isText && phaseField.MatchString(field) && (badPhase.MatchString(text) || phase == "" && earlyPhase.MatchString(text)):
			phase, value = field, text
		case reasonField.MatchString(field):
			why = append(why, "status."+field+": "+text)
		}
	}
	if phase == "" && len(why) == 0 {
		return nil
	}
	line := strings.Join(why, "; ")
	if phase != "" {
		line = strings.Join(append([]string{"status." + phase + ": " + value}, why...), "; ")
	}
	born := o.GetCreationTimestamp().Time
	if earlyPhase.MatchString(value) || phase == "" && w.Taken.Sub(born) < slowStatus {
		a := w.waits(s, value, s.at+", whose controller says so", born)
		a.Type, a.Evidence = "Field", evidence(line)
		return w.overdue(a, born, slowAzure)
	}
	return s.unknown("Field", value, line, time.Time{})
}

// refers finds a dangling reference of an object; if the object is new, its target may not have been applied yet.
func (w walker) refers(o *unstructured.Unstructured, s said) *finding {
	a := w.dangles(s.at, s.step)
	if born := o.GetCreationTimestamp().Time; a != nil && !born.IsZero() && w.Taken.Sub(born) < justApplied {
		a.Waiting = true
	}
	return a
}

// beingDeleted examines an object that is being deleted.
func (w walker) beingDeleted(s said, o metav1.Object, since time.Time) *finding {
	a := w.waits(s, deletionUnderWay, s.at+" to be deleted", since)
	a.Type, a.Since = "Field", since
	if u, is := o.(*unstructured.Unstructured); is {
		for _, c := range conditionsOf(u) {
			if c.Status == metav1.ConditionTrue && c.Message != "" && ofDeletion.MatchString(c.Type) {
				a.Evidence = append(a.Evidence, redact.Line(c.Type+": "+reported(&c), maxEvidence))
			}
		}
	}
	for _, finalizer := range o.GetFinalizers() {
		a.Evidence = append(a.Evidence, "finalizer "+finalizer)
	}
	if w.Taken.Sub(since) < slowStatus {
		return a
	}
	a.Waiting, a.Cause, a.Says = false, "DeletionStays", s.at+" is being deleted since "+age(w.Taken.Sub(since))+", and something keeps it"
	a.Fix = "let what the evidence names finish: the owner of the finalizer, or the controller or API service that does not answer"
	a.Harm = "without the finalizer, what its owner still has to clean up stays"
	return a
}

// ofDeletion matches the conditions that report on a deletion.
var ofDeletion = regexp.MustCompile(`Delet|Terminat|Remain|Fail`)

// resourceSet examines a ClusterResourceSet: the resources that it could not apply, and whether this concerns this cluster.
func resourceSet(f walker, o *unstructured.Unstructured, asked bool) *finding {
	s := sourceOfObject(o)
	for _, c := range conditionsOf(o) {
		if c.Type != "ResourcesApplied" || c.Status != metav1.ConditionFalse {
			continue
		}
		a := s.unknown(c.Type, c.Reason, reported(&c), c.LastTransitionTime.Time)
		a.with(deprecated(o, c.Type))
		switch {
		case c.Reason == "WrongSecretType" && strings.Contains(c.Message, "ecret type"):
			a.Unknown, a.Cause = false, c.Reason
			a.Says = "a Secret of the set is not of the type addons.cluster.x-k8s.io/resource-set, so it is not applied"
			a.Fix = "make the Secret again, with that type: it cannot be changed"
			return a
		case !c.LastTransitionTime.IsZero() && f.Taken.Sub(c.LastTransitionTime.Time) < slowStatus:
			waiting := f.waits(s, c.Reason, s.at+": "+reported(&c), c.LastTransitionTime.Time)
			waiting.Type, waiting.Evidence = c.Type, a.Evidence
			return waiting
		}
		return a
	}
	if by := selectorOf(o, "clusterSelector"); asked && by != nil && !selects(by, f.Cluster.Labels) {
		none := f.selectsNone(s, "Cluster", by)
		return none.with("labels of Cluster/" + f.Cluster.Name + ": " + labels.Set(f.Cluster.Labels).String())
	}
	return nil
}

// applied reports whether the cluster's binding records that all resources of a ClusterResourceSet are applied to it.
func (w walker) applied(set string) bool {
	for _, binding := range w.Others["ClusterResourceSetBinding"] {
		sets, _, _ := unstructured.NestedSlice(binding.Object, "spec", "bindings")
		for _, b := range sets {
			fields, _ := b.(map[string]any)
			if fields["clusterResourceSetName"] != set {
				continue
			}
			resources, _, _ := unstructured.NestedSlice(fields, "resources")
			return len(resources) > 0 && !slices.ContainsFunc(resources, func(r any) bool {
				resource, _ := r.(map[string]any)
				return resource["applied"] != true
			})
		}
	}
	return false
}

// deprecated returns the message of a condition of Cluster API's previous version, which may contain the error where
// the current condition only reports that there is one.
func deprecated(o *unstructured.Unstructured, name string) string {
	old, _, _ := unstructured.NestedSlice(o.Object, "status", "deprecated", "v1beta1", "conditions")
	for _, c := range old {
		fields, _ := c.(map[string]any)
		if message, _ := fields["message"].(string); fields["type"] == name {
			return message
		}
	}
	return ""
}

// conditionsOf returns an object's conditions.
func conditionsOf(o *unstructured.Unstructured) (out []metav1.Condition) {
	all, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range all {
		fields, _ := c.(map[string]any)
		text := func(name string) string { t, _ := fields[name].(string); return t }
		at, _ := time.Parse(time.RFC3339, text("lastTransitionTime"))
		out = append(out, metav1.Condition{Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason"),
			Message: text("message"), LastTransitionTime: metav1.NewTime(at)})
	}
	return out
}

// named returns the object of a kind, a namespace and a name, or nil.
func (w walker) named(kind, namespace, name string) *unstructured.Unstructured {
	for i := range w.Others[kind] {
		if o := &w.Others[kind][i]; o.GetName() == name && o.GetNamespace() == namespace {
			return o
		}
	}
	return nil
}

// routes examines an Ingress that may have been applied before its class and services.
func routes(f walker, o *unstructured.Unstructured, asked bool) *finding {
	return f.applying(o, ingress(f, o, asked))
}

// ingress examines an Ingress: its class and the services of its backends.
func ingress(f walker, o *unstructured.Unstructured, _ bool) *finding {
	s := sourceOfObject(o)
	s.step = "network"
	class, _, _ := unstructured.NestedString(o.Object, "spec", "ingressClassName")
	classes := f.Others["IngressClass"]
	standard := slices.ContainsFunc(classes, func(c unstructured.Unstructured) bool {
		return c.GetAnnotations()["ingressclass.kubernetes.io/is-default-class"] == "true"
	})
	old := o.GetAnnotations()["kubernetes.io/ingress.class"]
	switch {
	case class != "" && f.named("IngressClass", "", class) == nil:
		return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "IngressClassMissing", Says: "the Ingress names a " +
			"class that does not exist",
			Evidence: []string{"spec.ingressClassName: " + class}, Fix: "name one of kubectl get ingressclasses, or install " +
				"the controller", Next: s.next}
	case class == "" && old == "" && !standard:
		return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "IngressClassMissing", Says: "the Ingress has no " +
			"class, and no class is the default",
			Evidence: []string{fmt.Sprintf("spec.ingressClassName is empty; %d classes, none of them the default", len(classes))},
			Fix:      "set spec.ingressClassName to one of kubectl get ingressclasses", Next: s.next}
	}
	for _, b := range backends(o.Object["spec"]) {
		at := slices.IndexFunc(f.Workloads.Services,
			func(svc corev1.Service) bool { return svc.Name == b.service && svc.Namespace == o.GetNamespace() })
		if at < 0 {
			return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "BackendMissing", Says: "a service that the Ingress " +
				"sends to does not exist",
				Evidence: []string{"backend.service.name: " + b.service}, Fix: "create the service, or correct the backend's name",
				Next: "kubectl get services -n " + o.GetNamespace()}
		}
		var ports []string
		for _, p := range f.Workloads.Services[at].Spec.Ports {
			ports = append(ports, fmt.Sprint(p.Port), p.Name)
		}
		if b.port != "" && !slices.Contains(ports, b.port) {
			return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "BackendPortUnknown", Says: "the Ingress sends to a " +
				"port that the service does not have",
				Evidence: []string{"backend.service: " + b.service + ", port " + b.port + "; the service has " +
					strings.Join(slices.DeleteFunc(ports, func(p string) bool { return p == "" }), ", ")},
				Fix: "correct the backend's port: it is the service's, and not the container's", Next: s.next}
		}
	}
	return nil
}

// backend is a service, with a port by number or name, that an Ingress forwards to.
type backend struct{ service, port string }

// backends returns the services in an Ingress's spec.
func backends(spec any) (all []backend) {
	switch v := spec.(type) {
	case map[string]any:
		if service, is := v["service"].(map[string]any); is {
			b := backend{}
			b.service, _ = service["name"].(string)
			port, _ := service["port"].(map[string]any)
			if b.port, is = port["name"].(string); !is && port["number"] != nil {
				b.port = fmt.Sprint(port["number"])
			}
			all = append(all, b)
		}
		for _, inner := range v {
			all = append(all, backends(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, backends(inner)...)
		}
	}
	slices.SortFunc(all, func(a, b backend) int { return cmp.Or(cmp.Compare(a.service, b.service), cmp.Compare(a.port, b.port)) })
	return slices.Compact(all)
}

// device examines a device claim that a user named: the pods that use it have the reason why it is not allocated.
func device(f walker, o *unstructured.Unstructured, asked bool) *finding {
	if _, allocated, _ := unstructured.NestedMap(o.Object, "status", "allocation"); allocated || !asked {
		return nil
	}
	for i := range f.Pods {
		p := &f.Pods[i]
		uses := func(c corev1.PodResourceClaim) bool {
			return c.ResourceClaimName != nil && *c.ResourceClaimName == o.GetName()
		}
		if p.Namespace == o.GetNamespace() && slices.ContainsFunc(p.Spec.ResourceClaims, uses) {
			if a := f.pod(p); a != nil {
				return a
			}
		}
	}
	a := f.waits(sourceOfObject(o), "NotAllocated", "a pod that uses the claim to be scheduled", o.GetCreationTimestamp().Time)
	a.Type, a.Evidence = "Field", []string{"status.allocation is empty"}
	return a
}

// autoscaler examines the conditions of an HPA; an HPA with no replicas to scale is disabled, which is no fault.
func autoscaler(f walker, o *unstructured.Unstructured, _ bool) *finding {
	s := sourceOfObject(o)
	for _, c := range conditionsOf(o) {
		if c.Status != metav1.ConditionFalse || c.Reason == "ScalingDisabled" || c.Type == "ScalingLimited" {
			continue
		}
		a := s.unknown(c.Type, c.Reason, reported(&c), c.LastTransitionTime.Time)
		switch c.Reason {
		case "FailedGetResourceMetric", "FailedGetPodsMetric", "FailedGetObjectMetric", "FailedGetExternalMetric",
			"FailedGetContainerResourceMetric":
			a.Unknown, a.Cause, a.Says = false, "MetricsMissing", "the autoscaler gets no metric, so it does not scale"
			a.Fix = "look at the metrics API (kubectl get apiservices) and at the pods' resource requests"
		case "FailedGetScale":
			a.Unknown, a.Cause, a.Says = false, "ScaleTargetMissing", "the object that the autoscaler scales cannot be read"
			a.Fix = "correct spec.scaleTargetRef"
		case "AmbiguousSelector": // this fault is never temporary
			a.Unknown, a.Cause, a.Says = false, c.Reason, "several autoscalers scale the same pods, so none of them does"
			a.Fix = "delete all but one, or give their targets selectors that share no pod"
			return a
		}
		if !c.LastTransitionTime.IsZero() && f.Taken.Sub(c.LastTransitionTime.Time) < slowStatus {
			return f.waits(s, c.Reason, s.at+": "+reported(&c), c.LastTransitionTime.Time)
		}
		return a
	}
	return nil
}

// cronJob examines a CronJob that a user named: a suspended one creates no Jobs.
func cronJob(f walker, o *unstructured.Unstructured, asked bool) *finding {
	s := sourceOfObject(o)
	suspended, _, _ := unstructured.NestedBool(o.Object, "spec", "suspend")
	if suspended && asked {
		return suspension(s, "the CronJob is suspended, so it makes no Jobs")
	}
	forbids, _, _ := unstructured.NestedString(o.Object, "spec", "concurrencyPolicy")
	for _, c := range f.controllers() {
		if ownedBy(c.meta, o.GetUID()) {
			if c.off && forbids == string(batchv1.ForbidConcurrent) {
				s.at = "Job/" + c.meta.Name
				a := suspension(s, "the CronJob's last Job is suspended, and no other one may run beside it")
				a.Evidence = append(a.Evidence, "spec.concurrencyPolicy of CronJob/"+o.GetName()+": Forbid")
				a.Next = "kubectl describe job " + c.meta.Name + " -n " + c.meta.Namespace
				return f.soon(a.since(c.meta.CreationTimestamp.Time), "the suspended "+s.at+" to be resumed")
			}
			if a := f.controller(&c); a != nil {
				return a
			}
			if a := f.ownedFault(c.meta.UID); a != nil {
				return a
			}
		}
	}
	if asked && forbids == string(batchv1.ForbidConcurrent) {
		return f.occupied(s, o)
	}
	return nil
}

// occupied returns the finding that a CronJob starts no run before its active Job has ended, or nil.
func (w walker) occupied(s said, o *unstructured.Unstructured) *finding {
	i := slices.IndexFunc(w.Workloads.Jobs, func(j batchv1.Job) bool { return ownedBy(&j, o.GetUID()) && j.Status.Active > 0 })
	if i < 0 {
		return nil
	}
	j := &w.Workloads.Jobs[i]
	a := w.waits(s, "JobActive", "Job/"+j.Name+", which runs, to end: no other one may run beside it", j.CreationTimestamp.Time)
	a.Type, a.Evidence = "Field", []string{"spec.concurrencyPolicy: Forbid"}
	return a
}

// suspension returns the finding for an object whose spec.suspend is true.
func suspension(s said, says string) *finding {
	return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "Suspended", Says: says, Evidence: []string{"spec.suspend: true"},
		Fix: "set spec.suspend to false", Harm: "whoever suspended it may have had a reason", Next: s.next}
}

// policy reports the pods that a NetworkPolicy isolates, for a policy that a user named; by itself this is no fault.
func policy(f walker, o *unstructured.Unstructured, asked bool) *finding {
	if !asked {
		return nil
	}
	s := sourceOfObject(o)
	types, _, _ := unstructured.NestedStringSlice(o.Object, "spec", "policyTypes")
	for _, direction := range types {
		rules, _, _ := unstructured.NestedSlice(o.Object, "spec", strings.ToLower(direction))
		if len(rules) > 0 {
			continue
		}
		chosen, _, _ := unstructured.NestedStringMap(o.Object, "spec", "podSelector", "matchLabels")
		return &finding{Step: "network", At: s.at, Type: "Field", Cause: "PolicyDeniesAll",
			Says:     "the policy lets nothing through (" + direction + ") to or from the pods that it selects, unless another policy does",
			Evidence: []string{fmt.Sprintf("spec.policyTypes: %v; spec.%s is empty; podSelector: %v", types, strings.ToLower(direction), chosen)},
			Fix:      "add a rule for what has to pass, if that is not what the policy is for", Next: s.next}
	}
	return nil
}

// selectorOf returns the label selector in a field of an object's spec: an empty one if the field is missing, nil if it
// cannot be read.
func selectorOf(o *unstructured.Unstructured, field string) *metav1.LabelSelector {
	selector, _, _ := unstructured.NestedMap(o.Object, "spec", field)
	by := &metav1.LabelSelector{}
	if runtime.DefaultUnstructuredConverter.FromUnstructured(selector, by) != nil {
		return nil
	}
	return by
}

// budget reports why a disruption budget permits no eviction, for a budget that a user named; by itself this is no fault.
func budget(f walker, o *unstructured.Unstructured, asked bool) *finding {
	number := func(field string) int64 { n, _, _ := unstructured.NestedInt64(o.Object, "status", field); return n }
	healthy, desired, expected := number("currentHealthy"), number("desiredHealthy"), number("expectedPods")
	s := sourceOfObject(o)
	if !asked {
		return nil
	}
	if second, pod := f.alsoOf(o); second != "" {
		return f.applying(o, &finding{Step: s.step, At: s.at, Type: "Field", Cause: "TwoBudgets", Reason: "TwoBudgets",
			Says:     "a pod of the budget is in another budget too, and such a pod cannot be evicted, so a drain of its node waits",
			Evidence: []string{"PodDisruptionBudget/" + second + " selects pod " + pod + " too"},
			Fix:      "delete one of the two budgets, or narrow its selector", Next: s.next})
	}
	switch {
	case number("disruptionsAllowed") > 0:
		return nil
	case expected == 0 && healthy == 0:
		by := selectorOf(o, "selector")
		if by == nil {
			return nil
		}
		return f.selectsNone(s, "pod", by)
	case expected == 0:
		return f.applying(o, &finding{Step: s.step, At: s.at, Type: "Field", Cause: "PodsUnmanaged", Reason: "InsufficientPods",
			Says:     "the budget selects pods that no controller with a scale owns, counts none of them, and lets none be evicted",
			Evidence: []string{fmt.Sprintf("status.expectedPods: 0, currentHealthy: %d", healthy)},
			Fix: "let a Deployment or StatefulSet make the pods, or give the budget minAvailable with a number, which counts pods without " +
				"a controller", Next: s.next})
	}
	a := &finding{Step: s.step, At: s.at, Type: "DisruptionAllowed", Cause: "EvictionBlocked", Reason: "InsufficientPods",
		Says:     "the budget lets no pod be evicted, so a drain of its node waits",
		Evidence: []string{fmt.Sprintf("status.currentHealthy: %d, desiredHealthy: %d, expectedPods: %d", healthy, desired, expected)},
		Fix:      "find out why not all of its pods are healthy", Next: s.next}
	if desired >= expected {
		a.Says = "the budget asks for as many healthy pods as there are, so it never lets one be evicted, and a drain of its node waits"
		a.Fix = "raise the replicas of what the budget selects, or lower spec.minAvailable, or raise spec.maxUnavailable"
		return a
	}
	for _, c := range conditionsOf(o) {
		if c.Type == a.Type {
			a.Since = c.LastTransitionTime.Time
		}
	}
	return f.soon(a, "pods of the budget to become healthy")
}

// alsoOf returns another budget that selects a pod of a budget, and the pod; "" if there is none.
func (w walker) alsoOf(o *unstructured.Unstructured) (second, pod string) {
	by := selectorOf(o, "selector")
	if by == nil {
		return "", ""
	}
	in := slices.DeleteFunc(slices.Clone(w.Pods), func(p corev1.Pod) bool {
		return p.Namespace != o.GetNamespace() || !selects(by, p.Labels)
	})
	budgets := w.Others[o.GetKind()]
	for i := range budgets {
		other := &budgets[i]
		too := selectorOf(other, "selector")
		if too == nil || other.GetNamespace() != o.GetNamespace() || other.GetName() == o.GetName() {
			continue
		}
		if n := slices.IndexFunc(in, func(p corev1.Pod) bool { return selects(too, p.Labels) }); n >= 0 {
			return other.GetName(), in[n].Name
		}
	}
	return "", ""
}

// signing examines a certificate request that has been neither approved nor denied.
func signing(f walker, o *unstructured.Unstructured, _ bool) *finding {
	since := o.GetCreationTimestamp().Time
	certificate, _, _ := unstructured.NestedString(o.Object, "status", "certificate")
	if certificate != "" || len(conditionsOf(o)) > 0 || since.IsZero() {
		return nil
	}
	s := sourceOfObject(o)
	signer, _, _ := unstructured.NestedString(o.Object, "spec", "signerName")
	user, _, _ := unstructured.NestedString(o.Object, "spec", "username")
	a := &finding{Step: s.step, At: s.at, Type: "Field", Cause: "CSRPending", Since: since,
		Says:     "the certificate request is neither approved nor denied; whoever made it has no certificate yet",
		Evidence: []string{fmt.Sprintf("spec.signerName: %s, spec.username: %s; status has no condition", signer, user)},
		Fix:      "kubectl certificate approve " + o.GetName() + ", or run what approves requests of this signer",
		Harm:     "whoever made the request gets a certificate for what it asks for: look at its names first",
		Next:     s.next}
	return f.soon(a, "the certificate request to be approved")
}

// persistentVolume examines a volume that has failed, or that no claim can get any more.
func persistentVolume(f walker, o *unstructured.Unstructured, asked bool) *finding {
	s := sourceOfObject(o)
	s.step, s.kind = "volume", cause.Volume
	phase, _, _ := unstructured.NestedString(o.Object, "status", "phase")
	reason, _, _ := unstructured.NestedString(o.Object, "status", "message")
	claim, _, _ := unstructured.NestedString(o.Object, "spec", "claimRef", "name")
	within, _, _ := unstructured.NestedString(o.Object, "spec", "claimRef", "namespace")
	waits := slices.ContainsFunc(f.Workloads.Claims, func(c corev1.PersistentVolumeClaim) bool {
		return c.Namespace == within && c.Name == claim && c.Status.Phase == corev1.ClaimPending
	})
	switch {
	case phase == string(corev1.VolumeFailed):
		return s.unknown("Field", "Failed", "status.phase: Failed; "+reason, time.Time{})
	case phase == string(corev1.VolumeReleased) && (asked || waits):
		return &finding{Step: s.step, At: s.at, Type: "Field", Cause: "VolumeReleased",
			Says:     "the volume is kept for a claim that was deleted, so no other claim gets it",
			Evidence: []string{"status.phase: Released; spec.claimRef: " + within + "/" + claim},
			Fix:      "kubectl patch pv " + o.GetName() + ` --type merge -p '{"spec":{"claimRef":null}}'`,
			Harm:     "any claim that fits may then bind the volume, and read the data that the deleted claim left", Next: s.next}
	}
	return nil
}
