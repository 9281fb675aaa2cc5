package shell

import (
	"context"
	"fmt"
	"strings"

	"casement.dev/casement/internal/sim/guest/machine"
)

// crictlFlags are the flags of crictl that are implemented, and those that only set the endpoint and timeout.
var crictlFlags = declare("q|quiet namespace: name: prune r|runtime-endpoint: i|image-endpoint: t|timeout: a|all")

// crictl lists the pods and containers that the kubelet's log folders show: pods, ps and logs CONTAINER. There is no
// runtime to ask. rmi --prune frees the disk space of unused images.
func crictl(ctx context.Context, p *Process) int {
	o, unknown := crictlFlags.parse(p.Args[1:])
	if unknown != "" {
		return p.Refuse("crictl %s", unknown)
	}
	verb, rest := "", ""
	if len(o.operands) > 0 {
		verb = o.operands[0]
	}
	if len(o.operands) > 1 {
		rest = o.operands[1]
	}
	switch verb {
	case "rmi":
		if !o.has("prune") {
			return p.Refuse("crictl rmi without --prune")
		}
		return p.edit(func(v *machine.Vitals) { v.Free, v.UnusedImages = v.Free+v.UnusedImages, 0 })
	case "pods":
		if o.has("q") {
			for _, c := range podContainers(p) {
				if c.first && (!o.has("namespace") || c.namespace == o.value("namespace")) && (!o.has("name") || c.pod == o.value("name")) {
					p.Printf("%s\n", c.uid)
				}
			}
			return 0
		}
		p.Printf("%-52s NAMESPACE (simulated)\n", "POD")
		for _, c := range podContainers(p) {
			if c.first {
				p.Printf("%-52s %s\n", c.pod, c.namespace)
			}
		}
		return 0
	case "ps":
		p.Printf("%-28s POD (simulated)\n", "CONTAINER")
		for _, c := range podContainers(p) {
			p.Printf("%-28s %s/%s\n", c.name, c.namespace, c.pod)
		}
		return 0
	case "logs":
		for _, c := range podContainers(p) {
			if c.name == rest {
				data, err := p.Guest.Root.ReadFile(c.log)
				if err == nil {
					_, _ = p.Stdout.Write(data) // an error means that nothing reads the output
					return 0
				}
			}
		}
		return p.Fail(1, "crictl: no container is called %q: see crictl ps", rest)
	}
	return nodeOnly("crictl")(ctx, p)
}

// podContainer is a container that has a log.
type podContainer struct {
	namespace, pod, uid, name, log string
	// first is set for one container of each pod.
	first bool
}

func podContainers(p *Process) []podContainer {
	root, base := p.Guest.Root, "/var/log/pods"
	if p.Guest.IsWindows() {
		base = `C:\var\log\pods`
	}
	pods, err := root.ReadDir(base)
	if err != nil {
		return nil
	}
	var out []podContainer
	for _, pod := range pods {
		parts := strings.SplitN(pod.Name(), "_", 3) // namespace_name_uid
		containers, err := root.ReadDir(root.Abs(base, pod.Name()))
		if err != nil || len(parts) < 3 {
			continue
		}
		for i, c := range containers {
			out = append(out, podContainer{parts[0], parts[1], parts[2], c.Name(),
				root.Abs(base, fmt.Sprintf("%s/%s/0.log", pod.Name(), c.Name())), i == 0})
		}
	}
	return out
}
