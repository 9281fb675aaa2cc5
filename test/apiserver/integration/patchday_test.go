package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/windows"
)

// galleryVersion is the API version for galleries.
const galleryVersion = "2024-03-03"

// definition is the ID of the test's image definition.
func (b *bed) definition() string {
	return "/subscriptions/" + subscription + "/resourceGroups/images-" + b.name + "/providers/Microsoft.Compute/galleries/nodes/images/win"
}

// gallery creates a gallery with an image definition.
func (b *bed) gallery() {
	b.t.Helper()
	gallery, _, _ := strings.Cut(b.definition(), "/images/")
	group, _, _ := strings.Cut(gallery, "/providers/")
	b.put(group, `{"location":"westeurope"}`)
	b.write(gallery, `{"location":"westeurope","properties":{}}`)
	b.write(b.definition(), `{"location":"westeurope","properties":{"osType":"Windows","osState":"Generalized","identifier":
		{"publisher":"p","offer":"o","sku":"s"}}}`)
}

func (b *bed) write(id, body string) {
	b.t.Helper()
	result, err := b.azure.client.Put(b.t.Context(), id, galleryVersion, json.RawMessage(body))
	b.finish(id, result, err)
}

// publish creates a version of the image. If verified is set, the version is tagged as `casement
// images build` tags it.
func (b *bed) publish(number string, verified bool) {
	b.t.Helper()
	image, err := windows.DefaultImage(version, windows.OSWindows, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	tags := "{}"
	if verified {
		tags = `{"casement-image-state":"verified"}`
	}
	b.write(b.definition()+"/versions/"+number, fmt.Sprintf(`{"location":"westeurope","tags":%s,"properties":{"storageProfile":
		{"source":{"communityGalleryImageId":%q}}}}`, tags, image.Reference()))
}

// follow sets the annotations on the Cluster that make its pools follow the gallery's verified
// versions, with a soak of one second.
func (b *bed) follow(more map[string]string) {
	b.t.Helper()
	b.change(b.cluster, func() {
		b.cluster.Annotations = map[string]string{infrav1.ImageChannelAnnotation: infrav1.ImageChannelVerified,
			infrav1.PatchSoakAnnotation: "1s"}
		for name, value := range more {
			b.cluster.Annotations[name] = value
		}
	})
}

// deployment is a MachineDeployment, for which the test acts as Cluster API.
type deployment struct {
	*bed
	md *clusterv1.MachineDeployment
	// bad contains the versions whose nodes never become healthy.
	bad []string
	// made is the number of machines created; most is the highest number of new machines beside all
	// the old ones.
	made, most int
}

// deploy creates a MachineDeployment of three machines with an image version.
func (b *bed) deploy(name, number string) *deployment {
	b.t.Helper()
	template := &infrav1.AzureMachineTemplate{ObjectMeta: b.owned(name, "Cluster", b.cluster)}
	template.Spec.Template.Spec = infrav1.AzureMachineSpec{VMSize: vmSize,
		OSDisk: infrav1.OSDisk{OSType: "Windows", DiskSizeGB: new(int32(128))},
		Image:  &infrav1.Image{ID: new(b.definition() + "/versions/" + number)}}
	b.create(template)
	d := &deployment{bed: b, md: &clusterv1.MachineDeployment{ObjectMeta: b.owned(name, "Cluster", b.cluster),
		Spec: clusterv1.MachineDeploymentSpec{ClusterName: b.name, Replicas: new(int32(3)),
			Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
				ClusterName: b.name, Version: version, Bootstrap: clusterv1.Bootstrap{DataSecretName: &name},
				InfrastructureRef: clusterv1.ContractVersionedObjectReference{
					APIGroup: infrav1.GroupVersion.Group, Kind: "AzureMachineTemplate", Name: name,
				},
			}}}}}
	d.md.Spec.Selector.MatchLabels = map[string]string{"pool": name}
	d.md.Spec.Template.Labels = map[string]string{"pool": name}
	b.create(d.md)
	d.play()
	return d
}

// play takes the next step of a rolling update as Cluster API does: it creates machines up to the
// surge, and deletes as many old machines as the available ones allow.
func (d *deployment) play() {
	d.t.Helper()
	d.get(d.md)
	spec := d.md.Spec
	template := &infrav1.AzureMachineTemplate{ObjectMeta: d.meta(spec.Template.Spec.InfrastructureRef.Name)}
	d.get(template)
	var all infrav1.AzureMachineList
	if err := d.client.List(d.t.Context(), &all, client.InNamespace(d.namespace),
		client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: d.md.Name}); err != nil {
		d.t.Fatal(err)
	}
	var fresh, old []*infrav1.AzureMachine
	for i := range all.Items {
		m := &all.Items[i]
		switch {
		case !m.DeletionTimestamp.IsZero():
		case m.Annotations[clusterv1.TemplateClonedFromNameAnnotation] == template.Name:
			fresh = append(fresh, m)
		default:
			old = append(old, m)
		}
	}
	wanted, surge := int(*spec.Replicas), 1
	if s := spec.Rollout.Strategy.RollingUpdate.MaxSurge; s != nil {
		surge = s.IntValue()
	}
	if len(old) == 0 && len(fresh) < wanted {
		surge = 0
	}
	for len(fresh)+len(old) < wanted+surge && len(fresh) < wanted {
		fresh = append(fresh, d.join(template))
	}
	if len(old) >= wanted {
		d.most = max(d.most, len(fresh))
	}
	available := len(old)
	if seconds := spec.Template.Spec.MinReadySeconds; seconds == nil || *seconds == 0 {
		available += len(fresh)
	}
	for _, m := range old {
		if available--; available < wanted {
			return
		}
		machine := &clusterv1.Machine{ObjectMeta: d.meta(m.Name)}
		for _, o := range []client.Object{m, machine} {
			if err := client.IgnoreNotFound(d.client.Delete(d.t.Context(), o)); err != nil {
				d.t.Fatal(err)
			}
		}
	}
}

// join creates a machine from a template. Its node is healthy unless the version is bad.
func (d *deployment) join(template *infrav1.AzureMachineTemplate) *infrav1.AzureMachine {
	d.t.Helper()
	d.made++
	am := d.machine(fmt.Sprintf("%s-%d", d.md.Name, d.made), "Windows", false)
	m := &clusterv1.Machine{ObjectMeta: d.meta(am.Name)}
	d.change(m, func() { m.Labels[clusterv1.MachineDeploymentNameLabel] = d.md.Name })
	am.Labels = m.Labels
	am.Annotations[clusterv1.TemplateClonedFromNameAnnotation] = template.Name
	am.Spec.Image = template.Spec.Template.Spec.Image
	d.create(am)
	is := metav1.Condition{Type: clusterv1.MachineNodeHealthyCondition, Status: metav1.ConditionTrue, Reason: "NodeHealthy",
		LastTransitionTime: metav1.Now()}
	_, number, _ := strings.Cut(*am.Spec.Image.ID, "/versions/")
	if slices.Contains(d.bad, number) {
		is.Status, is.Message = metav1.ConditionFalse, "the kubelet never posted its status"
	}
	m.Status.NodeRef.Name, m.Status.Conditions = am.Name, []metav1.Condition{is}
	if err := d.client.Status().Update(d.t.Context(), m); err != nil {
		d.t.Fatal(err)
	}
	return am
}

// awaits acts as Cluster API, by play, until a pool's condition has a reason and its message
// contains a text.
func (b *bed) awaits(o conditionsObject, reason, says string, play func()) {
	b.t.Helper()
	pokes := 0
	b.eventually(o, func() string {
		play()
		if !strings.Contains(o.GetAnnotations()[infrav1.PatchStateAnnotation], `"phase"`) {
			pokes++ // without this, a new version is found only at a slow resync; later steps are triggered by events
			b.change(b.cluster, func() { b.cluster.Annotations["poke"] = fmt.Sprint(pokes) })
		}
		b.get(o)
		if c := conditions.Get(o, infrav1.ImageUpToDateCondition); c == nil || c.Reason != reason || !strings.Contains(c.Message, says) {
			return "not " + reason
		}
		return ""
	})
}

func (d *deployment) awaits(reason, says string) {
	d.t.Helper()
	d.bed.awaits(d.md, reason, says, d.play)
}

// image returns the image version in the MachineDeployment's template.
func (d *deployment) image() string {
	d.t.Helper()
	d.get(d.md)
	template := &infrav1.AzureMachineTemplate{ObjectMeta: d.meta(d.md.Spec.Template.Spec.InfrastructureRef.Name)}
	d.get(template)
	_, number, _ := strings.Cut(*template.Spec.Template.Spec.Image.ID, "/versions/")
	return number
}

// TestPatchDay checks that a verified version of a gallery's image waits for its maintenance
// window, is rolled out to one node, and after the soak to the others; a version that is not
// verified is not rolled out. The next rollout removes the template that is no longer needed.
func TestPatchDay(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.provision()
	b.gallery()
	b.publish("1.0.0", true)
	d := b.deploy("win", "1.0.0")
	b.publish("1.1.0", false)
	const never = "0 0 29 2 *"
	b.follow(map[string]string{infrav1.MaintenanceWindowAnnotation: never, infrav1.MaintenanceWindowDurationAnnotation: "1s"})
	d.awaits(infrav1.ImageUpToDateReason, "1.0.0")
	b.publish("1.2.0", true)
	d.awaits(infrav1.PatchOutsideWindowReason, "1.2.0 waits for the next window, 2028-02-29")
	if d.image() != "1.0.0" || d.made != 3 {
		t.Errorf("outside of its window the pool has %s and made %d machines", d.image(), d.made)
	}
	b.follow(nil)
	d.awaits(infrav1.ImageUpToDateReason, "1.2.0")
	if d.image() != "1.2.0" || d.most != 1 || d.md.Spec.Template.Spec.MinReadySeconds != nil {
		t.Errorf("%s, at most %d canaries, held: %v", d.image(), d.most, d.md.Spec.Template.Spec.MinReadySeconds)
	}
	if s := d.md.Spec.Rollout.Strategy.RollingUpdate; s.MaxSurge != nil && s.MaxSurge.IntValue() != 1 {
		t.Errorf("the strategy is %+v", s)
	}
	b.publish("1.3.0", true)
	d.awaits(infrav1.ImageUpToDateReason, "1.3.0")
	b.publish("1.4.0", true)
	d.awaits(infrav1.ImageUpToDateReason, "1.4.0")
	var templates infrav1.AzureMachineTemplateList
	if err := b.client.List(t.Context(), &templates, client.InNamespace(b.namespace)); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range templates.Items {
		names = append(names, templates.Items[i].Name)
	}
	// The base template stays, because bootstrap data names the secret that is created for it.
	if slices.Contains(names, "win-1.2.0") || !slices.Contains(names, "win") || !slices.Contains(names, "win-1.4.0") {
		t.Errorf("templates %v", names)
	}
	b.change(b.cluster, func() { b.cluster.Annotations[infrav1.PatchRollbackAnnotation] = "slow disks" })
	d.awaits(infrav1.PatchRolledBackReason, "ordered: slow disks")
	if b.get(b.cluster); d.image() != "1.3.0" || b.cluster.Annotations[infrav1.PatchRollbackAnnotation] != "" {
		t.Errorf("%s, and the order is there: %v", d.image(), b.cluster.Annotations)
	}
}

// TestPatchDayBadImage checks that nodes that do not become healthy, and nodes on which the user's
// Job fails, stop the rollout of a version after the canary and restore the previous version; other
// pools do not try the bad version.
func TestPatchDayBadImage(t *testing.T) { // not parallel, because its nodes have only three seconds to become healthy
	b := newBed(t)
	b.provision()
	b.gallery()
	b.publish("1.0.0", true)
	d, other := b.deploy("win", "1.0.0"), b.deploy("late", "1.0.0")
	b.change(other.md, func() { other.md.Annotations = map[string]string{infrav1.PatchOrderAnnotation: "1"} })
	d.bad = []string{"1.1.0"}
	b.publish("1.1.0", true)
	b.follow(map[string]string{infrav1.PatchTimeoutAnnotation: "3s"})
	d.awaits(infrav1.PatchRolledBackReason, "the kubelet never posted its status")
	other.awaits(infrav1.PatchRefusedReason, "MachineDeployment/win")
	if d.image() != "1.0.0" || d.most != 1 || d.made != 4 || other.made != 3 {
		t.Errorf("%s after %d canaries, %d and %d machines", d.image(), d.most, d.made, other.made)
	}

	b.kubeconfig()
	job := &batchv1.Job{ObjectMeta: b.meta("smoke"), Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{
		Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}}}}}}
	b.create(job)
	b.follow(map[string]string{infrav1.PatchTimeoutAnnotation: "1m", infrav1.PatchJobAnnotation: b.namespace + "/smoke"})
	b.publish("1.2.0", true)
	copied := func() *batchv1.Job {
		var jobs batchv1.JobList
		if err := b.client.List(t.Context(), &jobs, client.InNamespace(b.namespace)); err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(jobs.Items, func(j batchv1.Job) bool { return j.Name != "smoke" })
		if i < 0 {
			return nil
		}
		return &jobs.Items[i]
	}
	ended := false
	b.awaits(d.md, infrav1.PatchRolledBackReason, "the Job: exit code 3", func() {
		d.play()
		if j := copied(); j != nil && !ended {
			ended = true
			if j.Spec.Template.Spec.NodeSelector[corev1.LabelHostname] != "win-5" || *j.Spec.Suspend {
				t.Errorf("the Job %+v", j.Spec)
			}
			now := metav1.Now()
			j.Status.StartTime = &now
			for _, is := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
				j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: is, Status: corev1.ConditionTrue,
					Reason: "BackoffLimitExceeded", Message: "exit code 3", LastTransitionTime: now})
			}
			if err := b.client.Status().Update(t.Context(), j); err != nil {
				t.Fatal(err)
			}
		}
	})
	if d.image() != "1.0.0" || d.made != 5 {
		t.Errorf("%s, %d machines", d.image(), d.made)
	}
}

// kubeconfig makes the API server of the test the workload cluster of the bed.
func (b *bed) kubeconfig() {
	b.t.Helper()
	c := b.config
	data, err := clientcmd.Write(clientcmdapi.Config{CurrentContext: "c",
		Clusters: map[string]*clientcmdapi.Cluster{"c": {Server: c.Host, CertificateAuthorityData: c.CAData, CertificateAuthority: c.CAFile}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"c": {ClientCertificateData: c.CertData, ClientCertificate: c.CertFile,
			ClientKeyData: c.KeyData, ClientKey: c.KeyFile, Token: c.BearerToken}},
		Contexts: map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "c"}}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.create(&corev1.Secret{ObjectMeta: b.meta(b.name + "-kubeconfig"), Data: map[string][]byte{"value": data}})
}

// TestPatchDayPool checks that a pool of each mode gets one instance of the new version beside all
// the old ones, and replaces the others after the soak.
func TestPatchDayPool(t *testing.T) {
	t.Parallel()
	for _, mode := range []infrav1.OrchestrationMode{infrav1.UniformOrchestrationMode, infrav1.FlexibleOrchestrationMode} {
		t.Run(string(mode), func(t *testing.T) {
			b := newBed(t)
			b.provision()
			b.gallery()
			b.publish("1.0.0", true)
			p := b.pool("workers", "Windows", mode, 2)
			b.change(p.azure, func() {
				p.azure.Spec.Template.Image = &infrav1.Image{ComputeGallery: &infrav1.AzureComputeGalleryImage{Gallery: "nodes", Name: "win",
					Version: "1.0.0", SubscriptionID: new(subscription), ResourceGroup: new("images-" + b.name)}}
			})
			before := p.settled()
			b.publish("1.1.0", true)
			b.follow(map[string]string{infrav1.PatchSoakAnnotation: "1h"})
			b.awaits(p.machinePool, infrav1.PatchSoakingReason, "1.1.0", p.play)
			if shown := p.shown(); len(shown) != 3 || !slices.ContainsFunc(shown, func(m infrav1.AzureMachinePoolMachine) bool {
				return m.Name == before[0].Name && m.DeletionTimestamp.IsZero()
			}) {
				t.Errorf("%d instances while the canary soaks", len(shown))
			}
			b.follow(nil)
			b.awaits(p.machinePool, infrav1.ImageUpToDateReason, "1.1.0", p.play)
			after := p.settled()
			if len(after) != 2 || after[0].Name == before[0].Name || p.azure.Spec.Template.Image.ComputeGallery.Version != "1.1.0" {
				t.Errorf("%d instances, image %+v", len(after), p.azure.Spec.Template.Image)
			}
			if r := p.azure.Spec.Strategy.RollingUpdate; p.machinePool.Spec.Template.Spec.MinReadySeconds != nil || r.MaxSurge.IntValue() != 1 {
				t.Errorf("held %v, strategy %+v", p.machinePool.Spec.Template.Spec.MinReadySeconds, r)
			}
			b.delete(p.azure)
			b.gone(p.azure)
		})
	}
}
