package ui

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
	"casement.dev/casement/internal/redact"
	"casement.dev/casement/internal/ui/model"
)

// Local is the local plane that a Reader reads.
type Local interface {
	// Azure reads the local Azure; an error means that the plane does not respond.
	Azure(ctx context.Context) (*model.Azure, error)
	// Guests lists the VMs that are booting, which is all that reading boot logs needs.
	Guests(ctx context.Context) ([]model.Guest, error)
	// Account reads the quotas of some regions and the activity log.
	Account(ctx context.Context, locations []string) (model.Account, error)
	// Console writes the boot log of the VM with a resource ID; with follow, until ctx ends.
	Console(ctx context.Context, id string, follow bool, w io.Writer) error
}

// Selection is the object of a row.
type Selection struct {
	// Key is the row's key, and Cluster the name of the object's cluster.
	Key, Cluster string
}

func selection(r *http.Request) Selection {
	q := r.URL.Query()
	return Selection{Key: q.Get("object"), Cluster: q.Get("cluster")}
}

// Reader is the Source of a management cluster.
type Reader struct {
	// Client returns a client of the management cluster. It is called for each read, because a local plane can be restarted.
	Client func() (client.Client, error)
	// Namespace limits the objects; "" means all namespaces.
	Namespace string
	Meta      model.Meta
	// Local is nil if the clusters are not in the local plane.
	Local Local

	mu sync.Mutex
	// last are the most recently read clusters, with the time of the read.
	last map[client.ObjectKey]seenCluster
}

// seenCluster is a cluster at the time of its read.
type seenCluster struct {
	model.Cluster
	at time.Time
}

func (s seenCluster) shown(key client.ObjectKey) error {
	return fmt.Errorf("%s is shown as of %s", key, s.at.UTC().Format(time.TimeOnly+" MST"))
}

// maxClusters is the maximum number of clusters that are read at the same time.
const maxClusters = 4

// readTimeoutAll is the timeout of reading everything once.
const readTimeoutAll = 30 * time.Second

// Read implements Source.
func (r *Reader) Read(ctx context.Context) model.Model {
	ctx, cancel := context.WithTimeout(ctx, readTimeoutAll)
	defer cancel()
	in := model.Input{Now: time.Now(), Meta: r.Meta}
	var errs []error
	if r.Local != nil {
		var err error
		if in.Azure, err = r.Local.Azure(ctx); err != nil {
			in.Azure = &model.Azure{}
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 { // a plane that is not running has no API server either
		var err error
		in.Clusters, err = r.clusters(ctx, in.Azure)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		in.Meta.Errors = strings.Split(redacted(err), "\n")
	}
	return model.Build(in)
}

// clusters reads all clusters. For clusters that cannot be read now, it returns the last read: a slow management
// cluster has not lost its clusters.
func (r *Reader) clusters(ctx context.Context, azure *model.Azure) ([]model.Cluster, error) {
	c, err := r.Client()
	var list clusterv1.ClusterList
	var deployments clusterv1.MachineDeploymentList
	if err == nil {
		err = c.List(ctx, &list, client.InNamespace(r.Namespace))
	}
	if err == nil {
		err = c.List(ctx, &deployments, client.InNamespace(r.Namespace))
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, key := range r.keys() {
			err = errors.Join(err, r.last[key].shown(key))
		}
		return r.known(), fmt.Errorf("list the clusters and their machine deployments: %w", err)
	}
	out, errs := make([]seenCluster, len(list.Items)), make([]error, len(list.Items))
	places := make(chan struct{}, maxClusters)
	var work sync.WaitGroup
	for i := range list.Items {
		work.Go(func() {
			places <- struct{}{}
			defer func() { <-places }()
			out[i].at = time.Now()
			out[i].Cluster, errs[i] = r.cluster(ctx, c, &list.Items[i], azure)
		})
	}
	work.Wait()
	last := map[client.ObjectKey]seenCluster{}
	for i := range out {
		if errs[i] != nil {
			continue
		}
		for _, d := range deployments.Items {
			if d.Namespace == list.Items[i].Namespace && d.Spec.ClusterName == list.Items[i].Name {
				out[i].Deployments = append(out[i].Deployments, d)
			}
		}
		last[client.ObjectKeyFromObject(&list.Items[i])] = out[i]
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range errs {
		key := client.ObjectKeyFromObject(&list.Items[i])
		if apierrors.IsNotFound(errs[i]) {
			errs[i] = nil // the cluster has just been deleted
		} else if before, ok := r.last[key]; ok && errs[i] != nil {
			last[key] = before
			errs[i] = errors.Join(errs[i], before.shown(key))
		}
	}
	r.last = last
	return r.known(), errors.Join(errs...)
}

// known returns the most recently read clusters.
func (r *Reader) known() (out []model.Cluster) {
	for _, key := range r.keys() {
		out = append(out, r.last[key].Cluster)
	}
	return out
}

// keys returns the names of the known clusters, sorted.
func (r *Reader) keys() []client.ObjectKey {
	return slices.SortedFunc(maps.Keys(r.last), func(a, b client.ObjectKey) int { return cmp.Compare(a.String(), b.String()) })
}

func (r *Reader) cluster(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, azure *model.Azure) (model.Cluster, error) {
	s, err := facts.Cluster(ctx, c, client.ObjectKeyFromObject(cluster))
	if err != nil {
		return model.Cluster{}, err
	}
	s.Logs = nil // containers' logs are only read by Why
	if azure != nil {
		r.consoles(ctx, s, azure.Guests)
	}
	return model.Cluster{Snapshot: s, Answer: walk.Cluster(s)}, nil
}

// consoles lets a snapshot read the boot logs of the local Azure's guests.
func (r *Reader) consoles(ctx context.Context, s *facts.Snapshot, guests []model.Guest) {
	if r.Local == nil {
		return
	}
	s.Consoles(ids(guests), func(id string) string {
		var b bytes.Buffer
		if err := r.Local.Console(ctx, id, false, &b); err != nil {
			return ""
		}
		return b.String()
	})
}

func ids(guests []model.Guest) []string {
	var out []string
	for _, g := range guests {
		out = append(out, g.ID)
	}
	return out
}

// errSelection is the error for a row without an object.
var errSelection = errors.New("this row is no object that can be looked at")

// find resolves a selection. For a kind that has no answer of its own, it selects the object's cluster.
func (r *Reader) find(ctx context.Context, c client.Client, s Selection) (facts.Object, error) {
	part := strings.Split(s.Key, "/")
	switch {
	case len(part) == 4 && part[0] == "object":
		switch kind := strings.ToLower(part[1]); kind {
		case "machine", "azuremachine", "azuremachinepoolmachine", "machinepool", "azuremachinepool":
			return facts.Find(ctx, c, part[2], s.Cluster, kind+"/"+part[3])
		}
		return facts.Find(ctx, c, part[2], "", "cluster/"+s.Cluster)
	case len(part) == 3 && part[0] == "cluster":
		return facts.Find(ctx, c, part[1], "", "cluster/"+part[2])
	case len(part) == 4 && part[0] == "node":
		return facts.Find(ctx, c, part[1], part[2], "node/"+part[3])
	case len(part) == 5 && part[0] == "pod":
		return facts.Find(ctx, c, part[1], part[2], "pod/"+part[3]+"/"+part[4])
	}
	return facts.Object{}, errSelection
}

// observe reads the facts about a selection.
func (r *Reader) observe(ctx context.Context, s Selection) (*facts.Snapshot, facts.Object, error) {
	c, err := r.Client()
	if err != nil {
		return nil, facts.Object{}, err
	}
	object, err := r.find(ctx, c, s)
	if err != nil {
		return nil, object, err
	}
	snapshot, err := facts.Of(ctx, c, object)
	return snapshot, object, err
}

// Why implements Source.
func (r *Reader) Why(ctx context.Context, s Selection) (walk.Answer, error) {
	snapshot, object, err := r.observe(ctx, s)
	if err != nil {
		return walk.Answer{}, err
	}
	if r.Local != nil {
		if guests, err := r.Local.Guests(ctx); err == nil {
			r.consoles(ctx, snapshot, guests)
		}
	}
	return walk.Object(snapshot, object)
}

// errNoAccount is the error if there is no local Azure to query.
var errNoAccount = errors.New("quotas and the activity log are read from the local plane; " +
	"for Azure: az vm list-usage, az monitor activity-log list")

// Account implements Source.
func (r *Reader) Account(ctx context.Context) (model.Account, error) {
	if r.Local == nil {
		return model.Account{}, errNoAccount
	}
	c, err := r.Client()
	if err != nil {
		return model.Account{}, err
	}
	var clusters infrav1.AzureClusterList
	if err := c.List(ctx, &clusters, client.InNamespace(r.Namespace)); err != nil {
		return model.Account{}, fmt.Errorf("list the AzureClusters: %w", err)
	}
	locations := map[string]bool{}
	for _, cluster := range clusters.Items {
		locations[cluster.Spec.Location] = true
	}
	return r.Local.Account(ctx, slices.Sorted(maps.Keys(locations)))
}

// errNoConsole is the error for a machine without a readable boot log.
var errNoConsole = errors.New("there is no boot log of this machine here yet; casement logs MACHINE reads the logs inside of it")

// Console implements Source.
func (r *Reader) Console(ctx context.Context, s Selection, follow bool, w io.Writer) error {
	if r.Local == nil {
		return errNoConsole
	}
	snapshot, object, err := r.observe(ctx, s)
	if err != nil {
		return err
	}
	guests, err := r.Local.Guests(ctx)
	if err != nil {
		return err
	}
	var id string
	snapshot.Consoles(ids(guests), func(vm string) string {
		id = vm
		return ""
	})
	for i := range snapshot.Machines {
		if m := &snapshot.Machines[i]; m.Name == object.Name && object.Kind == "Machine" {
			snapshot.Console(m)
		}
	}
	if id == "" {
		return errNoConsole
	}
	lines := &redactor{w: w}
	return errors.Join(r.Local.Console(ctx, id, follow, lines), lines.flush())
}

// redactor removes secrets from the text that is written to it, line by line.
type redactor struct {
	w     io.Writer
	part  []byte
	lines redact.Lines
}

// maxLine is the maximum number of bytes of an incomplete line that are buffered.
const maxLine = 64 << 10

func (r *redactor) Write(b []byte) (int, error) {
	r.part = append(r.part, b...)
	var out strings.Builder
	for {
		i := bytes.IndexByte(r.part, '\n')
		if i < 0 && len(r.part) > maxLine {
			i = len(r.part) - 1
		}
		if i < 0 {
			break
		}
		out.WriteString(r.lines.Text(strings.TrimRight(string(r.part[:i]), "\r")) + "\n")
		r.part = r.part[i+1:]
	}
	if out.Len() == 0 {
		return len(b), nil
	}
	_, err := io.WriteString(r.w, out.String())
	return len(b), err
}

func (r *redactor) flush() error {
	if len(r.part) == 0 {
		return nil
	}
	_, err := r.Write([]byte("\n"))
	return err
}

func redacted(err error) string { return redact.Text(err.Error()) }
