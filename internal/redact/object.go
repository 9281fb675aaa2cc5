package redact

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// place is the kind of a field by its name. In all kinds except plainPlace, users put secrets in any form, so only
// values on a list are shown. Names in such fields are kept.
type place int

const (
	// plainPlace is any other field, whose texts are searched with patterns.
	plainPlace place = iota
	// pairsPlace contains names with values: a map, or a list of objects with name and value.
	pairsPlace
	// linePlace is a list with the words of one command line, and argsPlace such a list without the program.
	linePlace
	argsPlace
	// hiddenPlace contains commands and scripts of bootstrap data; only their number is shown.
	hiddenPlace
	// labelsPlace contains names with values by which objects are selected: all values are shown except random ones.
	labelsPlace
)

// places are the fields with any kind other than plainPlace, by name in lower case.
var places = map[string]place{
	"annotations": pairsPlace, "env": pairsPlace, "extraenvs": pairsPlace, "environment": pairsPlace, "environmentvariables": pairsPlace,
	"httpheaders": pairsPlace, "headers": pairsPlace, "additionaltags": pairsPlace, "tags": pairsPlace,
	"extraargs": pairsPlace, "kubeletextraargs": pairsPlace, "volumeattributes": pairsPlace, "settings": pairsPlace,
	"variables": pairsPlace, "sysctls": pairsPlace, "parameters": pairsPlace, "stringdata": pairsPlace, "options": pairsPlace,
	"labels": labelsPlace, "matchlabels": labelsPlace, "nodeselector": labelsPlace,
	"command": linePlace, "args": argsPlace, "mounts": argsPlace,
	"prekubeadmcommands": hiddenPlace, "postkubeadmcommands": hiddenPlace, "bootcommands": hiddenPlace, "runcmd": hiddenPlace,
	"bootcmd": hiddenPlace, "additionalconfig": hiddenPlace, "commandtoexecute": hiddenPlace, "script": hiddenPlace,
	"mountoptions": hiddenPlace, "protectedsettings": hiddenPlace, "protectedparameters": hiddenPlace,
	"gecos": hiddenPlace, "sudo": hiddenPlace, "homedir": hiddenPlace, "extraopts": hiddenPlace, "configurationpatches": hiddenPlace,
}

// shownNames are the names of annotations, variables, flags and tags with public values: operators need them, and
// Kubernetes, Cluster API or casement writes them.
var shownNames = strings.Fields(`
	cluster.x-k8s.io/paused cluster.x-k8s.io/cluster-name cluster.x-k8s.io/cluster-namespace cluster.x-k8s.io/machine
	cluster.x-k8s.io/owner-kind cluster.x-k8s.io/owner-name cluster.x-k8s.io/delete-machine cluster.x-k8s.io/managed-by
	cluster.x-k8s.io/cloned-from-groupkind cluster.x-k8s.io/cloned-from-name cluster.x-k8s.io/remediate-machine
	controlplane.cluster.x-k8s.io/skip-coredns controlplane.cluster.x-k8s.io/skip-kube-proxy
	controlplane.cluster.x-k8s.io/remediation-in-progress controlplane.cluster.x-k8s.io/remediation-for
	machine.cluster.x-k8s.io/certificates-expiry machinedeployment.clusters.x-k8s.io/revision
	machinedeployment.clusters.x-k8s.io/desired-replicas machinedeployment.clusters.x-k8s.io/max-replicas
	pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup
	deployment.kubernetes.io/revision deployment.kubernetes.io/desired-replicas deployment.kubernetes.io/max-replicas
	deprecated.daemonset.template.generation kubectl.kubernetes.io/restartedat kubernetes.io/config.source
	kubernetes.io/config.hash kubernetes.io/config.seen kubernetes.io/config.mirror node.alpha.kubernetes.io/ttl
	volumes.kubernetes.io/controller-managed-attach-detach pv.kubernetes.io/bind-completed pv.kubernetes.io/bound-by-controller
	volume.kubernetes.io/selected-node volume.kubernetes.io/storage-provisioner storageclass.kubernetes.io/is-default-class
	kubeadm.alpha.kubernetes.io/cri-socket kubeadm.kubernetes.io/etcd.advertise-client-urls
	kubeadm.kubernetes.io/kube-apiserver.advertise-address.endpoint endpoints.kubernetes.io/last-change-trigger-time
	node_name nodename pod_name pod_namespace pod_ip host_ip node_ip kubernetes_service_host kubernetes_service_port
	vxlan_vni vxlan_adapter cluster_type ip calico_networking_backend container_sandbox_mount_point
	node-labels node-ip register-with-taints cloud-provider cloud-config container-runtime-endpoint feature-gates
	pod-infra-container-image max-pods azure-container-registry-config hostname-override resolv-conf cgroup-driver
	rotate-certificates rotate-server-certificates windows-priorityclass windows-service anonymous-auth authorization-mode
	allocate-node-cidrs cluster-name cluster-cidr service-cluster-ip-range tls-min-version enforce-node-allocatable
	kube-reserved system-reserved eviction-hard eviction-soft config kubeconfig pod-manifest-path root-dir cert-dir v
	skuname storageaccounttype cachingmode kind fstype csi.storage.k8s.io/fstype`)

// shownTags are the beginnings of the names of tags that mark resources as belonging to a cluster.
var shownTags = []string{"sigs.k8s.io_cluster-api-provider-azure_"}

// placeOf returns the place of a field with a name.
func placeOf(name string) place { return places[strings.ToLower(name)] }

// shown reports whether the value for a name is public.
func shown(name string) bool {
	name = strings.ToLower(strings.TrimLeft(name, "-"))
	return slices.Contains(shownNames, name) ||
		slices.ContainsFunc(shownTags, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// at returns the redacted value of a field.
func (p place) at(v any) any {
	switch p {
	case hiddenPlace:
		return wipe(v)
	case pairsPlace:
		return pairs(v)
	case labelsPlace:
		if m, ok := v.(map[string]any); ok {
			for name, value := range m {
				m[name] = public(value)
			}
			return m
		}
	case linePlace, argsPlace:
		list, ok := v.([]any)
		if ok && allText(list) {
			return line(list, p == linePlace)
		}
		for i := range list {
			list[i] = p.at(list[i])
		}
		if ok {
			return list
		}
		return wipe(v)
	}
	return Object(v)
}

// wipe replaces every text and number in a value.
func wipe(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			v[name] = wipe(v[name])
		}
		return v
	case []any:
		for i := range v {
			v[i] = wipe(v[i])
		}
		return v
	case nil, bool:
		return v
	case string:
		if v == "" {
			return v
		}
	}
	return Mark
}

// pairs keeps the names of pairs, and their public values. A reference, such as valueFrom, is kept.
func pairs(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			switch text, isText := value.(string); {
			case strings.EqualFold(name, "kubectl.kubernetes.io/last-applied-configuration"):
				delete(v, name) // it repeats the object
			case shown(name):
				v[name] = public(value)
			case isText:
				v[name] = harmlessOr(text)
			default:
				v[name] = wipe(value)
			}
		}
		return v
	case []any:
		for i := range v {
			pair, _ := v[i].(map[string]any)
			name, named := pair["name"].(string)
			if !named {
				name, named = pair["key"].(string)
			}
			if !named {
				v[i] = wipe(v[i])
				continue
			}
			for field, value := range pair {
				switch text, isText := value.(string); {
				case field == "name" || field == "key":
				case field != "value":
					pair[field] = Object(value)
				case shown(name):
					pair[field] = public(value)
				case isText:
					pair[field] = harmlessOr(text)
				default:
					pair[field] = wipe(value)
				}
			}
		}
		return v
	}
	return wipe(v)
}

// longWords matches words of 20 letters and digits.
var longWords = regexp.MustCompile(`[A-Za-z0-9]{20,}`)

// public returns a public value without random words.
func public(v any) any {
	seen := Object(v)
	text, is := seen.(string)
	if !is {
		return seen
	}
	return longWords.ReplaceAllStringFunc(text, func(word string) string {
		if random([]string{word}) && !hexNumber.MatchString(word) {
			return Mark
		}
		return word
	})
}

// harmlessOr returns a value such as yes or no unchanged, and Mark for any other value, because a number may be a PIN.
func harmlessOr(text string) string {
	if text == "" || slices.Contains([]string{"true", "false"}, strings.ToLower(text)) {
		return text
	}
	return Mark
}

// line redacts a command line; begins is true if its first word is the program. It keeps the program, the names of
// flags, and values that are public by their form or by their flag's name.
func line(words []any, begins bool) []any {
	flag := ""
	for i := range words {
		word := words[i].(string)
		name, value, assigned := strings.Cut(word, "=")
		switch {
		case i == 0 && begins && program.MatchString(word):
			flag = ""
		case assigned && flagName.MatchString(name):
			flag = ""
			if !shown(name) && !plainValue(value) {
				words[i] = name + "=" + Mark
			} else {
				words[i] = Text(word)
			}
		case flagName.MatchString(word) || verb.MatchString(word) && i < 3 && flag == "":
			flag = word
		case plainValue(word) && !secretFlag(flag), flag != "" && shown(flag):
			words[i], flag = Text(word), ""
		default:
			words[i], flag = Mark, ""
		}
	}
	return words
}

// secretFlag reports whether the value of a flag is a secret even if it has the form of a number or a path.
func secretFlag(flag string) bool {
	flag = strings.TrimLeft(flag, "-/")
	return len(flag) <= 2 && flag != "" || secretField(flag) || secretSegment(flag)
}

var (
	// program matches the name or path of a program, without arguments.
	program = regexp.MustCompile(`(?i)^(?:[a-z]:)?[\w./\\+$(){}-]{1,120}$`)
	// flagName matches a flag without a value. A letter followed by other text does not match, because it may be
	// mysql's -pPASSWORD.
	flagName = regexp.MustCompile(`^(?:-[A-Za-z]|--[a-z][a-z0-9]*(?:[-_.][a-z0-9]+)*|/[a-zA-Z]|` +
		`-(?i:command|file|noprofile|noninteractive|executionpolicy|nologo|kubeconfig|config|conf|v|logtostderr|metrics-addr))$`)
	// verb matches a common subcommand, such as run or server.
	verb = regexp.MustCompile(`^(?:run|start|server|agent|controller|node|exec|serve|proxy|install|init|join|monitor|manager)$`)
	// duration matches a small number with a unit, a port or a count.
	duration = regexp.MustCompile(`^(?:\d{1,5}|\d{1,4}(?:ms|s|m|h|Ki|Mi|Gi|%))$`)
	// filePath matches an absolute path of common directories.
	filePath = regexp.MustCompile(`(?i)^(?:/|[a-z]:[/\\])(?:etc|var|run|usr|opt|k|tmp|dev|proc|sys|bin|sbin|lib|windows|program files|` +
		`host|cni|csi|registration|metrics|healthz|livez|readyz|c|app|scripts)(?:[/\\][a-z_.-]*)*$`)
)

// plainValue reports whether a word is public by its form.
func plainValue(s string) bool {
	words := []string{"", "true", "false", "stdout", "stderr", "json", "text", "info", "debug", "-c", "/c"}
	if slices.Contains(words, strings.ToLower(s)) {
		return true
	}
	if _, err := netip.ParseAddr(strings.Trim(s, "[]")); err == nil {
		return true
	}
	if _, err := netip.ParseAddrPort(s); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(s); err == nil {
		return true
	}
	return duration.MatchString(s) || filePath.MatchString(s)
}
