package rules

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// shortName matches a Service's name with its namespace, and optionally svc, in an address.
var shortName = regexp.MustCompile(`^(?:[a-z]+://)?([a-z][-a-z0-9]*)\.([a-z][-a-z0-9]*)(?:\.svc)?(?::\d+)?(?:/\S*)?$`)

// pinging matches the start of a program that sends ICMP, up to its arguments.
var pinging = regexp.MustCompile(`(?i)(?:^|[\s;&|/\\])(?:ping(?:\.exe)?|test-connection)\s+([^;&|]*)`)

// probes are the fields of a container's probes.
var probes = []string{"livenessProbe", "readinessProbe", "startupProbe"}

// outside reports whether a word is an address outside the cluster: a public one, or a complete name in another domain.
func outside(word string) bool {
	word = strings.ToLower(strings.Trim(word, `"'`))
	if a, err := netip.ParseAddr(word); err == nil {
		return a.IsGlobalUnicast() && !a.IsPrivate()
	}
	dot := strings.LastIndex(word, ".")
	return dot > 0 && dot < len(word)-2 && !strings.ContainsAny(word, `\/$%(){}=`) && !strings.HasPrefix(word, "-") &&
		!slices.Contains([]string{".local", ".svc", ".internal", ".exe", ".ps1", ".txt", ".log"}, word[dot:]) && !numeric(word)
}

// numeric reports whether a word is a number such as 1.5.
func numeric(word string) bool { return strings.Trim(word, "0123456789.") == "" }

// ports returns a Service with a named port, and two pods that it selects.
func ports(first, second int) string {
	pod := func(name string, port int) string {
		return "---\napiVersion: v1\nkind: Pod\nmetadata:\n  name: " + name + "\n  labels:\n    app: example\nspec:\n" +
			"  nodeSelector:\n    kubernetes.io/os: windows\n" + container +
			fmt.Sprintf("    ports:\n    - name: web\n      containerPort: %d\n", port)
	}
	return "apiVersion: v1\nkind: Service\nmetadata:\n  name: example\nspec:\n  selector:\n    app: example\n  ports:\n" +
		"  - port: 80\n    targetPort: web\n" + pod("one", first) + pod("two", second)
}
