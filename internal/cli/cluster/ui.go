package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/catalog"
	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/plane"
	"casement.dev/casement/internal/ui"
	"casement.dev/casement/internal/ui/model"
)

func NewUI(a *app.App) *cobra.Command {
	var t app.Target
	var port uint16
	var save string
	c := &cobra.Command{
		Use:   "ui",
		Short: "Show clusters, Azure and boots in a browser, live",
		Long: `Serve a page on 127.0.0.1 that shows the clusters of the local plane, or read-only
those of any management cluster: the objects with problems first, the resources of
Azure, nodes and pods by Windows build, where the time of each boot went, the ARM calls
of each minute, and why an object is not well. It changes nothing.

The address that is printed holds a token; who has it sees what you see. It is not
handed to a browser on a command line, which others on this machine can read: open it
yourself. --save writes the page as one file that needs nothing else, to hand to a
colleague. What has the shape of a secret is taken out; look through it before you send
it.`,
		Example: `  casement ui
  casement ui --kubeconfig management.kubeconfig --port 8090
  casement ui --save report.html`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			source := uiSource(cmd.Context(), a, t)
			if save != "" {
				return saveUI(cmd.Context(), a, source, save)
			}
			contexts := map[string]*ui.Reader{"": source}
			for _, name := range source.Meta.Contexts {
				of := t
				of.Context = name
				contexts[name] = uiSource(cmd.Context(), a, of)
			}
			return serveUI(cmd.Context(), a, contexts, port)
		},
	}
	t.AddFlags(c)
	namespace := c.Flags().Lookup("namespace")
	namespace.Usage, namespace.DefValue = "only the Cluster API objects of this namespace (default all)", ""
	t.Namespace = ""
	c.Flags().Uint16Var(&port, "port", 0, "port to listen on (default a free one)")
	c.Flags().StringVar(&save, "save", "", "write the page to this file instead, which must not exist")
	return c
}

// uiSource returns the reader of a target's management cluster. If the target is the local plane, the reader also reads
// the plane, even if the plane is not running yet.
func uiSource(ctx context.Context, a *app.App, t app.Target) *ui.Reader {
	r := &ui.Reader{Namespace: t.Namespace, Client: func() (client.Client, error) { return a.Client(t) },
		Meta: model.Meta{Source: "management cluster", Command: "casement"}}
	if a.Named != "" {
		r.Meta.Command += " --state " + a.Named
	}
	if t.Context != "" {
		r.Meta.Source = "context " + t.Context
	}
	if raw, err := a.ClientConfig(t).RawConfig(); err == nil && len(raw.Contexts) > 1 {
		r.Meta.Contexts, r.Meta.Context = slices.Sorted(maps.Keys(raw.Contexts)), cmp.Or(t.Context, raw.CurrentContext)
	}
	local := a.ManagementKubeconfig(t.Kubeconfig) == a.Dir.Kubeconfig()
	if cfg, err := a.RestConfig(t); err == nil {
		r.Meta.Server = cfg.Host
		if status, err := plane.NewClient(a.Dir).Status(ctx); err == nil {
			local = local || status.Kubernetes.Server == cfg.Host
		}
	}
	if local {
		r.Meta.Source, r.Meta.Local, r.Meta.Server = "local plane", true, ""
		r.Local = &uiPlane{client: plane.NewClient(a.Dir)}
	}
	return r
}

func serveUI(ctx context.Context, a *app.App, contexts map[string]*ui.Reader, port uint16) error {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))))
	if err != nil {
		return fmt.Errorf("listen for the page: %w", err)
	}
	server := ui.New(func(name string) (ui.Source, bool) { r, ok := contexts[name]; return r, ok }, l.Addr())
	fmt.Fprintf(a.Out, "Open %s\nIts token is for you alone. Ctrl-C ends it.\n", server.Address())
	return server.Serve(ctx, l)
}

func saveUI(ctx context.Context, a *app.App, source ui.Source, file string) (err error) {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if err := ui.Save(ctx, source, time.Now(), out); err != nil {
		return err
	}
	fmt.Fprintf(a.Out, "%s: open it in a browser. Look through it before you send it: what does not look like a secret is in it.\n", file)
	return nil
}

// uiPlane reads the local plane for the page. It remembers the ARM calls of the last minutes. It is safe for concurrent use.
type uiPlane struct {
	client *plane.Client

	mu      sync.Mutex
	after   uint64
	minutes []model.Minute
}

// Guests implements ui.Local.
func (p *uiPlane) Guests(ctx context.Context) ([]model.Guest, error) {
	status, err := p.client.Status(ctx)
	if err != nil {
		return nil, err
	}
	if status.Phase == "starting" || status.Phase == "failed" {
		return nil, fmt.Errorf("the local plane is %s %s%s", status.Phase, status.Waiting, status.Error)
	}
	guests := make([]model.Guest, 0, len(status.Guests))
	for _, g := range status.Guests {
		guests = append(guests, model.Guest{ID: g.ID, Phase: g.Phase, Message: g.Message})
	}
	return guests, nil
}

// Azure implements ui.Local.
func (p *uiPlane) Azure(ctx context.Context) (*model.Azure, error) {
	guests, err := p.Guests(ctx)
	if err != nil {
		return nil, err
	}
	documents, err := p.client.AzureDocuments(ctx, model.DocumentTypes()...)
	if err != nil {
		return nil, err
	}
	minutes, err := p.calls(ctx)
	return &model.Azure{Documents: documents, Guests: guests, Calls: minutes}, err
}

// calls counts the new ARM calls since its previous invocation, by minute.
func (p *uiPlane) calls(ctx context.Context) ([]model.Minute, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := p.client.AzureLog(ctx, p.after)
	if err != nil {
		p.after, p.minutes = 0, nil // a restarted plane numbers its calls from 1
		return nil, err
	}
	calls := make([]model.Call, 0, len(log))
	for _, c := range log {
		p.after = max(p.after, c.Number)
		calls = append(calls, model.Call{At: c.Time, Method: c.Method, Type: c.Type, Status: c.Status})
	}
	p.minutes = model.Tally(p.minutes, calls)
	return p.minutes, nil
}

// Console implements ui.Local.
func (p *uiPlane) Console(ctx context.Context, id string, follow bool, w io.Writer) error {
	return p.client.Console(ctx, id, follow, w)
}

// activityVersion is the API version of the activity log, and activitySpan the period that is read. Source:
// https://learn.microsoft.com/rest/api/monitor/activity-logs/list.
const (
	activityVersion = "2015-04-01"
	activitySpan    = 24 * time.Hour
)

// Account implements ui.Local. Its own calls are in the log of calls too.
func (p *uiPlane) Account(ctx context.Context, locations []string) (model.Account, error) {
	var out model.Account
	status, err := p.client.Status(ctx)
	if err != nil {
		return out, err
	}
	azure, err := status.Azure.ARM()
	if err != nil {
		return out, err
	}
	known := catalog.New(azure, time.Now)
	for _, at := range locations {
		usages, err := known.Usages(ctx, at)
		if err != nil {
			return out, err
		}
		for _, u := range usages {
			out.Quotas = append(out.Quotas, model.Quota{Location: at, Name: u.Display, Used: u.Current, Limit: u.Limit})
		}
	}
	collection := "/subscriptions/" + azure.SubscriptionID() + "/providers/Microsoft.Insights/eventtypes/management/values"
	since := time.Now().Add(-activitySpan).UTC().Format(time.RFC3339)
	for raw, err := range azure.List(ctx, collection, activityVersion, arm.Query("$filter", "eventTimestamp ge '"+since+"'")) {
		if err != nil {
			return out, fmt.Errorf("read the activity log: %w", err)
		}
		var e struct {
			Caller, ResourceID    string
			EventTimestamp        time.Time
			OperationName, Status struct{ Value string }
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return out, fmt.Errorf("read the activity log: %w", err)
		}
		out.Events = append(out.Events, model.Event{At: e.EventTimestamp, Operation: e.OperationName.Value, Resource: e.ResourceID,
			Status: e.Status.Value, By: e.Caller})
	}
	return out, nil
}
