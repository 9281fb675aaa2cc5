package stub

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
)

// gmsaWebhook runs a stub of the admission webhook of kubernetes-sigs/windows-gmsa: it writes the
// contents of credential specs into pods that name them, and refuses pods whose service account may
// not use the spec.
func (c *Cluster) gmsaWebhook(ctx context.Context, env Env) error {
	pair, err := env.servingPair(ctx)
	if err != nil {
		return err
	}
	config, err := env.Config(ctx)
	if err != nil {
		return err
	}
	client, err := authorizationclient.NewForConfig(config)
	if err != nil {
		return err
	}
	w := &gmsaAdmission{client: client, env: env}
	if env.Handle != nil {
		for _, p := range env.Container.Ports {
			env.Handle(p.ContainerPort, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}, w)
		}
	}
	<-ctx.Done()
	return nil
}

// servingPair returns the certificate that TLS_CRT and TLS_KEY name, from the mounted Secret.
func (e Env) servingPair(ctx context.Context) (pair tls.Certificate, err error) {
	config, err := e.NodeConfig(ctx)
	if err != nil {
		return pair, err
	}
	client, err := corev1client.NewForConfig(config)
	if err != nil {
		return pair, err
	}
	read := func(name string) ([]byte, error) {
		file := e.Vars[name]
		mount := slices.IndexFunc(e.Container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == path.Dir(file) })
		if file == "" || mount < 0 {
			return nil, fmt.Errorf("%s=%q is no file of a volume of the container", name, file)
		}
		for _, v := range e.Pod.Spec.Volumes {
			if v.Name != e.Container.VolumeMounts[mount].Name || v.Secret == nil {
				continue
			}
			key := path.Base(file)
			for _, item := range v.Secret.Items {
				if item.Path == key {
					key = item.Key
					break
				}
			}
			secret, err := client.Secrets(e.Pod.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			return secret.Data[key], nil
		}
		return nil, fmt.Errorf("%s=%q is in no Secret", name, file)
	}
	cert, err := read("TLS_CRT")
	if err != nil {
		return pair, err
	}
	key, err := read("TLS_KEY")
	if err != nil {
		return pair, err
	}
	return tls.X509KeyPair(cert, key)
}

// gmsaAdmission answers the admission reviews of the webhook.
type gmsaAdmission struct {
	client authorizationclient.AuthorizationV1Interface
	env    Env
}

// maxReview is the largest size of a review, 8 MiB.
const maxReview = 8 << 20

// ServeHTTP implements http.Handler.
func (g *gmsaAdmission) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/health":
		rw.WriteHeader(http.StatusNoContent)
		return
	case "/mutate", "/validate":
	default:
		http.NotFound(rw, r)
		return
	}
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(io.LimitReader(r.Body, maxReview)).Decode(&review); err != nil || review.Request == nil {
		http.Error(rw, "the request is no AdmissionReview", http.StatusBadRequest)
		return
	}
	response, err := g.review(r.Context(), review.Request, r.URL.Path == "/mutate")
	if err != nil {
		response = &admissionv1.AdmissionResponse{
			Result: &metav1.Status{Status: metav1.StatusFailure, Message: err.Error(), Code: http.StatusForbidden},
		}
		g.env.printf("%s/%s is refused: %v", review.Request.Namespace, review.Request.Name, err)
	}
	response.UID = review.Request.UID
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(admissionv1.AdmissionReview{TypeMeta: review.TypeMeta, Response: response})
}

// gmsaOptions returns the Windows options of a pod and of its containers, by JSON pointer.
func gmsaOptions(pod *corev1.Pod) map[string]*corev1.WindowsSecurityContextOptions {
	out := map[string]*corev1.WindowsSecurityContextOptions{}
	if s := pod.Spec.SecurityContext; s != nil && s.WindowsOptions != nil {
		out["/spec/securityContext/windowsOptions"] = s.WindowsOptions
	}
	for i, c := range pod.Spec.Containers {
		if s := c.SecurityContext; s != nil && s.WindowsOptions != nil {
			out[fmt.Sprintf("/spec/containers/%d/securityContext/windowsOptions", i)] = s.WindowsOptions
		}
	}
	return out
}

func (g *gmsaAdmission) review(ctx context.Context, r *admissionv1.AdmissionRequest, mutate bool) (*admissionv1.AdmissionResponse, error) {
	var pod, old corev1.Pod
	if err := json.Unmarshal(r.Object.Raw, &pod); err != nil {
		return nil, fmt.Errorf("the object is no Pod: %w", err)
	}
	allowed := &admissionv1.AdmissionResponse{Allowed: true}
	if r.Operation == admissionv1.Update {
		if err := json.Unmarshal(r.OldObject.Raw, &old); err != nil {
			return nil, fmt.Errorf("the old object is no Pod: %w", err)
		}
		return allowed, unchangedGMSA(gmsaOptions(&pod), gmsaOptions(&old))
	}
	type patch struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value"`
	}
	var patches []patch
	for at, o := range gmsaOptions(&pod) {
		switch {
		case o.GMSACredentialSpecName == nil && o.GMSACredentialSpec != nil && !mutate:
			return nil, fmt.Errorf("%s has gmsaCredentialSpec without gmsaCredentialSpecName", at)
		case o.GMSACredentialSpecName == nil:
			continue
		}
		if !mutate {
			if err := g.mayUse(ctx, r.Namespace, pod.Spec.ServiceAccountName, *o.GMSACredentialSpecName); err != nil {
				return nil, err
			}
		}
		contents, err := g.contents(ctx, *o.GMSACredentialSpecName)
		if err != nil {
			return nil, err
		}
		switch {
		case mutate && o.GMSACredentialSpec == nil:
			patches = append(patches, patch{"add", at + "/gmsaCredentialSpec", contents})
		case !mutate && o.GMSACredentialSpec != nil && !sameJSON(*o.GMSACredentialSpec, contents):
			return nil, fmt.Errorf("%s/gmsaCredentialSpec is not what the GMSACredentialSpec %s has", at, *o.GMSACredentialSpecName)
		}
	}
	if len(patches) > 0 {
		data, err := json.Marshal(patches)
		if err != nil {
			return nil, err
		}
		allowed.Patch, allowed.PatchType = data, new(admissionv1.PatchTypeJSONPatch)
	}
	return allowed, nil
}

// mayUse returns an error unless a service account has the verb use on a credential spec.
func (g *gmsaAdmission) mayUse(ctx context.Context, namespace, account, spec string) error {
	if account == "" {
		account = "default"
	}
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User:   "system:serviceaccount:" + namespace + ":" + account,
			Groups: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Namespace: namespace, Verb: "use", Group: "windows.k8s.io", Version: "v1", Resource: "gmsacredentialspecs", Name: spec,
			},
		},
	}
	answer, err := g.client.LocalSubjectAccessReviews(namespace).Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if !answer.Status.Allowed || answer.Status.Denied {
		return fmt.Errorf("service account %q is not authorized to `use` GMSA cred spec %q", account, spec)
	}
	return nil
}

// contents returns the credspec of a GMSACredentialSpec as JSON.
func (g *gmsaAdmission) contents(ctx context.Context, name string) (string, error) {
	raw, err := g.client.RESTClient().Get().AbsPath("/apis/windows.k8s.io/v1/gmsacredentialspecs", name).DoRaw(ctx)
	if apierrors.IsNotFound(err) {
		return "", fmt.Errorf("cred spec %s does not exist", name)
	}
	if err != nil {
		return "", err
	}
	var object struct {
		Spec json.RawMessage `json:"credspec"`
	}
	if err := json.Unmarshal(raw, &object); err != nil {
		return "", err
	}
	if len(object.Spec) == 0 || strings.TrimSpace(string(object.Spec)) == "null" {
		return "", fmt.Errorf("cred spec %s does not have a credspec key", name)
	}
	return string(object.Spec), nil
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && reflect.DeepEqual(x, y)
}

// unchangedGMSA returns an error if an update changes a pod's identity.
func unchangedGMSA(now, before map[string]*corev1.WindowsSecurityContextOptions) error {
	for at, o := range now {
		was := before[at]
		if was == nil {
			was = &corev1.WindowsSecurityContextOptions{}
		}
		if !reflect.DeepEqual(o.GMSACredentialSpecName, was.GMSACredentialSpecName) ||
			!reflect.DeepEqual(o.GMSACredentialSpec, was.GMSACredentialSpec) {
			return fmt.Errorf("cannot update an existing pod's GMSA settings: %s", at)
		}
	}
	return nil
}
