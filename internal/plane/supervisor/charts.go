package supervisor

import (
	"context"
	"fmt"
	"sync"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"casement.dev/casement/internal/helm/v1alpha1"
	"casement.dev/casement/internal/kubeproc"
	"casement.dev/casement/internal/process"
)

// chartInstaller runs the program that installs the charts of HelmChartProxies while there are any.
type chartInstaller struct {
	cache client.Reader
	spec  process.Spec

	mu      sync.Mutex
	running *process.Process
}

// newChartInstaller returns the chart installer of a plane, which reads objects from cache.
func (s *supervisor) newChartInstaller(cache client.Reader) (*chartInstaller, error) {
	binary, err := kubeproc.Find()
	if err != nil {
		return nil, err
	}
	argv := []string{"charts", "--kubeconfig=" + s.opts.Dir.Kubeconfig(), "--cache=" + s.opts.Dir.Path("helm")}
	if s.opts.Charts != "" {
		argv = append(argv, "--charts="+s.opts.Charts)
	}
	return &chartInstaller{cache: cache, spec: process.Spec{
		Name: "charts", Path: binary, Argv: argv, Dir: s.opts.Dir.Path("management"),
		Log: s.opts.Dir.Path("management", "log", "charts.log"), Restart: true, Records: s.opts.Dir.Records(),
	}}, nil
}

func (i *chartInstaller) setUp(mgr ctrl.Manager) error {
	// Only creations and deletions are relevant.
	comesOrGoes := builder.WithPredicates(predicate.Funcs{UpdateFunc: func(event.UpdateEvent) bool { return false }})
	all := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	return ctrl.NewControllerManagedBy(mgr).Named("charts").
		Watches(&v1alpha1.HelmChartProxy{}, all, comesOrGoes).Watches(&v1alpha1.HelmReleaseProxy{}, all, comesOrGoes).
		WithOptions(controller.Options{SkipNameValidation: new(true)}).Complete(i)
}

// Reconcile implements reconcile.Reconciler.
func (i *chartInstaller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	var proxies v1alpha1.HelmChartProxyList
	var releases v1alpha1.HelmReleaseProxyList
	if err := i.cache.List(ctx, &proxies); err != nil {
		return ctrl.Result{}, err
	}
	if err := i.cache.List(ctx, &releases); err != nil {
		return ctrl.Result{}, err
	}
	if len(proxies.Items)+len(releases.Items) == 0 {
		i.stop(ctx)
		return ctrl.Result{}, nil
	}
	return ctrl.Result{}, i.start()
}

func (i *chartInstaller) start() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running != nil {
		return nil
	}
	p, err := process.Start(i.spec)
	if err != nil {
		return fmt.Errorf("start what installs the charts of HelmChartProxies: %w", err)
	}
	i.running = p
	return nil
}

// endCharts is the time that the program has to end.
const endCharts = 5 * time.Second

// stop ends the program if it is running. The next start resumes its work.
func (i *chartInstaller) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endCharts)
	defer cancel()
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.running != nil {
		i.running.Stop(ctx)
		i.running = nil
	}
}
