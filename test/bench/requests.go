package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// metrics returns the metrics of the management API server, or of that of a --kubeconfig.
func (p *plane) metrics(args ...string) ([]byte, error) {
	return p.casement(nil, append([]string{"kubectl", "get", "--raw", "/metrics"}, args...)...)
}

// requests returns how many requests an API server has answered, by verb, and how many it
// sent itself.
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

// asked counts the requests in an audit log from an offset on, by askedRow. A watch counts when it
// ends, as in the metrics. A log that is missing has none.
func asked(file string, from int64) (map[string]float64, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for d := json.NewDecoder(f); ; {
		var e auditv1.Event
		switch err := d.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF): // an event that is being written
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("read the audit log %s: %w", file, err)
		case e.Stage == auditv1.StageResponseComplete:
			out[askedRow(who(&e), resource(&e), e.Verb)]++
		}
	}
}

func askedRow(who, resource, verb string) string {
	return fmt.Sprintf("%-66.66s %-40s %-8s", who, resource, verb)
}

// build matches what a user agent says of a program's version, platform and commit.
var build = regexp.MustCompile(`/\S+ \([^)]*\)( [^/\s]+/[^/\s]+)?`)

// agent shortens a user agent to the program and what it says of its part.
func agent(userAgent string) string { return build.ReplaceAllString(userAgent, "") }

// who returns the program that an event is of, and its user: one program may be several.
func who(e *auditv1.Event) string {
	program := agent(e.UserAgent)
	if strings.Contains(program, e.User.Username) {
		return program
	}
	return program + " as " + e.User.Username
}

// resource returns the resource and subresource that an event is about, or its path.
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

// mostAsked is how many rows of requests are printed.
const mostAsked = 30

// printAsked prints who asks what of the management API most.
func (p point) printAsked(out io.Writer) {
	if len(p.asked) == 0 {
		return
	}
	fmt.Fprintf(out, "  %s %10s %8s\n", askedRow("USER AGENT AND USER", "RESOURCE", "VERB"), "REQUESTS", "A NODE")
	var others float64
	for i, row := range byValue(p.asked) {
		if i >= mostAsked {
			others += p.asked[row]
			continue
		}
		fmt.Fprintf(out, "  %s %10.0f %8.2f\n", row, p.asked[row], p.asked[row]/float64(p.nodes))
	}
	fmt.Fprintf(out, "  %s %10.0f %8.2f\n", askedRow("all others", "", ""), others, others/float64(p.nodes))
	fmt.Fprintln(out, "  The processor times above include the audit log that these are counted in.")
}
