package stub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"
)

// admission returns the webhook with an API server that has two credential specs: webapp1, which
// the service account shop/web may use, and one without contents.
func admission(t testing.TB) *gmsaAdmission {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/localsubjectaccessreviews"):
			var review authorizationv1.LocalSubjectAccessReview
			if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			at := review.Spec.ResourceAttributes
			review.Status.Allowed = review.Spec.User == "system:serviceaccount:shop:web" && at.Verb == "use" &&
				at.Resource == "gmsacredentialspecs" && at.Group == "windows.k8s.io"
			_ = json.NewEncoder(w).Encode(review)
		case strings.HasSuffix(r.URL.Path, "/gmsacredentialspecs/webapp1"):
			fmt.Fprint(w, `{"credspec": {"CmsPlugins": ["ActiveDirectory"]}}`)
		case strings.HasSuffix(r.URL.Path, "/gmsacredentialspecs/empty"):
			fmt.Fprint(w, `{"metadata": {"name": "empty"}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
				Status: metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		}
	}))
	t.Cleanup(server.Close)
	client, err := authorizationclient.NewForConfig(&rest.Config{Host: server.URL,
		ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	return &gmsaAdmission{client: client, env: Env{Out: io.Discard}}
}

// gmsaPod returns a pod with Windows options for itself and for its first container.
func gmsaPod(account string, own, container *corev1.WindowsSecurityContextOptions) *corev1.Pod {
	p := &corev1.Pod{Spec: corev1.PodSpec{ServiceAccountName: account, Containers: []corev1.Container{{Name: "c"}}}}
	if own != nil {
		p.Spec.SecurityContext = &corev1.PodSecurityContext{WindowsOptions: own}
	}
	if container != nil {
		p.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{WindowsOptions: container}
	}
	return p
}

func options(name, contents string) *corev1.WindowsSecurityContextOptions {
	o := &corev1.WindowsSecurityContextOptions{}
	if name != "" {
		o.GMSACredentialSpecName = &name
	}
	if contents != "" {
		o.GMSACredentialSpec = &contents
	}
	return o
}

// TestGMSAAdmission: the webhook's answers to pods, before and after the contents of their
// credential spec are filled in.
func TestGMSAAdmission(t *testing.T) {
	const contents = `{"CmsPlugins": ["ActiveDirectory"]}`
	for name, tc := range map[string]struct {
		path     string
		now, old *corev1.Pod
		// patch is a part of the expected patch, refused a part of the refusal's message; "" for
		// none.
		patch, refused string
	}{
		"no options": {path: "/mutate", now: gmsaPod("web", nil, nil)},
		"contents of a pod": {path: "/mutate", now: gmsaPod("web", options("webapp1", ""), nil),
			patch: `"/spec/securityContext/windowsOptions/gmsaCredentialSpec"`},
		"of a container": {path: "/mutate", now: gmsaPod("web", nil, options("webapp1", "")),
			patch: `"/spec/containers/0/securityContext/windowsOptions/gmsaCredentialSpec"`},
		"contents are there": {path: "/mutate", now: gmsaPod("web", options("webapp1", contents), nil)},
		"no such spec":       {path: "/mutate", now: gmsaPod("web", options("none", ""), nil), refused: "cred spec none does not exist"},
		"an empty spec": {path: "/mutate", now: gmsaPod("web", options("empty", ""), nil),
			refused: "cred spec empty does not have a credspec key"},
		"may use":      {path: "/validate", now: gmsaPod("web", options("webapp1", contents), nil)},
		"other spaces": {path: "/validate", now: gmsaPod("web", options("webapp1", `{ "CmsPlugins":["ActiveDirectory"] }`), nil)},
		"may not use": {path: "/validate", now: gmsaPod("else", options("webapp1", contents), nil),
			refused: `service account "else" is not authorized to ` + "`use`" + ` GMSA cred spec "webapp1"`},
		"the default account": {path: "/validate", now: gmsaPod("", options("webapp1", contents), nil),
			refused: `service account "default"`},
		"other contents": {path: "/validate", now: gmsaPod("web", options("webapp1", `{"CmsPlugins": []}`), nil),
			refused: "is not what the GMSACredentialSpec webapp1 has"},
		"contents without a name": {path: "/validate", now: gmsaPod("web", nil, options("", contents)),
			refused: "has gmsaCredentialSpec without gmsaCredentialSpecName"},
		"an update": {path: "/validate", now: gmsaPod("else", options("webapp1", contents), nil),
			old: gmsaPod("else", options("webapp1", contents), nil)},
		"an update of the identity": {path: "/validate", now: gmsaPod("web", options("webapp1", contents), nil),
			old: gmsaPod("web", nil, nil), refused: "cannot update an existing pod's GMSA settings"},
	} {
		t.Run(name, func(t *testing.T) {
			w := admission(t)
			request := &admissionv1.AdmissionRequest{
				UID: "u", Namespace: "shop", Name: "p", Operation: admissionv1.Create, Object: raw(t, tc.now),
			}
			if tc.old != nil {
				request.Operation, request.OldObject = admissionv1.Update, raw(t, tc.old)
			}
			body, err := json.Marshal(admissionv1.AdmissionReview{Request: request})
			if err != nil {
				t.Fatal(err)
			}
			answer := httptest.NewRecorder()
			w.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, tc.path, bytes.NewReader(body)))
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &review); err != nil || review.Response.UID != "u" {
				t.Fatalf("%s, %v", answer.Body, err)
			}
			said := ""
			if review.Response.Result != nil {
				said = review.Response.Result.Message
			}
			if review.Response.Allowed != (tc.refused == "") || !strings.Contains(said, tc.refused) {
				t.Errorf("allowed %v: %q, want %q", review.Response.Allowed, said, tc.refused)
			}
			if patch := string(review.Response.Patch); !strings.Contains(patch, tc.patch) || (patch == "") != (tc.patch == "") {
				t.Errorf("patch %q, want %q", patch, tc.patch)
			}
		})
	}
}

func raw(t *testing.T, p *corev1.Pod) runtime.RawExtension {
	t.Helper()
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return runtime.RawExtension{Raw: data}
}

// TestGMSAPaths: a body that is no review is refused, and the health endpoint answers.
func TestGMSAPaths(t *testing.T) {
	for at, want := range map[string]int{"/health": http.StatusNoContent, "/mutate": http.StatusBadRequest,
		"/validate": http.StatusBadRequest, "/": 404} {
		answer := httptest.NewRecorder()
		admission(t).ServeHTTP(answer, httptest.NewRequest(http.MethodPost, at, strings.NewReader("{")))
		if answer.Code != want {
			t.Errorf("%s: %d, want %d", at, answer.Code, want)
		}
	}
}

// FuzzGMSAReview: the webhook answers any request body.
func FuzzGMSAReview(f *testing.F) {
	f.Add([]byte(`{"request": {"uid": "u", "operation": "CREATE", "object": {"spec": {"containers": [{"name": "c"}]}}}}`))
	f.Add([]byte(`{"request": {"object": []}}`))
	f.Add([]byte(`{"request": {"operation": "UPDATE"}}`))
	w := admission(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		answer := httptest.NewRecorder()
		w.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/mutate", bytes.NewReader(body)))
		if answer.Code != http.StatusOK && answer.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", body, answer.Code)
		}
	})
}
