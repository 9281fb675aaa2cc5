package supervisor

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"casement.dev/casement/internal/limit"
	"casement.dev/casement/internal/sim/fabric"
)

// openGateway starts a proxy, with a password, to private API servers, whose names can only be resolved in their own
// networks, and returns its URL.
func (s *supervisor) openGateway(ctx context.Context, net *fabric.Fabric, password string) (string, error) {
	l, err := listenKept(s.opts.Dir.Path("gateway.port"))
	if err != nil {
		return "", err
	}
	go func() {
		if err := net.ServeGateway(ctx, limit.Default().Listener(l), password); err != nil {
			s.log.Error(err, "the gateway to private API servers ended")
		}
	}()
	return "http://" + l.Addr().String(), nil
}

// gatewayWriter adds the gateway to the kubeconfigs of private clusters, so that Cluster API and users on this machine
// can connect to the API servers.
type gatewayWriter struct {
	client client.Client
	url    string
}

func (g *gatewayWriter) setUp(mgr ctrl.Manager) error {
	kubeconfig := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return strings.HasSuffix(o.GetName(), "-"+string(secret.Kubeconfig)) && o.GetLabels()[clusterv1.ClusterNameLabel] != ""
	})
	return ctrl.NewControllerManagedBy(mgr).
		Named("gateway").
		For(&corev1.Secret{}, builder.OnlyMetadata, builder.WithPredicates(kubeconfig)).
		Complete(reconcile.Func(g.reconcile))
}

func (g *gatewayWriter) reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: request.Namespace, Name: request.Name}}
	if err := g.client.Get(ctx, request.NamespacedName, s); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	data, err := throughGateway(s.Data[secret.KubeconfigDataName], g.url)
	if err != nil || data == nil {
		return ctrl.Result{}, err
	}
	before := s.DeepCopy()
	s.Data[secret.KubeconfigDataName] = data
	return ctrl.Result{}, client.IgnoreNotFound(g.client.Patch(ctx, s, client.MergeFrom(before)))
}

// throughGateway adds the proxy to the clusters of a kubeconfig whose server is a name; an IP address is the plane's
// own and needs no proxy. It returns nil if there is nothing to add.
func throughGateway(kubeconfig []byte, gateway string) ([]byte, error) {
	config, err := clientcmd.Load(kubeconfig)
	if err != nil {
		// The parser's error may quote the kubeconfig, which is secret.
		return nil, fmt.Errorf("a kubeconfig secret holds no valid kubeconfig")
	}
	changed := false
	for _, cluster := range config.Clusters {
		server, err := url.Parse(cluster.Server)
		if err == nil && net.ParseIP(server.Hostname()) == nil && cluster.ProxyURL != gateway {
			cluster.ProxyURL, changed = gateway, true
		}
	}
	if !changed {
		return nil, nil
	}
	return clientcmd.Write(*config)
}
