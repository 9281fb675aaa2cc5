package why

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/cli"
	"casement.dev/casement/internal/cli/app"
)

// canaries maps planted secrets to descriptions of them.
type canaries struct{ is map[string]string }

// word returns a secret that looks like an ordinary word, for a place that identifies it as a
// secret.
func (c *canaries) word(place string) string {
	n := len(c.is)
	w := "tulpe" + string(rune('a'+n/26)) + string(rune('a'+n%26)) + "nmarkt"
	c.is[w] = place
	return w
}

// chance returns a secret of letters and digits, for a text whose words identify it as a secret.
func (c *canaries) chance(place string) string {
	w := fmt.Sprintf("c4n4ryC4n4ry%03d", len(c.is))
	c.is[w] = place
	return w
}

// bootstrap returns a bootstrap spec with a canary in every field that can contain a secret.
func (c *canaries) bootstrap(of string) bootstrapv1.KubeadmConfigSpec {
	in := func(place string) string { return c.word(of + ": " + place) }
	s := bootstrapv1.KubeadmConfigSpec{
		Files: []bootstrapv1.File{{Path: "/etc/motd", Content: "greeting: " + in("file")},
			{Path: "/etc/more", Content: in("file, appended"), Append: new(true)}},
		BootCommands:        []string{"mount " + in("boot command")},
		PreKubeadmCommands:  []string{"login.sh " + in("command before kubeadm")},
		PostKubeadmCommands: []string{"powershell -c Set-Thing " + in("command after kubeadm")},
		Users:               []bootstrapv1.User{{Name: "capi", Passwd: in("password hash"), Gecos: in("gecos")}},
		Mounts:              []bootstrapv1.MountPoints{{"//share/x", "/mnt", "cifs", "who=" + in("option of a mount")}},
	}
	s.JoinConfiguration.NodeRegistration.KubeletExtraArgs = []bootstrapv1.Arg{{Name: "provider-hint", Value: new(in("flag of the kubelet"))}}
	s.JoinConfiguration.Discovery.BootstrapToken.Token = "abcdef." + in("token")
	s.JoinConfiguration.Discovery.BootstrapToken.APIServerEndpoint = "10.0.0.100:6443"
	s.JoinConfiguration.Discovery.BootstrapToken.UnsafeSkipCAVerification = new(true)
	s.ClusterConfiguration.APIServer.ExtraArgs = []bootstrapv1.Arg{{Name: "oidc-hint", Value: new(in("flag of the API server"))}}
	s.ClusterConfiguration.APIServer.ExtraEnvs = &[]bootstrapv1.EnvVar{{EnvVar: corev1.EnvVar{Name: "MODE",
		Value: in("environment of the API server")}}}
	s.ClusterConfiguration.Etcd.Local.ExtraArgs = []bootstrapv1.Arg{{Name: "hint", Value: new(in("flag of etcd"))}}
	s.ClusterConfiguration.Etcd.Local.ExtraEnvs = &[]bootstrapv1.EnvVar{{EnvVar: corev1.EnvVar{Name: "BACKUP",
		Value: in("environment of etcd")}}}
	return s
}

// spec adds canaries to a pod's spec.
func (c *canaries) spec(of string, s *corev1.PodSpec) {
	in := func(place string) string { return c.word(of + ": " + place) }
	get := func(place string) corev1.ProbeHandler {
		return corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80),
			HTTPHeaders: []corev1.HTTPHeader{{Name: "X-Who", Value: in(place)}}}}
	}
	k := &s.Containers[0]
	k.Env = []corev1.EnvVar{{Name: "GREETING", Value: in("environment")}, {Name: "SMTP_CRED", Value: in("SMTP_CRED")},
		{Name: "PIN", Value: in("PIN")}, {Name: "SALT", Value: in("SALT")}}
	k.Command = []string{"setup.exe", "/pwd:" + in("/pwd"), "-pw", in("-pw")}
	k.Args = []string{"--greeting=" + in("argument"), "--hint", in("argument after its flag"), "-k", in("-k"), "--auth", "u:" + in("--auth")}
	k.LivenessProbe = &corev1.Probe{ProbeHandler: get("header of a probe")}
	k.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"check", "--who",
		in("probe")}}}}
	k.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"bye", in("hook")}}},
		PostStart: &corev1.LifecycleHandler{HTTPGet: get("header of a hook").HTTPGet}}
	s.InitContainers = []corev1.Container{{Name: "init", Image: "registry.example/init:1",
		Env: []corev1.EnvVar{{Name: "X", Value: in("environment of an init container")}}}}
	s.Volumes = append(s.Volumes, corev1.Volume{Name: "v", VolumeSource: corev1.VolumeSource{CSI: &corev1.CSIVolumeSource{
		Driver: "file.csi.azure.com", VolumeAttributes: map[string]string{"share": in("attribute of a volume")}}}})
}

// texts are lines that programs print, with a secret in place of %s.
var texts = []string{
	`{"user":"x","pw":"%s"}`, "agent.exe -k %s -v", "plink.exe -pw %s user@host", "setup.exe /quiet /pwd:%s", "etcdctl --auth root:%s get x",
	"wget --proxy-user u:%s http://x", "export SMTP_CRED=%s", "PIN=%s", "SALT: %s", "InstrumentationKey=%s;IngestionEndpoint=https://x/",
	"request failed, Cookie: session=%s; a=b", "Set-Cookie: sid=%s; HttpOnly", "Activation code: %s accepted", "slmgr.vbs /ipk %s",
	"one-time code: %s", "GET https://x.example/a?who=%s 200", "--otp %s", "BLOB_SAS=%s", "SENTRY_DSN=%s", "passcode: %s", "$pin = '%s'",
	"recovery key: %s", "access code %s", "mail.smtp.cred=%s", "sftp://u:%s@h/", "winrs -r:h -u:a -p:%s dir", "DD_API_KEY=%s",
	"chpasswd <<< 'capi:%s'", "echo %s | passwd --stdin capi", "wmic useraccount where name='a' call setpassword %s",
	`nssm set svc ObjectName .\u %s`, "ksetup /SetComputerPassword %s", `schtasks.exe /Create /TN t /RU CONTOSO\svc /RP "%s" /SC ONSTART`,
	`net user svc "%s" /domain`, "netdom join x /domain:c /userd:u /passwordd:%s", `certutil -p %s -importpfx c:\x.pfx`,
	"signtool sign /f x.pfx /p %s a.exe", "zip -P %s a.zip b", "7z x a.7z -p%s", "ssh-keygen -N '%s' -f k", "htpasswd -b f u %s",
	"kubectl create secret generic x --from-literal=a=%s", "onboard_agent.sh -w id -s %s", "login role_id=r secret_id=%s",
	"git clone https://%s@dev.azure.com/x/_git/y", "HTTP_PROXY=http://svc:%s@proxy:8080", "mongodb+srv://app:%s@c0.mongodb.net/x",
	"Endpoint=https://x.azconfig.io;Id=1;Secret=%s", "AccountName=n;SharedAccessSignature=sv=1&sig=%s", "Ocp-Apim-Subscription-Key: %s",
	"x-goog-api-key: %s", "Private-Token: %s", "Cookie: .AspNetCore.Session=%s", `{"auths":{"r.io":{"username":"u","password":"%s"}}}`,
	`{"identitytoken":"%s"}`, "ansible_become_pass: %s", `<machineKey validationKey="%s"/>`, "wifi psk=%s", "shared_secret: %s",
	"webhook_secret=%s", `"workspaceKey":"%s"`, "totp seed %s", "Password for 'u': %s", "token '%s' rejected", "API key %s invalid",
	"client secret '%s' expired", "https://x.blob.core.windows.net/c/b.vhd?sv=2022&sr=b&sig=%s", "users: [{user: {password: %s}}]",
	"HostName=h.azure-devices.net;DeviceId=d;SharedAccessKey=%s", "sqlplus system/%s@db", "helm repo add x https://y --password %s",
	"Authorization: Bearer %s", "kubeadm join --token abcdef.%s failed", "password %s", "AccountKey=%s==", "net use z: \\\\s\\x /user:a %s",
}

// plant adds canaries to the scene.
func (c *canaries) plant(s *scene) {
	note := func(o client.Object, of string) {
		o.SetAnnotations(map[string]string{"example.com/note": c.word(of + ": annotation")})
	}
	for of, o := range map[string]client.Object{"Cluster": s.cluster, "AzureCluster": s.azure, "KubeadmControlPlane": s.controlPlane,
		"Machine": s.worker, "AzureMachine": s.vm, "KubeadmConfig": s.config, "MachineDeployment": s.deployment, "MachineSet": s.set,
		"AzureMachineTemplate": s.template, "Node": s.node, "Deployment": s.web, "ReplicaSet": s.replicas, "Pod": s.pod, "Service": s.service} {
		note(o, of)
	}
	s.config.Spec, s.controlPlane.Spec.KubeadmConfigSpec = c.bootstrap("KubeadmConfig"), c.bootstrap("KubeadmControlPlane")
	s.vm.Spec.AdditionalTags = infrav1.Tags{"contact": c.word("AzureMachine: tag")}
	s.azure.Spec.AdditionalTags = infrav1.Tags{"costs": c.word("AzureCluster: tag")}
	s.template.Spec.Template.Spec.AdditionalTags = infrav1.Tags{"costs": c.word("AzureMachineTemplate: tag")}
	s.vm.Spec.VMExtensions = []infrav1.VMExtension{{Name: "x", Publisher: "p", Version: "1",
		Settings:          infrav1.Tags{"greeting": c.word("extension: settings")},
		ProtectedSettings: infrav1.Tags{"a": c.word("extension: protected settings")}}}
	c.spec("Pod", &s.pod.Spec)
	c.spec("Deployment", &s.web.Spec.Template.Spec)
	s.pod.Spec.AutomountServiceAccountToken = new(false)
	s.more = append(s.more, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "md-0"},
		StringData: map[string]string{"value": c.word("Secret of bootstrap data")}})
	var refused []string
	for i, text := range texts {
		line := fmt.Sprintf(text, c.chance("text "+text))
		switch about := []client.Object{s.pod, s.vm, s.worker, nil}[i%4]; about {
		case nil:
			refused = append(refused, line)
		default:
			s.events = append(s.events, event{about, "Unhealthy", "it says: " + line})
		}
	}
	s.vm.SetConditions([]metav1.Condition{is(infrav1.VMRunningCondition, metav1.ConditionFalse, "QuotaExceeded", strings.Join(refused, "; "))})
}

// run runs a casement command and returns its output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var out, notes bytes.Buffer
	if code := cli.Main(append([]string{"casement"}, args...), app.Streams{In: strings.NewReader(""), Out: &out, Err: &notes}); code > 1 {
		t.Fatalf("casement %v ended with %d: %s", args, code, &notes)
	}
	return out.String() + notes.String()
}

// unpacked returns the content of all files of a support archive as one text.
func unpacked(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gz, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for r := tar.NewReader(gz); ; {
		h, err := r.Next()
		if err == io.EOF {
			return all.String()
		}
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "=== %s\n", h.Name)
		if _, err := io.Copy(&all, r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCanaries checks that none of more than a hundred planted secrets appears in a support
// archive, a saved page, the output of why, or any answer to an agent.
func TestCanaries(t *testing.T) {
	c := connect(t)
	prepare(t, c)
	s := well()
	s.kubeconfig = kubeconfigOf(t, server)
	planted := &canaries{is: map[string]string{}}
	planted.plant(s)
	s.store(t, c)
	stored := s.stored(t, c)
	for word, place := range planted.is {
		if !strings.Contains(stored, word) {
			t.Errorf("%s: not planted, as the API server does not keep it", place)
		}
	}
	if len(planted.is) < 100 {
		t.Errorf("%d canaries are too few", len(planted.is))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(file, s.kubeconfig.Data["value"], 0o600); err != nil {
		t.Fatal(err)
	}
	own := func(args ...string) []string {
		return append(args, "--kubeconfig", file, "-n", ns, "--state", filepath.Join(dir, "state"))
	}
	archive, page := filepath.Join(dir, "s.tar.gz"), filepath.Join(dir, "page.html")
	outputs := map[string]string{
		"support": run(t, own("support", "demo", "--file", archive)...), "ui": run(t, own("ui", "--save", page)...),
		"why": run(t, own("why", "demo", "-o", "json")...), "why of the pod": run(t, own("why", "pod/"+ns+"/web-1-x", "--cluster", "demo")...),
		"doctor": run(t, own("doctor", "demo", "-o", "wide")...), "tree": run(t, own("tree", "demo")...),
	}
	outputs["the archive"] = unpacked(t, archive)
	saved, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	outputs["the page"] = string(saved)
	a := newAgent(t)
	for _, object := range []string{"cluster/demo", "machine/md-0", "kubeadmconfig/md-0", "azuremachine/md-0", "azurecluster/demo",
		"kubeadmcontrolplane/demo", "md/md", "pod/" + ns + "/web-1-x", "service/" + ns + "/web", "deployment/" + ns + "/web"} {
		a.ask(t, "why", map[string]any{"object": object, "cluster": "demo"})
	}
	a.ask(t, "tree", map[string]any{"cluster": "demo"})
	a.ask(t, "doctor", map[string]any{"object": "demo"})
	a.ask(t, "timeline", map[string]any{"machine": "md-0"})
	a.ask(t, "logs", map[string]any{"machine": "md-0", "logs": []string{"boot"}})
	a.ask(t, "lint", map[string]any{"manifests": stored})
	a.ask(t, "preflight", map[string]any{"manifests": stored})
	outputs["mcp"] = a.transcript.String()
	for name, text := range outputs {
		for word, place := range planted.is {
			if at := strings.Index(text, word); at >= 0 {
				t.Errorf("%s: %s has left: …%s…", name, place, text[max(0, at-60):min(len(text), at+40)])
			}
		}
	}
	for name, kept := range map[string]string{"the archive": "GREETING", "the page": "md-0", "mcp": "QuotaExceeded"} {
		if !strings.Contains(outputs[name], kept) {
			t.Errorf("%s: %s is lost", name, kept)
		}
	}
}

// stored returns the objects as the API server stores them, as a list of manifests.
func (s *scene) stored(t *testing.T, c client.Client) string {
	t.Helper()
	var all strings.Builder
	for _, o := range s.objects() {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
			t.Fatal(err)
		}
		if secret, is := o.(*corev1.Secret); is {
			for _, key := range slices.Sorted(slices.Values([]string{"value"})) {
				fmt.Fprintf(&all, "# %s\n", secret.Data[key])
			}
			continue
		}
		gvk, err := c.GroupVersionKindFor(o)
		if err != nil {
			t.Fatal(err)
		}
		o.GetObjectKind().SetGroupVersionKind(gvk)
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&all, "%s\n---\n", data)
	}
	var events corev1.EventList
	if err := c.List(t.Context(), &events, client.InNamespace(ns)); err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		fmt.Fprintf(&all, "# %s\n", e.Message)
	}
	return all.String()
}
