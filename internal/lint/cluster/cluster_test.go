package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/lint/rules"
	"casement.dev/casement/internal/testing/kubetest"
)

var shared *rest.Config

func TestMain(m *testing.M) {
	os.Exit(kubetest.Main(m, func(plane *kubeproc.Plane) error {
		shared = plane.Config()
		return nil
	}))
}

func client(t *testing.T) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(shared)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// namespace creates a namespace, and deletes it with its objects at the end of the test.
func namespace(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	c := client(t).CoreV1().Namespaces()
	if _, err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func spec(change func(*corev1.PodSpec)) corev1.PodSpec {
	s := corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "contoso.example/app:1"}}}
	if change != nil {
		change(&s)
	}
	return s
}

func template(change func(*corev1.PodSpec)) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}}, Spec: spec(change)}
}

var selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "x"}}

func onWindows(s *corev1.PodSpec) { s.NodeSelector = map[string]string{lint.LabelOS: "windows"} }

// found returns the findings of some rules, as rule and object.
func found(contents Contents, ids ...string) []string {
	var out []string
	for _, f := range lint.Run(contents.Set, rules.All(), lint.Target{}) {
		if slices.Contains(ids, f.Rule) {
			out = append(out, f.Rule+" "+f.Object)
		}
	}
	return out
}

// pages is a transport that counts the items in each list response, and can let continue tokens expire.
type pages struct {
	mu    sync.Mutex
	sizes map[string][]int
	// expire is the number of further continued lists that are answered with an expired token; renew adds a new token
	// to the answer.
	expire int
	renew  bool
	next   http.RoundTripper
}

func (p *pages) RoundTrip(r *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	token := r.URL.Query().Get("continue")
	if token != "" && p.expire > 0 {
		p.expire--
		gone := apierrors.NewResourceExpired("The provided continue parameter is too old to display a consistent list result.").ErrStatus
		gone.APIVersion, gone.Kind = "v1", "Status"
		if p.renew {
			gone.Continue = token
		}
		data, err := json.Marshal(gone)
		if err != nil {
			return nil, err
		}
		return &http.Response{
			StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {"application/json"}},
			Body: io.NopCloser(strings.NewReader(string(data))), Request: r,
		}, nil
	}
	answer, err := p.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body.Close()
	var list struct{ Items []json.RawMessage }
	if json.Unmarshal(data, &list) == nil {
		p.sizes[r.URL.Path] = append(p.sizes[r.URL.Path], len(list.Items))
	}
	answer.Body = io.NopCloser(strings.NewReader(string(data)))
	return answer, nil
}

func (p *pages) config() *rest.Config {
	cfg := rest.CopyConfig(shared)
	p.sizes = map[string][]int{}
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { p.next = next; return p })
	return cfg
}

// TestPages: more objects than fit on one page are read, each once, whatever tokens expire.
func TestPages(t *testing.T) {
	const count = 1250
	namespace(t, "many", nil)
	work := make(chan int)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range work {
				d := &appsv1.Deployment{
					ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("d%04d", i)},
					Spec:       appsv1.DeploymentSpec{Replicas: new(int32(0)), Selector: selector, Template: template(onWindows)},
				}
				if _, err := client(t).AppsV1().Deployments("many").Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range count {
		work <- i
	}
	close(work)
	all.Wait()
	for name, p := range map[string]*pages{
		"no token expires":         {},
		"a token with a successor": {expire: 2, renew: true},
		"a token without one":      {expire: 1},
	} {
		t.Run(name, func(t *testing.T) {
			contents, err := Read(t.Context(), p.config(), Options{Namespace: "many"})
			if err != nil || len(contents.Unread) > 0 {
				t.Fatal(err, contents.Unread)
			}
			if got := len(contents.Set.Kind("Deployment")); got != count {
				t.Errorf("%d deployments, not %d", got, count)
			}
			if got := len(found(contents, "WIN002")); got != count {
				t.Errorf("%d findings, not %d", got, count)
			}
			if sizes := p.sizes["/apis/apps/v1/namespaces/many/deployments"]; len(sizes) < 3 || slices.Max(sizes) > pageSize {
				t.Errorf("pages of %v", sizes)
			}
		})
	}
	t.Run("tokens that never last", func(t *testing.T) {
		contents, err := Read(t.Context(), (&pages{expire: 1 << 20}).config(), Options{Namespace: "many"})
		if err != nil || len(contents.Unread) != 1 || !strings.Contains(contents.Unread[0].Error(), "deployments.apps") {
			t.Fatal(err, contents.Unread)
		}
	})
}

// TestOwners: findings about an object with an owner are reported for the owner, and for the object itself only if no
// owner was read.
func TestOwners(t *testing.T) {
	namespace(t, "owned", nil)
	c := client(t)
	d, err := c.AppsV1().Deployments("owned").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: appsv1.DeploymentSpec{Selector: selector, Template: template(onWindows)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rs, err := c.AppsV1().ReplicaSets("owned").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web-1", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment")),
		}},
		Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template(onWindows)},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ofReplicaSet := metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))
	elsewhere := &metav1.OwnerReference{APIVersion: "example.org/v1", Kind: "Game", Name: "g",
		UID: "f0000000-0000-0000-0000-000000000000", Controller: new(true)}
	for name, owner := range map[string]*metav1.OwnerReference{"web-1-a": ofReplicaSet, "game": elsewhere, "alone": nil} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec(onWindows)}
		pod.Spec.AutomountServiceAccountToken = new(false)
		if owner != nil {
			pod.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		pods(t, "owned", pod)
	}
	// The garbage collector may delete a pod with a missing owner at any time.
	contents, err := Read(t.Context(), shared, Options{Namespace: "owned"})
	if err != nil || len(contents.Unread) > 0 {
		t.Fatal(err, contents.Unread)
	}
	got := slices.DeleteFunc(found(contents, "WIN002"), func(s string) bool { return s == "WIN002 Pod/owned/game" })
	if want := []string{"WIN002 Deployment/owned/web", "WIN002 Pod/owned/alone"}; !slices.Equal(got, want) {
		t.Errorf("found %v, not %v", got, want)
	}
}

// pods creates pods once their service account exists.
func pods(t *testing.T, namespace string, all ...*corev1.Pod) {
	t.Helper()
	c := client(t)
	_, err := c.CoreV1().ServiceAccounts(namespace).Create(t.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "lint"}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for _, pod := range all {
		pod.Spec.ServiceAccountName = "lint"
		if _, err := c.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

// TestFacts: a RuntimeClass, a namespace and nodes have the same effect on a pod as in files, and the cluster's version
// and releases are read.
func TestFacts(t *testing.T) {
	c := client(t)
	namespace(t, "strict", map[string]string{"pod-security.kubernetes.io/enforce": "privileged"})
	class := &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "windows"}, Handler: "runhcs-wcow-process",
		Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{lint.LabelOS: "windows"}}}
	if _, err := c.NodeV1().RuntimeClasses().Create(t.Context(), class, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	taint := corev1.Taint{Key: "os", Value: "windows", Effect: corev1.TaintEffectNoSchedule}
	busy := corev1.Taint{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule}
	for name, n := range map[string]corev1.Node{
		"w1": {ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{lint.LabelOS: "windows", lint.LabelWindowsBuild: "10.0.20348"},
		}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{taint, busy}}},
		"w2": {ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{lint.LabelOS: "windows", lint.LabelWindowsBuild: "10.0.26100"},
		}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{busy, taint, {Key: "own", Effect: "NoExecute"}}}},
		"l1": {ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{lint.LabelOS: "linux"}}},
	} {
		n.Name = name
		if _, err := c.CoreV1().Nodes().Create(t.Context(), &n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, name := range []string{"w1", "w2", "l1"} {
			if err := c.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		}
		if err := c.NodeV1().RuntimeClasses().Delete(context.Background(), "windows", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	plain := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "plain"}, Spec: spec(nil)}
	bound := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "bound"}, Spec: spec(func(s *corev1.PodSpec) { s.NodeName = "w1" })}
	classed := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "classed"},
		Spec: spec(func(s *corev1.PodSpec) { s.RuntimeClassName = new("windows") })}
	pods(t, "strict", plain, bound, classed)
	label := []byte(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}}`)
	if _, err := c.CoreV1().Namespaces().Patch(t.Context(), "strict", "application/merge-patch+json", label,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	contents, err := Read(t.Context(), shared, Options{})
	if err != nil || len(contents.Unread) > 0 {
		t.Fatal(err, contents.Unread)
	}
	want := []string{"WIN514 Pod/strict/bound", "WIN514 Pod/strict/classed"}
	if got := found(contents, "WIN514"); !slices.Equal(slices.Compact(got), want) {
		t.Errorf("found %v, not %v", got, want)
	}
	target, err := contents.Facts.Complete(lint.Config{}).Resolve()
	if err != nil || target.Minor != 37 || !target.Mixed ||
		!slices.Equal(target.Windows, []string{"2022", "2025"}) ||
		!slices.Equal(target.Taints, []lint.Taint{{Key: "os", Value: "windows", Effect: "NoSchedule"}}) {
		t.Errorf("%+v, %v", target, err)
	}
	if c := contents.Facts.Complete(lint.Config{
		KubernetesVersion: "1.34", Target: lint.Target{Windows: []string{"2019"}},
	}); c.KubernetesVersion != "1.34" || !slices.Equal(c.Windows, []string{"2019"}) {
		t.Errorf("what was said is gone: %+v", c)
	}
}

// TestRights: the documented role is sufficient, and without one of its rules the other kinds are still read.
func TestRights(t *testing.T) {
	c := client(t)
	data, err := os.ReadFile("../../../config/lint/reader.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var whole rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict(data, &whole); err != nil {
		t.Fatal(err)
	}
	lame := whole.DeepCopy()
	lame.Name = "lame"
	for i := range lame.Rules {
		lame.Rules[i].Resources = slices.DeleteFunc(lame.Rules[i].Resources,
			func(r string) bool { return r == "deployments" || r == "nodes" })
	}
	namespace(t, "rights", nil)
	pods(t, "rights", &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "alone"}, Spec: spec(onWindows)})
	for _, role := range []*rbacv1.ClusterRole{&whole, lame} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.Name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: role.Name}},
		}
		if _, err := c.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	as := func(user string) Contents {
		cfg := rest.CopyConfig(shared)
		cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
		contents, err := Read(t.Context(), cfg, Options{Namespace: "rights"})
		if err != nil {
			t.Fatal(err)
		}
		return contents
	}
	if contents := as(whole.Name); len(contents.Unread) > 0 || len(found(contents, "WIN002")) != 1 {
		t.Errorf("not read: %v", contents.Unread)
	}
	contents := as("lame")
	if len(contents.Unread) != 2 || len(found(contents, "WIN002")) != 1 {
		t.Fatalf("not read: %v, found %v", contents.Unread, found(contents, "WIN002"))
	}
	for i, name := range []string{"nodes: ", "deployments.apps: "} {
		if text := contents.Unread[i].Error(); !strings.HasPrefix(text, name) || !strings.Contains(text, "forbidden") {
			t.Errorf("%q does not name %s", text, name)
		}
	}
}

// TestBrokenAPI: an aggregated API without a server is reported if it may have kinds that lint reads, and ignored
// otherwise.
func TestBrokenAPI(t *testing.T) {
	dynamic, err := dynamic.NewForConfig(shared)
	if err != nil {
		t.Fatal(err)
	}
	services := dynamic.Resource(schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"})
	for _, group := range []string{"metrics.example.org", "ipam.cluster.x-k8s.io"} {
		service := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1." + group},
			"spec": map[string]any{
				"group": group, "version": "v1", "groupPriorityMinimum": int64(100), "versionPriority": int64(1),
				"insecureSkipTLSVerify": true, "service": map[string]any{"namespace": "default", "name": "absent"},
			},
		}}
		if _, err := services.Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := services.Delete(context.Background(), "v1."+group, metav1.DeleteOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
	var contents Contents
	for range 100 { // until the API server uses both
		if contents, err = Read(t.Context(), shared, Options{Namespace: "default"}); err != nil || len(contents.Unread) > 0 {
			break
		}
	}
	if err != nil || len(contents.Unread) != 1 || !strings.HasPrefix(contents.Unread[0].Error(), "ipam.cluster.x-k8s.io/v1: ") {
		t.Errorf("%v, not read: %v", err, contents.Unread)
	}
}

// TestAbsent: a kind that is not served is reported and the others are read; a missing namespace is also reported. A
// server that does not respond is an error.
func TestAbsent(t *testing.T) {
	contents, err := Read(t.Context(), shared, Options{
		Namespace: "nowhere", Set: lint.Options{Templates: map[string][]string{"Rollout": {"spec", "template"}}},
	})
	if err != nil || len(contents.Unread) != 2 || !strings.Contains(contents.Unread[0].Error(), "Rollout") ||
		!strings.Contains(contents.Unread[1].Error(), "nowhere") {
		t.Errorf("%v, not read: %v", err, contents.Unread)
	}
	if _, err := Read(t.Context(), &rest.Config{Host: "http://127.0.0.1:1"}, Options{}); err == nil {
		t.Error("no server listens, and no error")
	}
}
