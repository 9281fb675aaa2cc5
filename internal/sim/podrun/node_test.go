package podrun_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/sim/certmanager"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/sim/podrun"
)

// TestMain lets the test binary replace the program of an image.
func TestMain(m *testing.M) {
	if os.Getenv("PODRUN_TEST") != "" {
		if err := manage(); err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// manage runs a manager whose webhook refuses every request and proves its identity to the API
// server.
func manage() error {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	health, host, port, certs := flags.String("health-addr", "", ""), flags.String("webhook-host", "", ""),
		flags.String("webhook-port", "", ""), flags.String("webhook-cert-dir", "", "")
	greeting, namespace, identity := flags.String("greeting", "", ""),
		flags.String("leader-elect-namespace", "", ""), flags.String("identity", "", "")
	for _, name := range []string{"lease-duration", "renew-deadline", "retry-period"} {
		flags.Duration("leader-elect-"+name, 0, "")
	}
	if err := flags.Parse(os.Args[1:]); err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	if _, set := os.LookupEnv("ABSENT"); set || !strings.Contains(os.Getenv("GREETING"), "CERTIFICATE") {
		return fmt.Errorf("the environment is %q", os.Environ())
	}
	notice, err := os.ReadFile("notice")
	if err != nil {
		return err
	}
	audience, err := audienceOf(*identity)
	if err != nil {
		return err
	}
	_, err = api.CoreV1().Secrets(*namespace).List(context.Background(), metav1.ListOptions{})
	fmt.Printf("%s from %s with %s for %s; secrets: %v\n", *greeting, os.Getenv("EXTRA"), notice, audience, err)
	go func() {
		_ = http.ListenAndServe(*health, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	}()
	return http.ListenAndServeTLS(*host+":"+*port, filepath.Join(*certs, "tls.crt"),
		filepath.Join(*certs, "tls.key"), http.HandlerFunc(refuse))
}

// audienceOf returns the audience of the token in a file.
func audienceOf(file string) ([]string, error) {
	token, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	claims := jwt.RegisteredClaims{}
	_, _, err = jwt.NewParser().ParseUnverified(string(token), &claims)
	return claims.Audience, err
}

func refuse(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "refused by a process"}}
	_ = json.NewEncoder(w).Encode(review)
}

const namespace = "managed"

// TestNode runs a Deployment with a webhook whose certificate the stub of cert-manager creates, as
// clusterctl would install it.
func TestNode(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	n := start(t, dir)
	api := n.api
	install(t, n)
	deployments := api.AppsV1().Deployments(namespace)
	eventually(t, "the Deployment is available", func(ctx context.Context) (string, bool) {
		d, err := deployments.Get(ctx, "manager", metav1.GetOptions{})
		return fmt.Sprint(d, err), err == nil && d.Status.AvailableReplicas == 1
	})
	pods, err := api.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("pods %v, error %v", pods, err)
	}
	log, err := api.CoreV1().Pods(namespace).GetLogs(pods.Items[0].Name, &corev1.PodLogOptions{TailLines: new(int64(1))}).DoRaw(ctx)
	if want := "hello managed from node with files for [api://test]; secrets: secrets is forbidden: User " +
		"\"system:serviceaccount:managed:default\""; err != nil || !strings.HasPrefix(string(log), want) {
		t.Errorf("log %q, error %v; want %q", log, err, want)
	}
	eventually(t, "the webhook refuses", func(ctx context.Context) (string, bool) {
		_, err := api.CoreV1().ConfigMaps("default").Create(ctx,
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}, metav1.CreateOptions{})
		return fmt.Sprint(err), err != nil && strings.Contains(err.Error(), "refused by a process")
	})
	scale, err := deployments.GetScale(ctx, "manager", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale.Spec.Replicas = 0
	if _, err := deployments.UpdateScale(ctx, "manager", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod and its directory are gone", func(ctx context.Context) (string, bool) {
		d, err := deployments.Get(ctx, "manager", metav1.GetOptions{})
		left, _ := filepath.Glob(filepath.Join(dir, "pods", "*")) // cannot fail: the pattern is valid
		return fmt.Sprint(d, err, left), err == nil && d.Status.Replicas == 0 && len(left) == 0
	})
}

// TestUnknownImage: the status of a pod that cannot run contains the reason.
func TestUnknownImage(t *testing.T) {
	n := start(t, t.TempDir())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "nginx:1"}}}}
	eventually(t, "the pod is made", func(ctx context.Context) (string, bool) {
		_, err := n.api.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return fmt.Sprint(err), err == nil
	})
	eventually(t, "the pod says why it waits", func(ctx context.Context) (string, bool) {
		p, err := n.api.CoreV1().Pods("default").Get(ctx, "web", metav1.GetOptions{})
		if err != nil || len(p.Status.ContainerStatuses) == 0 {
			return fmt.Sprint(err), false
		}
		w := p.Status.ContainerStatuses[0].State.Waiting
		return fmt.Sprint(w), p.Status.Phase == corev1.PodPending && w != nil && w.Reason == "ErrImagePull" &&
			strings.Contains(w.Message, "no program runs for image nginx:1")
	})
}

type node struct {
	api    kubernetes.Interface
	client client.Client
}

func start(t *testing.T, dir string) node {
	t.Helper()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	socket, egress := filepath.Join(dir, "e.sock"), filepath.Join(dir, "egress.yaml")
	if err := os.WriteFile(egress, fabric.EgressConfig(socket, false), 0o600); err != nil {
		t.Fatal(err)
	}
	plane, err := kubeproc.Start(t.Context(), kubeproc.Config{Dir: filepath.Join(dir, "m"), EgressConfig: egress})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plane.Stop(context.Background()) })
	if err := plane.StartControllerManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	programs := filepath.Join(dir, "programs")
	self, err := os.Executable()
	if err == nil {
		err = os.Mkdir(programs, 0o700)
	}
	if err == nil {
		err = os.Symlink(self, filepath.Join(programs, "casement-manager"))
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(programs, "casement-manager.files"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(programs, "casement-manager.files", "notice"), []byte("files"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	crds, err := certmanager.CRDs()
	if err == nil {
		err = kubeproc.InstallCRDs(t.Context(), plane.Config(), crds)
	}
	if err != nil {
		t.Fatal(err)
	}
	certificates, err := certmanager.New(plane.Config(), log)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := podrun.New(podrun.Config{REST: plane.Config(), Dir: filepath.Join(dir, "pods"),
		Programs: []string{programs}, Env: []string{"PODRUN_TEST=1", "EXTRA=node"}, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 3)
	go func() { ended <- certificates.Start(ctx) }()
	go func() { ended <- runner.Run(ctx) }()
	go func() { ended <- runner.ServeEgress(ctx, socket) }()
	t.Cleanup(func() {
		stop()
		for range 3 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	api, err := kubernetes.NewForConfig(plane.Config())
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(plane.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return node{api, c}
}

func install(t *testing.T, n node) {
	t.Helper()
	labels := map[string]string{"app": "manager"}
	certManager := func(kind, name string, spec map[string]any) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "cert-manager.io/v1", "kind": kind,
			"metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
		}}
	}
	http := intstr.FromString("health")
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: namespace}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "webhook", Namespace: namespace}, Spec: corev1.ServiceSpec{
			Selector: labels, Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromString("webhook-server")}},
		}},
		certManager("Issuer", "self", map[string]any{"selfSigned": map[string]any{}}),
		certManager("Certificate", "serving", map[string]any{
			"secretName": "cert", "dnsNames": []any{"webhook." + namespace + ".svc"}, "issuerRef": map[string]any{"name": "self"},
		}),
		&registrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "refuse",
				Annotations: map[string]string{"cert-manager.io/inject-ca-from": namespace + "/serving"}},
			Webhooks: []registrationv1.ValidatingWebhook{{
				Name: "refuse.casement.dev", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(registrationv1.SideEffectClassNone),
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "default"}},
				ClientConfig: registrationv1.WebhookClientConfig{
					Service: &registrationv1.ServiceReference{Namespace: namespace, Name: "webhook"},
				},
				Rules: []registrationv1.RuleWithOperations{{
					Operations: []registrationv1.OperationType{registrationv1.Create},
					Rule: registrationv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
					},
				}},
			}},
		},
		&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "manager", Namespace: namespace}, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{
					Name: "manager", Image: "example.com/casement-manager:v1",
					Args: []string{"--greeting=hello $(NAMESPACE)", "--identity=/var/run/identity/token"},
					Env: []corev1.EnvVar{fromSecret("GREETING", "tls.crt", false), fromSecret("ABSENT", "none", true), {
						Name:      "NAMESPACE",
						ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"}},
					}},
					Ports: []corev1.ContainerPort{
						{Name: "webhook-server", ContainerPort: 9443}, {Name: "health", ContainerPort: 9440},
					},
					ReadinessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{
						HTTPGet: &corev1.HTTPGetAction{Path: "/readyz", Port: http},
					}},
					VolumeMounts: []corev1.VolumeMount{
						{Name: "cert", MountPath: "/tmp/k8s-webhook-server/serving-certs"},
						{Name: "identity", MountPath: "/var/run/identity"},
					},
				}},
				Volumes: []corev1.Volume{
					{Name: "cert", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "cert"}}},
					{Name: "identity",
						VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
							{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "api://test", Path: "token"}},
						}}}},
				},
			}},
		}},
	} {
		if err := n.client.Create(t.Context(), o); client.IgnoreAlreadyExists(err) != nil {
			t.Fatalf("create %T: %v", o, err)
		}
	}
}

// fromSecret returns a variable with a key of the webhook's certificate.
func fromSecret(name, key string, optional bool) corev1.EnvVar {
	ref := &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "cert"}, Key: key, Optional: &optional}
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: ref}}
}

func eventually(t *testing.T, what string, check func(context.Context) (string, bool)) {
	t.Helper()
	said := ""
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (ok bool, _ error) {
		said, ok = check(ctx)
		return ok, nil
	})
	if err != nil {
		t.Fatalf("%s: %v; last: %s", what, err, said)
	}
}
