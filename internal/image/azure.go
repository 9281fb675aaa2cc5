package image

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"casement.dev/casement/internal/azure/arm"
)

// API versions of the resources that a build creates.
const (
	groupsVersion  = "2021-04-01"
	computeVersion = "2024-11-01"
	galleryVersion = "2023-07-03"
	networkVersion = "2024-05-01"
)

type object = map[string]any

// azure calls ARM and waits for each operation to end.
type azure struct {
	client *arm.Client
	sleep  func(ctx context.Context, d time.Duration) error
}

// pollPause is the time between two polls if Azure's response does not request one.
const pollPause = 5 * time.Second

// resource contains the fields of a resource that the steps read.
type resource struct {
	ID         string            `json:"id"`
	Name       string            `json:"name"`
	Location   string            `json:"location"`
	Tags       map[string]string `json:"tags"`
	Properties struct {
		ProvisioningState string       `json:"provisioningState"`
		HyperVGeneration  string       `json:"hyperVGeneration"`
		OSType            string       `json:"osType"`
		InstanceView      instanceView `json:"instanceView"`
		PublishingProfile struct {
			ExcludeFromLatest bool `json:"excludeFromLatest"`
		} `json:"publishingProfile"`
	} `json:"properties"`
}

// instanceView is the result of a managed Run Command.
type instanceView struct {
	ExecutionState   string `json:"executionState"`
	ExecutionMessage string `json:"executionMessage"`
	ExitCode         int    `json:"exitCode"`
	Output           string `json:"output"`
	Error            string `json:"error"`
}

// get reads a resource; ok is false if it does not exist.
func (a azure) get(ctx context.Context, id, version string, options ...arm.Option) (r resource, ok bool, err error) {
	var body json.RawMessage
	err = a.again(ctx, func() (err error) {
		body, err = a.client.Get(ctx, id, version, options...)
		return err
	})
	if arm.ClassOf(err) == arm.NotFound {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return r, false, fmt.Errorf("read %s: %w", id, err)
	}
	return r, true, nil
}

// maxAgain is the maximum number of retries of a call after temporary errors: throttling, an interrupted connection, or
// a concurrent operation.
const maxAgain = 6

// passing are the error classes after which a call is retried.
var passing = []arm.Class{arm.Throttled, arm.Transient, arm.Busy, arm.Conflict}

// again makes a call, and retries it after passing errors.
func (a azure) again(ctx context.Context, call func() error) error {
	for try := 1; ; try++ {
		err := call()
		if err == nil || try == maxAgain || !slices.Contains(passing, arm.ClassOf(err)) || arm.OperationEnded(err) {
			return err
		}
		if err := a.sleep(ctx, max(arm.RetryAfter(err), pollPause)); err != nil {
			return err
		}
	}
}

// wait begins an operation and polls it until it ends.
func (a azure) wait(ctx context.Context, begin func() (arm.Result, error)) error {
	var r arm.Result
	err := a.again(ctx, func() (err error) {
		r, err = begin()
		return err
	})
	for err == nil && r.Operation != nil {
		if err := a.sleep(ctx, max(r.Operation.RetryAfter, time.Second)); err != nil {
			return err
		}
		token := r.Operation.Token
		err = a.again(ctx, func() (err error) {
			r, err = a.client.Poll(ctx, token)
			return err
		})
	}
	return err
}

func (a azure) put(ctx context.Context, id, version string, body object) error {
	return a.wait(ctx, func() (arm.Result, error) { return a.client.Put(ctx, id, version, body) })
}

// patch changes a resource after any operation of an earlier process on it has ended.
func (a azure) patch(ctx context.Context, id, version string, body object) error {
	if _, _, err := a.settled(ctx, id, version); err != nil {
		return err
	}
	return a.wait(ctx, func() (arm.Result, error) { return a.client.Patch(ctx, id, version, body) })
}

// post invokes an action of a resource, after any operation of an earlier process on it has ended.
func (a azure) post(ctx context.Context, id, action, version string) error {
	if _, _, err := a.settled(ctx, id, version); err != nil {
		return err
	}
	return a.wait(ctx, func() (arm.Result, error) { return a.client.Post(ctx, id+"/"+action, version, nil) })
}

func (a azure) delete(ctx context.Context, id, version string) error {
	return a.wait(ctx, func() (arm.Result, error) { return a.client.Delete(ctx, id, version) })
}

// ensure creates a resource that does not exist, or waits for its creation by an earlier process.
func (a azure) ensure(ctx context.Context, id, version string, body object) error {
	r, ok, err := a.settled(ctx, id, version)
	switch {
	case err != nil:
		return err
	case !ok:
		return a.put(ctx, id, version, body)
	case !strings.EqualFold(r.Properties.ProvisioningState, "Succeeded"):
		return fmt.Errorf("%s is %s since an earlier run", arm.NameOf(id), r.Properties.ProvisioningState)
	}
	return nil
}

// settled reads a resource after any operation on it has ended.
func (a azure) settled(ctx context.Context, id, version string, options ...arm.Option) (resource, bool, error) {
	for {
		r, ok, err := a.get(ctx, id, version, options...)
		if err != nil || !ok {
			return r, ok, err
		}
		switch strings.ToLower(r.Properties.ProvisioningState) {
		case "", "succeeded", "failed", "canceled":
			return r, true, nil
		}
		if err := a.sleep(ctx, pollPause); err != nil {
			return r, true, err
		}
	}
}
