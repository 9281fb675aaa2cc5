package kubelet

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// library is an API server with a ConfigMap and a Secret named settings, and a ConfigMap that may
// be read only from the third request on.
type library struct{ requests int }

func (l *library) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/services/") { // the API server's own Service, which is requested until it exists
		l.requests++
	}
	code, body := http.StatusNotFound, `{"kind":"Status","apiVersion":"v1","status":"Failure",`+
		`"reason":"NotFound","message":"configmaps \"none\" not found","code":404}`
	switch r.URL.Path {
	case "/api/v1/namespaces/default/configmaps/settings":
		code, body = http.StatusOK, `{"kind":"ConfigMap","apiVersion":"v1","data":{"mode":"fast"}}`
	case "/api/v1/namespaces/default/configmaps/late":
		if code, body = http.StatusOK, `{"kind":"ConfigMap","apiVersion":"v1","data":{"mode":"slow"}}`; l.requests < 3 {
			code, body = http.StatusForbidden, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}`
		}
	case "/api/v1/namespaces/default/secrets/settings":
		code, body = http.StatusOK, `{"kind":"Secret","apiVersion":"v1","data":{"word":"b3Blbg=="}}`
	}
	return &http.Response{StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body))}, nil
}

// libraryBench returns a bench whose API server is a library.
func libraryBench(t *testing.T, server *library) *bench {
	t.Helper()
	core, err := corev1client.NewForConfig(&rest.Config{Host: "https://api", QPS: -1, Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	b.api = &client{core: core}
	return b
}

func TestEnvironment(t *testing.T) {
	ref := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	configKey := func(name, key string, optional bool) []corev1.EnvVar {
		return []corev1.EnvVar{{Name: "V", ValueFrom: &corev1.EnvVarSource{
			ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: ref(name), Key: key, Optional: &optional},
		}}}
	}
	for name, test := range map[string]struct {
		spec   corev1.Container
		want   map[string]string
		reason string
	}{
		"plain": {corev1.Container{Env: []corev1.EnvVar{{Name: "V", Value: "1"}}}, map[string]string{"V": "1"}, ""},
		"a field": {corev1.Container{Env: []corev1.EnvVar{{
			Name:      "V",
			ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}},
		}}}, map[string]string{"V": "web"}, ""},
		"a ConfigMap": {corev1.Container{EnvFrom: []corev1.EnvFromSource{
			{Prefix: "P_", ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("settings")}},
		}}, map[string]string{"P_mode": "fast"}, ""},
		"a Secret": {corev1.Container{EnvFrom: []corev1.EnvFromSource{
			{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: ref("settings")}},
		}}, map[string]string{"word": "open"}, ""},
		"a ConfigMap that may be read a moment later": {corev1.Container{Env: configKey("late", "mode", false)},
			map[string]string{"V": "slow"}, ""},
		"a key": {corev1.Container{Env: configKey("settings", "mode", false)}, map[string]string{"V": "fast"}, ""},
		"no such key": {corev1.Container{Env: configKey("settings", "speed", false)}, nil,
			"couldn't find key speed in ConfigMap default/settings"},
		"left out":      {corev1.Container{Env: configKey("settings", "speed", true)}, map[string]string{}, ""},
		"no ConfigMap":  {corev1.Container{Env: configKey("none", "mode", false)}, nil, `configmap "none" not found`},
		"none, allowed": {corev1.Container{Env: configKey("none", "mode", true)}, map[string]string{}, ""},
		"none at all": {corev1.Container{EnvFrom: []corev1.EnvFromSource{
			{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: ref("none")}},
		}}, nil, `configmap "none" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			b := libraryBench(t, &library{})
			pod := webPod(0)
			test.spec.Name, test.spec.Image = "iis", "example.com/web"
			pod.Spec.Containers[0] = test.spec
			w := newWorker(b.kubelet(t), pod)
			w.sandbox.ready = true
			w.runContainers(t.Context(), pod)
			c := w.containers[0]
			if test.reason != "" {
				if c.run != nil || c.waiting.Reason != "CreateContainerConfigError" || c.waiting.Message != test.reason {
					t.Errorf("it waits for %+v, want %q", c.waiting, test.reason)
				}
				return
			}
			if diff := cmp.Diff(test.want, c.environment()); diff != "" || c.run == nil {
				t.Errorf("it runs: %v; environment (-want +got):\n%s", c.run != nil, diff)
			}
		})
	}
}

// TestSourcesAreReadOnce: variables of a pod's containers that refer to one ConfigMap need one
// request.
func TestSourcesAreReadOnce(t *testing.T) {
	server := &library{}
	b := libraryBench(t, server)
	pod := webPod(0)
	mode := corev1.EnvVar{Name: "MODE", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}, Key: "mode"}}}
	again := mode
	again.Name = "AGAIN"
	w := newWorker(b.kubelet(t), pod)
	for range 2 {
		vars, err := w.environment(t.Context(), &corev1.Container{Env: []corev1.EnvVar{mode, again}})
		if err != nil || vars["MODE"] != "fast" || vars["AGAIN"] != "fast" {
			t.Fatalf("the environment is %v, error %v", vars, err)
		}
	}
	if server.requests != 1 {
		t.Errorf("%d requests, want 1", server.requests)
	}
	w.sources.at = w.sources.at.Add(-2 * sourceAge)
	if _, err := w.environment(t.Context(), &corev1.Container{Env: []corev1.EnvVar{mode}}); err != nil || server.requests != 2 {
		t.Errorf("after a while: %d requests, error %v", server.requests, err)
	}
}
