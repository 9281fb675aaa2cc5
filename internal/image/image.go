// Package image builds node images: from a Windows Server or Ubuntu image in the marketplace to an image version in a
// Compute Gallery, as a list of steps that use only Azure Resource Manager. A build records its last finished step as a
// tag of its resource group, so that another process can resume it; that group contains everything that it creates
// except the image version.
//
// The package does not log in to machines, does not depend on which Azure it calls, and does not print secrets. The
// command line imports it.
package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// Config is a build and the settings of its run.
type Config struct {
	Client *arm.Client
	Build  *ImageBuild
	// Out receives a line for each step.
	Out io.Writer
	// Sleep waits between two polls; nil waits in real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Now returns the time with which end-of-life dates are compared; nil means time.Now.
	Now func() time.Time
	// Keep is true to keep the build's resource group after a failure, for inspection.
	Keep bool
	// Join lets a machine with the image version join a throw-away cluster before the version is published; nil skips this test.
	Join Joiner
}

// Step is one part of a build. Running it twice has the same effect as running it once.
type Step struct {
	Name string
	// Does describes the step in a few words.
	Does string
	run  func(*builder, context.Context) error
}

// Steps returns the parts of every build, in order.
func Steps() []Step {
	return []Step{
		{"resolve", "find the source image, the gallery and a SHA-256 of each download", (*builder).resolve},
		{"provision", "make a resource group with a network and a virtual machine", (*builder).provision},
		{"customise", "run the scripts by Run Command, restarting the machine where one asks for it", (*builder).customise},
		{"verify", "compare what is installed with what the file asks for", (*builder).verify},
		{"generalise", "run sysprep or waagent, deallocate and generalize the machine", (*builder).generalise},
		{"capture", "make the image version, excluded from latest", (*builder).capture},
		{"trial", "boot a machine from the version and check it", (*builder).tryOut},
		{"join", "let a machine of the version join a throw-away cluster, where asked for", (*builder).join},
		{"publish", "let the version be latest", (*builder).publish},
		{"prune", "delete the throw-away cluster and the resource group", (*builder).prune},
	}
}

// Result is the result of a successful build.
type Result struct {
	// VersionID is the resource ID of the image version.
	VersionID string `json:"versionID"`
	// Holds are the programs on the image with their versions.
	Holds map[string]string `json:"holds,omitempty"`
	// Warnings name components whose support has ended or ends soon.
	Warnings []string `json:"warnings,omitempty"`
}

// StepError is the failure of a build, with its step and the remedy.
type StepError struct {
	// Step is the name of the step; Part is the script in it that failed, if any.
	Step, Part string
	// Fix is the remedy.
	Fix string
	// Left names resources that could not be deleted after the failure, or that are kept on request.
	Left string
	Err  error
}

func (e *StepError) Error() string {
	text := "image build failed at step " + e.Step
	if e.Part != "" {
		text += ", script " + e.Part
	}
	text += ": " + e.Err.Error()
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	if e.Left != "" {
		return text + "; " + e.Left
	}
	return text + "; nothing of the build is left in Azure"
}

// Unwrap returns the underlying error.
func (e *StepError) Unwrap() error { return e.Err }

// fixed is an error with its remedy.
type fixed struct {
	part, fix string
	err       error
}

func (e *fixed) Error() string { return e.err.Error() }
func (e *fixed) Unwrap() error { return e.err }

func fixf(fix, format string, args ...any) error {
	return &fixed{fix: fix, err: fmt.Errorf(format, args...)}
}

// builder is a build in progress.
type builder struct {
	Config
	azure    azure
	spec     Spec
	release  release
	sum      string // checksum of the build file
	warnings []string
	holds    map[string]string
	trial    string // name of the throw-away cluster, once it may exist
}

// Run builds the image, or resumes the build of the same name after its last finished step. If ctx ends, everything is
// kept for the next Run; after any other failure the resources of the build are deleted.
func Run(ctx context.Context, c Config) (Result, error) {
	b, err := newBuilder(c)
	if err != nil {
		return Result{}, err
	}
	steps := Steps()
	done, err := b.lastDone(ctx)
	if err != nil {
		return Result{}, &StepError{Step: steps[0].Name, Err: err, Left: "nothing was changed"}
	}
	if done == finished {
		fmt.Fprintf(b.Out, "%s is built and published\n", b.versionID())
		return b.result(), nil
	}
	for i, s := range steps {
		if i > 0 && i <= done {
			fmt.Fprintf(b.Out, "[%d/%d] %s: done before\n", i+1, len(steps), s.Name)
			continue
		}
		fmt.Fprintf(b.Out, "[%d/%d] %s: %s\n", i+1, len(steps), s.Name, s.Does)
		err := s.run(b, ctx)
		if err == nil && i > 0 && i < len(steps)-1 {
			err = b.mark(ctx, s.Name)
		}
		if err != nil {
			return Result{}, b.failed(ctx, s.Name, err)
		}
	}
	return b.result(), nil
}

// clock returns the given clock and pause function; nil values are replaced by the real ones.
func clock(now func() time.Time, pause func(context.Context, time.Duration) error) (func() time.Time,
	func(context.Context, time.Duration) error) {
	if now == nil {
		now = time.Now
	}
	if pause == nil {
		pause = sleep
	}
	return now, pause
}

func newBuilder(c Config) (*builder, error) {
	c.Now, c.Sleep = clock(c.Now, c.Sleep)
	if err := c.Build.Validate(); err != nil {
		return nil, err
	}
	data, err := json.Marshal(c.Build)
	if err != nil {
		return nil, fmt.Errorf("read the build: %w", err)
	}
	sum := sha256.Sum256(data)
	rel, _ := releaseNamed(c.Build.Spec.Source.Release) // the name is valid
	spec := c.Build.Spec.withDefaults()
	if major, ok := strings.CutSuffix(spec.Target.Version, ".date"); ok {
		spec.Target.Version = major + "." + c.Now().UTC().Format("20060102")
	}
	return &builder{Config: c, azure: azure{c.Client, c.Sleep}, spec: spec, release: rel,
		sum: hex.EncodeToString(sum[:8]), holds: map[string]string{}}, nil
}

func (b *builder) result() Result {
	return Result{VersionID: b.versionID(), Holds: b.holds, Warnings: b.warnings}
}

func (b *builder) warnf(format string, args ...any) {
	b.warnings = append(b.warnings, fmt.Sprintf(format, args...))
	fmt.Fprintf(b.Out, "warning: "+format+"\n", args...)
}

// cleanupTimeout is the timeout of the cleanup after a failure.
const cleanupTimeout = 30 * time.Minute

// failed cleans up after a failed step and returns its error.
func (b *builder) failed(ctx context.Context, step string, err error) error {
	e := &StepError{Step: step, Err: err}
	if f, ok := errors.AsType[*fixed](err); ok {
		e.Part, e.Fix = f.part, f.fix
	} else {
		e.Fix = fixOf(err)
	}
	switch {
	case ctx.Err() != nil:
		e.Fix, e.Left = "run the same command to resume it", "or delete what it has made: casement images prune "+b.Build.Metadata.Name
		return e
	case b.Keep:
		e.Left = fmt.Sprintf("resource group %s is kept and costs money: casement images prune %s", b.groupName(), b.Build.Metadata.Name)
		return e
	}
	clean, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	fmt.Fprintf(b.Out, "%s failed; deleting what the build has made\n", step)
	if err := b.discard(clean); err != nil {
		e.Left = fmt.Sprintf("what it made could not be deleted (%v): casement images prune %s", err, b.Build.Metadata.Name)
	}
	return e
}

// fixOf returns the remedy for an error of Azure.
func fixOf(err error) string {
	switch arm.ClassOf(err) {
	case arm.Quota:
		return "ask for more quota in that region (az vm list-usage), or give another spec.builder.size or location"
	case arm.Denied:
		return "give the identity that runs the build the role Contributor on the subscription, or on the " +
			"gallery and its own resource group"
	case arm.Throttled:
		return "Azure limits requests: run the same command later"
	}
	return ""
}

// indexOf returns the index of a step, or -1 for an unknown name.
func indexOf(step string) int {
	return slices.IndexFunc(Steps(), func(s Step) bool { return s.Name == step })
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
