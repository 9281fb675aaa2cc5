package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/yaml"

	"casement.dev/casement/internal/kubeproc"
)

// metrics returns the metrics of the management API server, or of the API server of a --kubeconfig.
func (p *plane) metrics(args ...string) ([]byte, error) {
	return p.casement(nil, append([]string{"kubectl", "get", "--raw", "/metrics"}, args...)...)
}

// requests returns the number of requests that an API server has answered, by verb, and the number
// that it has sent itself.
func requests(metrics []byte) (map[string]float64, error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(metrics))
	if err != nil {
		return nil, fmt.Errorf("read the API server's metrics: %w", err)
	}
	out := map[string]float64{}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		out[label(m, "verb")] += m.GetCounter().GetValue()
	}
	for _, m := range families["apiserver_admission_webhook_request_total"].GetMetric() {
		out["(webhook)"] += m.GetCounter().GetValue()
	}
	for _, m := range families["apiserver_crd_conversion_webhook_duration_seconds"].GetMetric() {
		out["(conversion)"] += float64(m.GetHistogram().GetSampleCount())
	}
	return out, nil
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// asked counts the requests in an audit log after an offset, by askedRow. A watch counts when it
// ends, as in the metrics. A missing log counts as empty.
func asked(file string, from int64) (map[string]float64, error) {
	var out map[string]float64
	err := read(file, from, func(e *auditv1.Event) {
		if out == nil {
			out = map[string]float64{}
		}
		out[askedRow(who(e), resource(e), e.Verb)]++
	})
	return out, err
}

// read calls f for each answered request in an audit log after an offset. A missing log counts as
// empty.
func read(file string, from int64, f func(*auditv1.Event)) error {
	log, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer log.Close()
	if _, err := log.Seek(from, io.SeekStart); err != nil {
		return err
	}
	for d := json.NewDecoder(log); ; {
		var e auditv1.Event
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // the last event is still being written
			return nil
		case err != nil:
			return fmt.Errorf("read the audit log %s: %w", file, err)
		case e.Stage == auditv1.StageResponseComplete:
			f(&e)
		}
	}
}

// untilReady returns the average number of requests until a node reports that it is ready: requests
// of its kubelet, of pods whose tokens name the node, and of kubeadm before, whose requests name no
// node. The first report of a node after its registration counts as ready.
func untilReady(file string) (float64, error) {
	var joining float64
	ready, before := map[string]bool{}, map[string]float64{}
	err := read(file, 0, func(e *auditv1.Event) {
		node, own := strings.CutPrefix(e.User.Username, nodeUser)
		if named := e.User.Extra[serviceaccount.NodeNameKey]; !own && len(named) > 0 {
			node, own = named[0], true
		}
		switch {
		case strings.HasPrefix(e.UserAgent, "kubeadm"), strings.HasPrefix(e.User.Username, tokenUser):
			joining++
		case own && !ready[node]:
			before[node]++
			ready[node] = e.Verb == "patch" && resource(e) == "nodes/status" && strings.HasPrefix(e.User.Username, nodeUser)
		}
	})
	if err != nil || len(before) == 0 {
		return 0, err
	}
	for _, n := range before {
		joining += n
	}
	return joining / float64(len(before)), nil
}

func askedRow(who, resource, verb string) string {
	return fmt.Sprintf("%-66.66s %-40s %-8s", who, resource, verb)
}

// build matches the version, platform and commit in a user agent.
var build = regexp.MustCompile(`/\S+ \([^)]*\)( [^/\s]+/[^/\s]+)?`)

// agent returns the program and its component in a user agent.
func agent(userAgent string) string { return build.ReplaceAllString(userAgent, "") }

// Each node is a separate user, and so is each machine that joins.
const (
	nodeUser  = "system:node:"
	tokenUser = "system:bootstrap:"
)

// who returns the program of an event and its user, because one program may run as several users.
func who(e *auditv1.Event) string {
	program := agent(e.UserAgent)
	if strings.Contains(program, e.User.Username) {
		return program
	}
	for _, kind := range []string{nodeUser, tokenUser} {
		if strings.HasPrefix(e.User.Username, kind) {
			return program + " as " + kind + "NAME"
		}
	}
	return program + " as " + e.User.Username
}

// resource returns the resource and subresource of an event, or its path.
func resource(e *auditv1.Event) string {
	if e.ObjectRef == nil {
		path, _, _ := strings.Cut(e.RequestURI, "?")
		return path
	}
	name := e.ObjectRef.Resource
	if e.ObjectRef.Subresource != "" {
		name += "/" + e.ObjectRef.Subresource
	}
	return name
}

// mostAsked is the largest number of rows of requests that are printed.
const mostAsked = 30

// print prints the most frequent requests to the API server with their users, in total and per node.
func (a answered) print(out io.Writer, nodes int) {
	if len(a.asked) == 0 {
		return
	}
	fmt.Fprintf(out, "  %s\n  %s %10s %8s\n", a.api, askedRow("USER AGENT AND USER", "RESOURCE", "VERB"), "REQUESTS", "A NODE")
	var others float64
	for i, row := range byValue(a.asked) {
		if i >= mostAsked {
			others += a.asked[row]
			continue
		}
		fmt.Fprintf(out, "  %s %10.0f %8.2f\n", row, a.asked[row], a.asked[row]/float64(nodes))
	}
	fmt.Fprintf(out, "  %s %10.0f %8.2f\n", askedRow("all others", "", ""), others, others/float64(nodes))
	if a.untilReady > 0 {
		fmt.Fprintf(out, "  A node's kubeadm, kubelet and pods until it reports that it is ready: %.1f requests\n", a.untilReady)
	}
	fmt.Fprintln(out, "  The processor times above include the audit log that these are counted in.")
}

// Guest paths of a cluster's API server's audit policy and audit log.
const (
	guestPolicy = "/etc/kubernetes/audit.yaml"
	guestLog    = "/var/log/kubernetes/audit.log"
)

// audited returns a cluster's manifests with an API server that logs all requests.
func audited(manifest []byte) ([]byte, error) {
	policy, err := kubeproc.AuditPolicy(kubeproc.Everyone)
	if err != nil {
		return nil, err
	}
	object := func(pairs ...string) any {
		fields := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			fields[pairs[i]] = pairs[i+1]
		}
		return fields
	}
	mounted := func(name, file, kind string) any {
		return object("name", name, "hostPath", file, "mountPath", file, "pathType", kind)
	}
	documents := strings.Split(string(manifest), "\n---\n")
	for i, document := range documents {
		o := map[string]any{}
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return nil, err
		}
		if o["kind"] != "KubeadmControlPlane" {
			continue
		}
		err := errors.Join(
			add(o, object("path", guestPolicy, "permissions", "0600", "content", string(policy)), "files"),
			add(o, object("name", "audit-policy-file", "value", guestPolicy), "clusterConfiguration", "apiServer", "extraArgs"),
			add(o, object("name", "audit-log-path", "value", guestLog), "clusterConfiguration", "apiServer", "extraArgs"),
			add(o, mounted("audit-policy", guestPolicy, "File"), "clusterConfiguration", "apiServer", "extraVolumes"),
			add(o, mounted("audit-log", path.Dir(guestLog), "DirectoryOrCreate"), "clusterConfiguration", "apiServer", "extraVolumes"))
		if err != nil {
			return nil, err
		}
		changed, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		documents[i] = string(changed)
	}
	return []byte(strings.Join(documents, "\n---\n")), nil
}

// add adds an element to a list below spec.kubeadmConfigSpec of a KubeadmControlPlane.
func add(o map[string]any, element any, fields ...string) error {
	fields = append([]string{"spec", "kubeadmConfigSpec"}, fields...)
	list, _, err := unstructured.NestedSlice(o, fields...)
	if err != nil {
		return err
	}
	return unstructured.SetNestedSlice(o, append(list, element), fields...)
}

// guestAudit returns the path of the audit log of a plane's only cluster.
func guestAudit(home string) (string, error) {
	files, err := filepath.Glob(filepath.Join(home, "vms", "*", "*", "rootfs", filepath.FromSlash(guestLog)))
	if err != nil {
		return "", err
	}
	if len(files) != 1 {
		return "", fmt.Errorf("below %s is not one audit log of a cluster but %q", home, files)
	}
	return files[0], nil
}
