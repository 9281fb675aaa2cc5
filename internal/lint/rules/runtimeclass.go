package rules

import (
	"fmt"
	"strings"

	"casement.dev/casement/internal/lint"
)

const hypervisor = "runhcs-wcow-hypervisor"

// runtimeClasses are the rules about RuntimeClasses of Windows pods.
func runtimeClasses() []lint.Rule {
	return []lint.Rule{
		{
			ID: "WIN014", Severity: lint.Error, Title: "A RuntimeClass that does not fit", Since: 16, Oracle: lint.Unit,
			Doc: "The class is not among those in the input, its node selector contradicts the pod's (refused at admission) or pins Linux, or its handler is docker, which no node has since 1.24: the pod is refused or its sandbox never made. A class that is nowhere in the input is only reported when others are. Source: kubernetes plugin/pkg/admission/runtimeclass.",
			Bad: withClass("runhcs-wcow-process", "kubernetes.io/os: linux"), Good: withClass("runhcs-wcow-process", "kubernetes.io/os: windows"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				name := pod.Spec.At("runtimeClassName")
				classes := p.Set.Kind("RuntimeClass")
				if name.Str() == "" || len(classes) == 0 {
					return
				}
				class := runtimeClass(p.Set, pod)
				if class == nil {
					p.Report(pod.Object, name, fmt.Sprintf("there is no RuntimeClass %s in the input", name.Str()), say("one of its RuntimeClasses"))
					return
				}
				if handler := class.Root.At("handler"); handler.Str() == "docker" && p.Target.AtLeast(24) {
					p.Report(class, handler, "no node has the handler docker since 1.24: the sandbox is not made", say("a handler of containerd, such as runhcs-wcow-process"))
				}
				for _, f := range class.Root.At("scheduling", "nodeSelector").Fields() {
					own := pod.Spec.At("nodeSelector", f.Key)
					if own.Exists() && own.Str() != f.Value.Str() || f.Key == lint.LabelOS && f.Value.Str() == "linux" {
						p.Report(pod.Object, name, fmt.Sprintf("the class wants nodes with %s=%s, which is not where the pod belongs", f.Key, f.Value.Str()), say("a class for Windows, or the same selector"))
					}
				}
			},
		},
		{
			ID: "WIN709", Severity: lint.Info, Title: "Hyper-V isolation", Since: 20, Oracle: lint.Unit,
			Doc: "The handler `" + hypervisor + "` runs each pod in a small virtual machine. Kubernetes calls it unsupported; it needs containerd 1.7, the class on the nodes and VM sizes with nested virtualization. HostProcess containers cannot have it, which is an error. Source: kubernetes.io/docs/concepts/windows/intro; kubernetes test/e2e/windows/hyperv.go.",
			Bad: withClass(hypervisor, "kubernetes.io/os: windows"), Good: withClass("runhcs-wcow-process", "kubernetes.io/os: windows"),
			Pod: func(p *lint.Pass, pod *lint.Pod) {
				name := pod.Spec.At("runtimeClassName")
				handler := name.Str()
				if class := runtimeClass(p.Set, pod); class != nil {
					handler = class.Root.At("handler").Str()
				}
				switch {
				case !strings.HasPrefix(handler, hypervisor):
				case pod.HostProcess():
					p.ReportAs(lint.Error, pod.Object, name, "HostProcess containers cannot run in a virtual machine", say("take it out"))
				default:
					p.Report(pod.Object, name, "Hyper-V isolation needs nodes with nested virtualization, and Kubernetes does not support it", say("process isolation, unless your nodes are made for it"))
				}
			},
		},
	}
}

// runtimeClass is the pod's, nil when it is not in the set.
func runtimeClass(s *lint.Set, pod *lint.Pod) *lint.Object {
	name := pod.Spec.At("runtimeClassName").Str()
	if all := s.Named("RuntimeClass", "", name); name != "" && len(all) > 0 {
		return all[0]
	}
	return nil
}

func withClass(handler, selector string) string {
	return "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata:\n  name: example\nhandler: " + handler + "\nscheduling:\n  nodeSelector:\n    " + selector + "\n---\n" + windowsPod + "  runtimeClassName: example\n" + container
}
