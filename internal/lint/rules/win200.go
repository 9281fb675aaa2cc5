package rules

import (
	"cmp"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"casement.dev/casement/internal/lint"
)

// win201: Memory in fractions of a byte.
var win201 = lint.Rule{
	ID:       "WIN201",
	Severity: lint.Error,
	Title:    "Memory in fractions of a byte",
	Oracle:   lint.APIServerWarning,
	Doc: "`800m` of memory is 0.8 bytes: m means thousandths. The API server only warns; the kubelet rounds it to 1 " +
		"byte, and on Windows hcsshim divides that by a mebibyte and gets 0, which means no limit at all. Write " +
		"`800Mi`. Source: kubernetes pkg/api/pod/warnings.go; microsoft/hcsshim internal/oci/uvm.go.",
	Bad:  withLimits("memory: 800m"),
	Good: withLimits("memory: 800Mi"),
	Pod:  checkWIN201,
}

func checkWIN201(p *lint.Pass, pod *lint.Pod) {
	places := []lint.Value{pod.Spec.At("overhead", "memory"), pod.Spec.At("overhead", "ephemeral-storage")}
	for _, c := range pod.Containers() {
		for _, list := range []string{"limits", "requests"} {
			places = append(places, c.At("resources", list, "memory"), c.At("resources", list, "ephemeral-storage"))
		}
	}
	for _, v := range places {
		q, err := resource.ParseQuantity(v.Str())
		if err != nil || q.MilliValue()%1000 == 0 {
			continue
		}
		fix := say("a whole number of bytes, such as 800Mi")
		if m := milli.FindStringSubmatch(v.Str()); m != nil {
			fix = safe(m[1]+"Mi", lint.Replace(v, m[1]+"Mi"))
		}
		p.Report(pod.Object, v, fmt.Sprintf("%s is a fraction of a byte: Windows takes it as no limit at "+
			"all, and the scheduler counts 1 byte", v.Str()), fix)
	}
}

// win202: A memory limit below a mebibyte.
var win202 = lint.Rule{
	ID:       "WIN202",
	Severity: lint.Error,
	Title:    "A memory limit below a mebibyte",
	Oracle:   lint.Unit,
	Doc: "hcsshim divides the limit by a mebibyte; what is less becomes 0, and 0 means no limit. Source: " +
		"microsoft/hcsshim internal/oci/uvm.go.",
	Bad:  withLimits("memory: 800k"),
	Good: withLimits("memory: 800Mi"),
	Pod:  eachContainer(checkWIN202),
}

func checkWIN202(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	v := c.At("resources", "limits", "memory")
	if q, err := resource.ParseQuantity(v.Str()); err == nil && q.MilliValue()%1000 == 0 && q.Sign() > 0 && q.Value() < 1<<20 {
		p.Report(pod.Object, v, fmt.Sprintf("%s is less than 1Mi, which Windows takes as no limit at "+
			"all", v.Str()), say("give it a unit, such as 800Mi"))
	}
}

// win203: A memory limit that is hardly enough.
var win203 = lint.Rule{
	ID:       "WIN203",
	Severity: lint.Info,
	Title:    "A memory limit that is hardly enough",
	Oracle:   lint.Unit,
	Doc: "Each Windows container runs processes of the system under its own limit. Below 64Mi for Nano Server and " +
		"128Mi for the others (`nanoServerMemoryFloor`, `serverCoreMemoryFloor` of the configuration) little is left " +
		"for the program; the figures are experience and no rule of Microsoft's. Source: " +
		"learn.microsoft.com/virtualization/windowscontainers/manage-containers/resource-controls.",
	Bad:  windowsPod + container + "    resources:\n      limits:\n        memory: 32Mi\n",
	Good: windowsPod + container + "    resources:\n      limits:\n        memory: 256Mi\n",
	Pod:  eachContainer(checkWIN203),
}

func checkWIN203(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	floor := cmp.Or(p.Target.ServerCoreFloor, "128Mi")
	if strings.Contains(c.At("image").Str(), "nanoserver") {
		floor = cmp.Or(p.Target.NanoServerFloor, "64Mi")
	}
	v := c.At("resources", "limits", "memory")
	limit, err := resource.ParseQuantity(v.Str())
	least, problem := resource.ParseQuantity(floor)
	if err == nil && problem == nil && limit.Value() >= 1<<20 && limit.Cmp(least) < 0 && !pod.HostProcess() {
		p.Report(pod.Object, v, fmt.Sprintf("%s: the container's own system processes need much of "+
			"it", v.Str()), say(floor+" or more"))
	}
}

// win204: No memory limit.
var win204 = lint.Rule{
	ID:       "WIN204",
	Severity: lint.Warning,
	Title:    "No memory limit",
	Oracle:   lint.Unit,
	Doc: "Windows has no out-of-memory killer: a container without a limit makes the whole node page to disk. " +
		"Since 1.31 the kubelet evicts pods when less committed memory is left than its threshold, 500Mi by default; before, " +
		"it never did. Committed memory has the page file in it, so a node may page long before it evicts. " +
		"Requests are not enforced. Source: kubernetes.io/docs/concepts/configuration/windows-resource-management; " +
		"kubernetes 122922.",
	Bad:  windowsPod + container,
	Good: withLimits("memory: 800Mi"),
	Pod:  eachContainer(checkWIN204),
}

func checkWIN204(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	if v := c.At("resources", "limits", "memory"); !v.Exists() && c.List != "ephemeralContainers" {
		p.Report(pod.Object, v, "no memory limit: the container can make the whole node page to "+
			"disk", say("set resources.limits.memory"))
	}
}

// win205: A memory request below the limit.
var win205 = lint.Rule{
	ID:       "WIN205",
	Severity: lint.Warning,
	Title:    "A memory request below the limit",
	Oracle:   lint.Unit,
	Doc: "Windows does not over-commit memory well: give a limit alone, or a request that equals it. Source: " +
		"kubernetes.io/docs/concepts/configuration/windows-resource-management.",
	Bad:  withLimits("memory: 800Mi") + "      requests:\n        memory: 300Mi\n",
	Good: withLimits("memory: 800Mi") + "      requests:\n        memory: 800Mi\n",
	Pod:  oncePerPod(checkWIN205),
}

func checkWIN205(c lint.Container) (at lint.Value, what, fix string) {
	limit, request := c.At("resources", "limits", "memory"), c.At("resources", "requests", "memory")
	l, err1 := resource.ParseQuantity(limit.Str())
	r, err2 := resource.ParseQuantity(request.Str())
	if err1 != nil || err2 != nil || r.Cmp(l) >= 0 {
		return lint.Value{}, "", ""
	}
	should := limit.Str()
	if l.MilliValue()%1000 != 0 { // thousandths of a byte, which WIN201 reports as a mistake
		should = strings.TrimSuffix(should, "m") + "Mi"
	}
	return request, fmt.Sprintf("the request %s is below the limit %s: what is between the two is over-committed",
			request.Str(), limit.Str()),
		"make the request " + should + ", or leave it out"
}

// win206: Huge pages.
var win206 = lint.Rule{
	ID:       "WIN206",
	Severity: lint.Error,
	Title:    "Huge pages",
	Oracle:   lint.Unit,
	Doc: "Windows containers have no huge pages: no Windows node offers them, and the pod stays Pending. Source: " +
		"kubernetes.io/docs/concepts/windows/intro.",
	Bad:  withLimits("memory: 1Gi", "hugepages-2Mi: 100Mi"),
	Good: withLimits("memory: 1Gi"),
	Pod:  eachContainer(checkWIN206),
}

func checkWIN206(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	for _, list := range []string{"limits", "requests"} {
		for _, f := range c.At("resources", list).Fields() {
			if strings.HasPrefix(f.Key, "hugepages-") {
				p.Report(pod.Object, f.Value, "no Windows node has huge pages: the pod stays "+
					"Pending", say("take it out"))
			}
		}
	}
}

// win207: A CPU request without a limit.
var win207 = lint.Rule{
	ID:       "WIN207",
	Severity: lint.Info,
	Title:    "A CPU request without a limit",
	Oracle:   lint.Unit,
	Doc: "Only the CPU limit reaches the container on Windows, as a hard cap; the request is for the scheduler alone, " +
		"there are no shares. Source: kubernetes pkg/kubelet/kuberuntime/kuberuntime_container_windows.go.",
	Bad:  withLimits("memory: 1Gi") + "      requests:\n        cpu: 500m\n",
	Good: withLimits("memory: 1Gi", "cpu: 500m") + "      requests:\n        cpu: 500m\n",
	Pod:  oncePerPod(checkWIN207),
}

func checkWIN207(c lint.Container) (at lint.Value, what, fix string) {
	v := c.At("resources", "requests", "cpu")
	if !v.Exists() || c.At("resources", "limits", "cpu").Exists() {
		return lint.Value{}, "", ""
	}
	return v, "only a CPU limit has an effect on a running Windows container", "set resources.limits.cpu too"
}

// win208: More scratch space than a container has.
var win208 = lint.Rule{
	ID:       "WIN208",
	Severity: lint.Info,
	Title:    "More scratch space than a container has",
	Oracle:   lint.Unit,
	Doc: "Drive C: of a Windows container grows to 20 GB, whatever the limit of ephemeral storage says. Source: " +
		"kubernetes.io/docs/concepts/windows/intro.",
	Bad:  withLimits("memory: 1Gi", "ephemeral-storage: 50Gi"),
	Good: withLimits("memory: 1Gi", "ephemeral-storage: 10Gi"),
	Pod:  eachContainer(checkWIN208),
}

func checkWIN208(p *lint.Pass, pod *lint.Pod, c lint.Container) {
	v := c.At("resources", "limits", "ephemeral-storage")
	if q, err := resource.ParseQuantity(v.Str()); err == nil && q.Value() > 20<<30 {
		p.Report(pod.Object, v, "drive C: of the container grows to 20 GB only", say("use a volume"))
	}
}

// win209: Resource claims.
var win209 = lint.Rule{
	ID:       "WIN209",
	Severity: lint.Warning,
	Title:    "Resource claims",
	Since:    26,
	Oracle:   lint.Unit,
	Doc: "The kubelet on Windows prepares no dynamic resources: the container starts without the device it claims. " +
		"Take the claim out, or run the workload on Linux. Source: kubernetes pkg/kubelet/cm/container_manager_windows.go.",
	Bad:  windowsPod + "  resourceClaims:\n  - name: gpu\n    resourceClaimName: gpu\n" + container,
	Good: windowsPod + container,
	Pod:  checkWIN209,
}

func checkWIN209(p *lint.Pass, pod *lint.Pod) {
	if v := pod.Spec.At("resourceClaims"); len(v.Items()) > 0 {
		p.Report(pod.Object, v, "the kubelet on Windows injects no device for a claim", say("take it out"))
	}
}
