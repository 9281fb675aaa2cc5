package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/diagnose/facts"
)

func NewFetch(a *app.App) *cobra.Command {
	var t app.Target
	var cluster string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "fetch service/NAME",
		Short: "GET the page behind a LoadBalancer service, from outside",
		Long: `Wait until a service of type LoadBalancer has an external address, and GET its
first port over HTTP. The service is in a workload cluster: service/NAME is in its
namespace default, service/NAMESPACE/NAME in another. Where this machine could not bind
the port (below 1024 without privileges), the address that the local plane bound instead
is used, and said.`,
		Example: "  casement fetch service/iis\n  casement fetch service/shop/iis --cluster demo",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := a.Client(t)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			service, err := facts.Find(ctx, c, t.Namespace, cluster, args[0])
			if err != nil {
				return err
			}
			if service.Kind != "Service" {
				return app.Usagef("name a service: service/NAME, not %q", args[0])
			}
			w, _, err := facts.Workload(ctx, c, service.Cluster)
			if err != nil {
				return err
			}
			return fetchService(ctx, a, w, client.ObjectKey{Namespace: service.Namespace, Name: service.Name})
		},
	}
	t.AddFlags(c)
	c.Flags().StringVar(&cluster, "cluster", "", "cluster of the service, where there are several")
	c.Flags().DurationVar(&timeout, "timeout", 2*time.Minute, "give up after this long (exit code 3)")
	return c
}

func fetchService(ctx context.Context, a *app.App, c client.Client, key client.ObjectKey) error {
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		address, err := externalAddress(ctx, c, key)
		if errors.Is(err, errNoAddress) {
			return err
		}
		if err == nil {
			address = a.Bound(ctx, address)
			var resp *http.Response
			if resp, err = get(ctx, "http://"+address+"/"); err == nil {
				defer resp.Body.Close()
				fmt.Fprintf(a.Out, "GET http://%s/  %s\n", address, resp.Status)
				if _, err := io.Copy(a.Data(), resp.Body); err != nil {
					return err
				}
				if resp.StatusCode >= http.StatusBadRequest {
					return fmt.Errorf("service %s answered %s", key, resp.Status)
				}
				return nil
			}
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("service %s: %w: %v", key, ctx.Err(), last)
		case <-tick.C:
		}
	}
}

func get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return http.DefaultClient.Do(req)
}

// errNoAddress is the error for a service that will never get an external address.
var errNoAddress = errors.New("nothing to fetch")

// externalAddress returns host:port of a LoadBalancer service.
func externalAddress(ctx context.Context, c client.Client, key client.ObjectKey) (string, error) {
	s := &corev1.Service{}
	if err := c.Get(ctx, key, s); apierrors.IsNotFound(err) {
		return "", fmt.Errorf("%w: there is no service %s in the cluster; name it as service/NAMESPACE/NAME", errNoAddress, key)
	} else if err != nil {
		return "", err
	}
	if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
		return "", fmt.Errorf("%w: service %s is of type %s, not LoadBalancer", errNoAddress, key, s.Spec.Type)
	}
	for _, i := range s.Status.LoadBalancer.Ingress {
		if host := i.IP + i.Hostname; host != "" {
			return net.JoinHostPort(host, strconv.Itoa(int(s.Spec.Ports[0].Port))), nil
		}
	}
	return "", fmt.Errorf("service %s has no external address yet", key)
}
