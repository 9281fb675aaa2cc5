package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

// Joiner lets a machine with an image version join a throw-away cluster. The caller implements it, because this package
// only calls Azure.
type Joiner interface {
	// Join creates the cluster, unless an earlier process has created it, and returns when a machine with the version
	// is a Ready node. Its error explains why none is.
	Join(ctx context.Context, t Trial) error
	// Leave deletes the cluster with a name and all its resources, and waits until it is gone. It returns nil if there
	// is no such cluster.
	Leave(ctx context.Context, name string) error
}

// Trial describes the throw-away cluster of an image version.
type Trial struct {
	// Name is the name of the cluster, its namespace and its resource group.
	Name, Location, KubernetesVersion string
	// Release is the image's release, such as 2022 or ubuntu-24.04; OS is Windows or Linux.
	Release, OS string
	// Gallery, ResourceGroup, Definition, Version and SubscriptionID identify the image version.
	Gallery, ResourceGroup, Definition, Version, SubscriptionID string
	// Timeout bounds the wait.
	Timeout time.Duration
}

// errNoJoiner is the error if a build has a throw-away cluster but no management cluster is given in which to delete it.
var errNoJoiner = errors.New("it has a throw-away cluster: give the management cluster that has it by --kubeconfig")

// longestTrial is the number of characters of a build's name that the name of its cluster contains: machine names add a
// suffix, and a hostname has at most 63 characters.
const longestTrial = 24

// trialName returns the name of the throw-away cluster of a build.
func (b *builder) trialName() string {
	name := b.Build.Metadata.Name
	if len(name) > longestTrial {
		sum := sha256.Sum256([]byte(name))
		name = name[:longestTrial-12] + "-" + hex.EncodeToString(sum[:5])
	}
	return "img-" + name
}

// join lets a machine with the version join a cluster, if Config.Join is set. The cluster is deleted with the build's
// resource group, by the last step or after a failure.
func (b *builder) join(ctx context.Context) error {
	if b.Join == nil {
		fmt.Fprintln(b.Out, "      not asked for (--join)")
		return nil
	}
	b.trial = b.trialName()
	// The resource group is tagged before the cluster exists, so that the cluster of a killed build is found.
	if err := b.mark(ctx, "trial"); err != nil {
		return err
	}
	t := b.spec.Target
	err := b.Join.Join(ctx, Trial{
		Name: b.trial, Location: b.spec.Location, KubernetesVersion: b.spec.KubernetesVersion,
		Release: b.spec.Source.Release, OS: b.release.OS, Gallery: t.Gallery, ResourceGroup: t.ResourceGroup, Definition: t.Definition,
		Version: t.Version, SubscriptionID: b.Client.SubscriptionID(), Timeout: b.spec.Timeouts.Join.Duration,
	})
	if err != nil {
		return &fixed{part: "join", err: err,
			fix: "look at the cluster with --keep: casement why " + b.trial + " -n " + b.trial}
	}
	return nil
}

// leave deletes the throw-away cluster of a build, if the tag of its resource group records
// one.
func leave(ctx context.Context, joiner Joiner, name string) error {
	switch {
	case name == "":
		return nil
	case joiner == nil:
		return errNoJoiner
	}
	if err := joiner.Leave(ctx, name); err != nil {
		return fmt.Errorf("delete the throw-away cluster %s: %w", name, err)
	}
	return nil
}
