// Command casement-kube has the unchanged upstream Kubernetes programs in one file: etcd, kube-apiserver,
// kube-controller-manager, kube-scheduler and kubectl, selected by the name of the executable or by the first argument.
// It also has boot, which does kubeadm's work on a control plane machine, and charts, which installs the charts of
// HelmChartProxies.
package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	_ "time/tzdata" // for time zones of CronJobs

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth"
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"

	"casement.dev/casement/internal/confine"
	"casement.dev/casement/internal/controlplane"
	"casement.dev/casement/internal/helm"
	"casement.dev/casement/internal/inotify"
	"casement.dev/casement/internal/sim/fabric"
	"casement.dev/casement/internal/tuning"
)

// programs are the main functions by program name; each runs with the os.Args of a separate program.
var programs = map[string]func(){
	"etcd":                    func() { etcdmain.Main(os.Args) },
	"kube-apiserver":          func() { os.Exit(cli.Run(apiserver.NewAPIServerCommand())) },
	"kube-controller-manager": func() { os.Exit(cli.Run(controllermanager.NewControllerManagerCommand())) },
	"kube-scheduler":          func() { os.Exit(cli.Run(scheduler.NewSchedulerCommand())) },
	"kubectl":                 kubectl,
	"boot":                    func() { os.Exit(controlplane.Main(os.Args[1:], os.Stdout, os.Stderr)) },
	"charts":                  func() { os.Exit(helm.Main(os.Args[1:], os.Stderr)) },
	helm.StepName:             func() { os.Exit(helm.Step(os.Stdin, os.Stdout, os.Stderr)) },
}

func main() {
	tuning.FollowEnv()
	if os.Getenv(confine.Marker) != "" {
		if err := confine.NoPrograms(); err != nil && !errors.Is(err, confine.ErrUnsupported) {
			fmt.Fprintln(os.Stderr, "error:", err)
			os.Exit(1)
		}
	}
	if _, ok := programs[filepath.Base(os.Args[0])]; !ok && len(os.Args) > 1 {
		os.Args = os.Args[1:]
	}
	name := filepath.Base(os.Args[0])
	if usage := os.Getenv(inotify.Marker); usage != "" && slices.Contains(watching, name) {
		spareWatchers(usage)
	}
	if own, err := netip.ParseAddr(os.Getenv(confine.Reaches)); err == nil {
		if err := confine.Connections(fabric.Reach(own, name == "etcd")); err != nil {
			fmt.Fprintln(os.Stderr, "warning:", err)
		}
	}
	if run, ok := programs[name]; ok {
		run()
		return
	}
	fmt.Fprintln(os.Stderr, "usage: casement-kube etcd|kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|boot|charts [ARGS]")
	os.Exit(2)
}

// watching are the programs that watch each of their certificate files with an inotify instance.
var watching = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// spareWatchers makes this program work without inotify if the user has few instances left.
func spareWatchers(usage string) {
	if err := confine.NoWatchers(); err != nil {
		fmt.Fprintln(os.Stderr, "warning:", err)
		return
	}
	fmt.Fprintf(os.Stderr, "this program reads its certificate files once a minute instead of watching them, "+
		"and says each time that watching failed: %s\n", usage)
}

func kubectl() {
	logs.GlogSetter(cmd.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
