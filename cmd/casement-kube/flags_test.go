package main

import (
	"flag"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"casement.dev/casement/internal/sim/staticpod"
)

// noFile are the flags whose value is text and not the name of a file, socket or program. A flag that is new in a
// version has to be added here or to the table in package staticpod.
var noFile = map[string]string{
	"kube-apiserver": "admission-control advertise-address allow-metric-labels api-audiences audit-log-format " +
		"audit-log-mode audit-log-version audit-webhook-mode " +
		"audit-webhook-version authentication-token-webhook-version authorization-mode " +
		"authorization-webhook-version cors-allowed-origins disable-admission-plugins " +
		"disabled-metrics emulated-version enable-admission-plugins endpoint-reconciler-type etcd-prefix " +
		"external-hostname feature-gates " +
		"kubelet-preferred-address-types logging-format min-compatibility-version " +
		"peer-advertise-ip peer-advertise-port " +
		"requestheader-allowed-names requestheader-extra-headers-prefix " +
		"requestheader-group-headers requestheader-uid-headers requestheader-username-headers runtime-config " +
		"service-account-issuer service-account-jwks-uri " +
		"service-cluster-ip-range service-node-port-range show-hidden-metrics-for-version storage-backend " +
		"storage-media-type strict-transport-security-directives " +
		"tls-cipher-suites tls-curve-preferences tls-min-version version vmodule watch-cache-sizes",
	"kube-controller-manager": "allow-metric-labels authorization-always-allow-paths cidr-allocator-type " +
		"cloud-provider cluster-cidr cluster-name controllers disabled-metrics " +
		"emulated-version external-cloud-volume-plugin feature-gates kube-api-content-type " +
		"leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace " +
		"logging-format min-compatibility-version requestheader-allowed-names " +
		"requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers " +
		"requestheader-username-headers service-cluster-ip-range show-hidden-metrics-for-version " +
		"tls-cipher-suites tls-curve-preferences tls-min-version version vmodule",
	"kube-scheduler": "allow-metric-labels authorization-always-allow-paths disabled-metrics emulated-version " +
		"feature-gates kube-api-content-type leader-elect-resource-lock " +
		"leader-elect-resource-name leader-elect-resource-namespace logging-format " +
		"min-compatibility-version requestheader-allowed-names " +
		"requestheader-extra-headers-prefix requestheader-group-headers requestheader-uid-headers " +
		"requestheader-username-headers show-hidden-metrics-for-version " +
		"tls-cipher-suites tls-curve-preferences tls-min-version version vmodule",
	"etcd": "auto-compaction-mode backend-bbolt-freelist-type cipher-suites client-cert-allowed-hostname cors " +
		"distributed-tracing-instance-id " +
		"distributed-tracing-service-name feature-gates host-whitelist initial-cluster-token " +
		"log-format log-level logger metrics name " +
		"peer-cert-allowed-cn peer-cert-allowed-hostname tls-max-version tls-min-version",
}

// TestEveryFlagIsDecided: the table decides every flag of a static pod's program that names a file.
func TestEveryFlagIsDecided(t *testing.T) {
	for program, text := range textFlags() {
		for _, name := range text {
			plain := slices.Contains(strings.Fields(noFile[program]), name)
			switch decided := staticpod.Decided(program, name); {
			case !decided && !plain:
				t.Errorf("--%s of %s: say in internal/sim/staticpod/flags.go what becomes of the file it names, "+
					"or here that it names none", name, program)
			case decided && plain:
				t.Errorf("--%s of %s is in the table and here", name, program)
			}
		}
		for name := range strings.FieldsSeq(noFile[program]) {
			if !slices.Contains(text, name) {
				t.Errorf("%s has no flag --%s any more", program, name)
			}
		}
	}
}

// commands are Kubernetes' programs. A process can create an API server's command only once, because the command
// registers signal handlers.
var commands = sync.OnceValue(func() map[string]*cobra.Command {
	return map[string]*cobra.Command{
		"kube-apiserver": apiserver.NewAPIServerCommand(), "kube-controller-manager": controllermanager.NewControllerManagerCommand(),
		"kube-scheduler": scheduler.NewSchedulerCommand(),
	}
})

// etcdFlags returns etcd's flags; etcdmain adds choices of words, and --config-file.
func etcdFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	embed.NewConfig().AddFlags(flags)
	return flags
}

// textFlags returns the flags of each program whose values are texts, including hidden flags.
func textFlags() map[string][]string {
	out := map[string][]string{}
	for program, command := range commands() {
		command.Flags().VisitAll(func(f *pflag.Flag) {
			if !slices.Contains([]string{"bool", "int", "int32", "int64", "uint", "float32", "float64", "float",
				"duration", "quantity", "Level"}, f.Value.Type()) {
				out[program] = append(out[program], f.Name)
			}
		})
	}
	etcdFlags().VisitAll(func(f *flag.Flag) {
		_, notDuration := time.ParseDuration(f.DefValue)
		_, notNumber := strconv.ParseFloat(f.DefValue, 64)
		_, notBool := strconv.ParseBool(f.DefValue)
		if notDuration != nil && notNumber != nil && notBool != nil {
			out["etcd"] = append(out["etcd"], f.Name)
		}
	})
	return out
}
