package shell

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// crictl lists what the simulated kubelet runs, as far as its log folders show:
// pods, ps and logs CONTAINER. There is no runtime that it could ask.
func crictl(ctx context.Context, p *Process) int {
	args := slices.DeleteFunc(slices.Clone(p.Args[1:]), func(a string) bool { return strings.HasPrefix(a, "-") })
	verb, rest := "", ""
	if len(args) > 0 {
		verb = args[0]
	}
	if len(args) > 1 {
		rest = args[1]
	}
	switch verb {
	case "pods":
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
					_, _ = p.Stdout.Write(data) // a failed write is the reader's affair
					return 0
				}
			}
		}
		return p.Fail(1, "crictl: no container is called %q: see crictl ps", rest)
	}
	return quiet("crictl")(ctx, p)
}

// podContainer is a container that has a log.
type podContainer struct {
	namespace, pod, name, log string
	// first marks one container of each pod.
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
		if err != nil || len(parts) < 2 {
			continue
		}
		for i, c := range containers {
			out = append(out, podContainer{parts[0], parts[1], c.Name(),
				root.Abs(base, fmt.Sprintf("%s/%s/0.log", pod.Name(), c.Name())), i == 0})
		}
	}
	return out
}
