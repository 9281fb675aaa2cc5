// Package model turns objects of clusters and of the local Azure into the rows that the page shows, and computes the
// difference between two such models. It is pure: gathered objects in, JSON rows out. It reads nothing, and package
// redact removes the secrets from the texts of objects. Only internal/ui and the command line import it.
package model

import (
	"bytes"
	"encoding/json"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"casement.dev/casement/internal/diagnose/facts"
	"casement.dev/casement/internal/diagnose/walk"
)

// Model has everything that the page shows, as rows by key. The first part of a key is the kind of the row: meta,
// cluster, object, vnet, subnet, nsg, lb, set, vm, node, pod, boot or calls. A row never changes; a model with another
// row is another model.
type Model map[string]json.RawMessage

// Change is the difference that turns one model into another.
type Change struct {
	// Full is true if the rows replace all rows.
	Full bool `json:"full,omitempty"`
	// Set has the new and changed rows; Gone has the keys of deleted rows.
	Set  Model    `json:"set,omitempty"`
	Gone []string `json:"gone,omitempty"`
}

// Empty reports whether the change contains nothing.
func (c Change) Empty() bool { return !c.Full && len(c.Set) == 0 && len(c.Gone) == 0 }

// Diff returns the change from one model to the next; if from is nil, the change has all rows.
func Diff(from, to Model) Change {
	if from == nil {
		return Change{Full: true, Set: to}
	}
	c := Change{Set: Model{}}
	for key, row := range to {
		if before, ok := from[key]; !ok || !bytes.Equal(before, row) {
			c.Set[key] = row
		}
	}
	for key := range from {
		if _, ok := to[key]; !ok {
			c.Gone = append(c.Gone, key)
		}
	}
	return c
}

// Input is the data from which a model is built.
type Input struct {
	// Now is the time at which the data was read; durations are measured until then.
	Now  time.Time
	Meta Meta
	// Clusters are the clusters that the page shows.
	Clusters []Cluster
	// Azure is the local Azure; nil if the clusters are elsewhere.
	Azure *Azure
}

// Meta describes the content of the page.
type Meta struct {
	// Source is the name of the management cluster, and Server its address.
	Source string `json:"source"`
	Server string `json:"server,omitempty"`
	// Local is true for the local plane, which has consoles, guests and ARM calls.
	Local bool `json:"local"`
	// Contexts are the contexts of the kubeconfig that the page can switch to, and Context the shown one.
	Contexts []string `json:"contexts,omitempty"`
	Context  string   `json:"context,omitempty"`
	// Command is the casement command for this page's user, with --state if the page's command had it.
	Command string `json:"command"`
	// Errors describe the objects that could not be read.
	Errors []string `json:"errors,omitempty"`
}

// Cluster has the objects of one cluster.
type Cluster struct {
	Snapshot    *facts.Snapshot
	Deployments []clusterv1.MachineDeployment
	// Answer is the first problem of the cluster.
	Answer walk.Answer
}

// Azure is the state of the local Azure.
type Azure struct {
	// Documents are resources as ARM's clients get them, by resource type.
	Documents map[string][]json.RawMessage
	Guests    []Guest
	// Calls are the counts of requests in the last minutes.
	Calls []Minute
}

// Guest is a VM of the local Azure that is booting.
type Guest struct {
	// ID is the VM's resource ID.
	ID string
	// Phase is the progress of the boot; Message is the reason why it waits or failed.
	Phase, Message string
}

// Build returns the model for an input.
func Build(in Input) Model {
	b := &builder{in: in, rows: Model{}, vms: map[string]*vm{}}
	for i := range in.Clusters {
		c := &in.Clusters[i]
		b.cluster(c)
		b.nodes(c)
		b.boots(c)
		b.machineVMs(c)
		if in.Azure == nil {
			b.specNetwork(c.Snapshot.AzureCluster)
		}
	}
	if in.Azure != nil {
		b.documents(in.Azure)
		for _, m := range in.Azure.Calls {
			b.put("calls/"+m.At.UTC().Format("2006-01-02T15:04"), m)
		}
	}
	for key, v := range b.vms {
		b.put(key, v)
	}
	b.put("meta", in.Meta)
	return b.rows
}

// builder collects rows.
type builder struct {
	in   Input
	rows Model
	// vms are the virtual machines by key, from their machines and from the local Azure.
	vms map[string]*vm
}

func (b *builder) put(key string, row any) {
	data, err := json.Marshal(row)
	if err != nil {
		return // rows are structs of strings and numbers, which can always be encoded
	}
	b.rows[key] = data
}
