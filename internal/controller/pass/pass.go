// Package pass is the common structure of a reconcile of clusters, machines and machine pools:
//
//  1. A paused object only waits for the operations in progress.
//  2. The finalizer is added before anything is created in Azure: in the first pass or, for a
//     kind whose objects wait for others first, in the step that creates the first resource.
//  3. Steps run in order; an object that is being deleted has the steps of a deletion. A step
//     that cannot continue ends the pass and writes the reason to a condition.
//  4. An error of any step, and of the code before and after the steps, becomes a condition.
//  5. In every case, Ready is summarised, transitions become events, and the changes are
//     written: at most one patch of the object and one of its status.
//
// A pass never waits for Azure: an operation in progress is a token in the status, and the next pass polls it.
//
// It does not depend on any kind and creates nothing in Azure. The controllers import it.
package pass

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/finalizers"
	"sigs.k8s.io/cluster-api/util/paused"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/controller/cloud"
	"casement.dev/casement/internal/controller/condition"
	"casement.dev/casement/internal/controller/credential"
	"casement.dev/casement/internal/controller/record"
)

// Scope has the part of a pass's state that all kinds share.
type Scope struct {
	Cluster *clusterv1.Cluster
	// AzureCluster is nil if there is none.
	AzureCluster *infrav1.AzureCluster
	// Azure is the session for the cluster's subscription; the step open sets it.
	Azure *cloud.Session
	// GroupGoes is true if the cluster is deleted together with its resource group.
	GroupGoes bool
	// Before is the object at the start of the pass.
	Before client.Object
}

// Common implements Subject.
func (s *Scope) Common() *Scope { return s }

// Open returns the result of opening the cluster's session. Without credentials the pass ends; the identity and its
// secret are watched, so that no retry is needed.
func (s *Scope) Open(ctx context.Context, o *cloud.Opener, resync time.Duration) Result {
	session, err := o.Open(ctx, s.AzureCluster)
	if refused, ok := errors.AsType[*credential.IdentityError](err); ok {
		return Blocked(refused.Reason, refused.Message, resync)
	}
	s.Azure = session
	return Error(err)
}

// Subject is one object with the state of a pass. Each kind has its own type.
type Subject interface {
	Common() *Scope
	Object() condition.Object
	// Operations returns the tokens of operations in the object's status.
	Operations() *[]infrav1.LongRunningOperationState
	// Block writes the reason why the pass ended to a condition.
	Block(Result)
}

// Step is one part of a pass; its name appears in logs.
type Step[S Subject] struct {
	Name string
	Run  func(context.Context, S) Result
}

// Each runs functions in order as one step, until one ends the pass.
func Each[S Subject](ctx context.Context, s S, parts ...func(context.Context, S) Result) Result {
	for _, part := range parts {
		if result := part(ctx, s); result.Ends() {
			return result
		}
	}
	return Next()
}

// Kind describes the reconciliation of objects of one kind.
type Kind[S Subject] struct {
	Client   client.Client
	Opener   *cloud.Opener
	Recorder events.EventRecorder
	// Versions has the versions that passes over the kind's objects wrote.
	Versions *record.Versions
	// Resync is the interval at which an object without changes is compared with Azure.
	Resync    time.Duration
	Finalizer string
	// Unmade reports whether no resource of an object can exist in Azure yet, so that the step that creates the first
	// resource adds the finalizer; nil means never.
	Unmade     func(S) bool
	Conditions condition.Table
	// Steps are the steps of a pass; Deletion are the steps for an object that is being deleted.
	Steps, Deletion []Step[S]
	// More reports whether further operations will follow those in progress, so that `clusterctl move` waits for them
	// too; nil means never.
	More func(S) bool
}

// outdated is the wait before the next pass over an object that was written during a pass, or whose last write the
// cache does not contain yet.
const outdated = 100 * time.Millisecond

// Run makes one pass over an object. If its copy of the object is outdated, it requests another pass.
func (k Kind[S]) Run(ctx context.Context, s S) (ctrl.Result, error) {
	result, err := k.once(ctx, s)
	if apierrors.IsConflict(err) {
		ctrl.LoggerFrom(ctx).V(2).Info("The object was written during the pass, which is made again", "reason", err.Error())
		return ctrl.Result{RequeueAfter: outdated}, nil
	}
	return result, err
}

func (k Kind[S]) once(ctx context.Context, s S) (result ctrl.Result, err error) {
	object, common := s.Object(), s.Common()
	if k.Versions.Behind(object, time.Now()) {
		return ctrl.Result{RequeueAfter: outdated}, nil
	}
	common.Before = record.Copy(object)
	operations := slices.Clone(*s.Operations())
	if !annotations.IsPaused(common.Cluster, object) && !conditions.Has(object, clusterv1.PausedCondition) {
		// The condition is written with the rest of the status.
		conditions.Set(object, metav1.Condition{Type: clusterv1.PausedCondition, Status: metav1.ConditionFalse,
			Reason: clusterv1.NotPausedReason})
	}
	// The controller's own writes trigger no event, so the pass continues.
	isPaused, _, err := paused.EnsurePausedCondition(ctx, k.Client, common.Cluster, object)
	if err != nil {
		return ctrl.Result{}, k.Fail(ctx, s, err)
	}
	if isPaused {
		return k.settle(ctx, s)
	}
	steps := k.Deletion
	if object.GetDeletionTimestamp().IsZero() {
		steps = k.Steps
		if k.Unmade == nil || !k.Unmade(s) {
			// The write of the finalizer triggers the next pass.
			if added, err := finalizers.EnsureFinalizer(ctx, k.Client, object, k.Finalizer); err != nil {
				return ctrl.Result{}, k.Fail(ctx, s, err)
			} else if added {
				return ctrl.Result{}, nil
			}
		}
	}
	defer func() {
		*s.Operations() = record.Kept(operations, *s.Operations())
		if unsaved := k.save(ctx, common.Before, s); unsaved != nil {
			err = errors.Join(err, k.Fail(ctx, s, unsaved))
		}
	}()
	return k.walk(ctx, s, steps)
}

// settle waits for the operations of a paused object.
func (k Kind[S]) settle(ctx context.Context, s S) (ctrl.Result, error) {
	object := s.Object()
	return k.Opener.Settle(ctx, k.Client, s.Common().Cluster, s.Common().AzureCluster, record.Copy(object), object, s.Operations())
}

func conditionsOf(o client.Object) []metav1.Condition {
	if with, ok := o.(conditions.Getter); ok {
		return with.GetConditions()
	}
	return nil
}

// walk runs the steps in order.
func (k Kind[S]) walk(ctx context.Context, s S, steps []Step[S]) (ctrl.Result, error) {
	again := time.Duration(0)
	for _, step := range steps {
		result := step.Run(ctx, s)
		if result.Err != nil {
			k.say(s, result.Err)
			return ctrl.Result{}, result.Err
		}
		if result.Reason != "" {
			k.block(s, result)
		}
		if result.End {
			ctrl.LoggerFrom(ctx).V(4).Info("The pass ended", "step", step.Name, "reason", result.Reason, "again", result.Again)
		}
		if result.Lasting || result.End && result.Again == 0 {
			return ctrl.Result{}, nil
		}
		if again = cloud.Sooner(again, result.Again); result.End {
			return ctrl.Result{RequeueAfter: again}, nil
		}
	}
	return ctrl.Result{RequeueAfter: cloud.Sooner(again, cloud.NextLook(k.Resync, string(s.Common().Cluster.UID), time.Now()))}, nil
}

// Unexpected is the reason for an error that has no other reason.
const Unexpected = "Unexpected"

// say sets, for an error of Kubernetes, the condition that explains why the object makes no progress, and reports
// whether it did. It sets none for an error that the next attempt will probably not meet: a conflict with another
// writer and, if the object is Ready, a transient error.
func (k Kind[S]) say(s S, err error) bool {
	ready := conditions.IsTrue(s.Object(), clusterv1.ReadyCondition)
	reason := string(apierrors.ReasonForError(err))
	switch {
	case apierrors.IsConflict(err), errors.Is(err, context.Canceled):
		return false
	case ready && (reason == "" || apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) ||
		apierrors.IsTooManyRequests(err) || apierrors.IsServiceUnavailable(err)):
		return false
	case reason == "" && arm.ClassOf(err) != arm.Unknown:
		reason = string(arm.ClassOf(err))
	}
	s.Block(Result{Reason: cmp.Or(reason, Unexpected), Message: err.Error() + "; it is tried again"})
	return true
}

// Fail writes an error that happened before the first step, or while the pass was saved, to the object's conditions. It
// writes nothing else, and returns the error.
func (k Kind[S]) Fail(ctx context.Context, s S, err error) error {
	if s.Common().Before == nil {
		s.Common().Before = record.Copy(s.Object())
	}
	if !k.say(s, err) {
		return err
	}
	condition.Summarise(s.Object(), k.Conditions)
	before := s.Common().Before
	said, ok := record.Copy(before).(condition.Object)
	if !ok {
		return err
	}
	said.SetConditions(s.Object().GetConditions())
	if saved := k.Client.Status().Patch(ctx, said, client.MergeFrom(before)); saved != nil {
		return errors.Join(err, client.IgnoreNotFound(saved))
	}
	condition.Emit(k.Recorder, s.Object(), conditionsOf(before), k.Conditions.Waiting...)
	return err
}

func (k Kind[S]) block(s S, result Result) {
	if result.Condition != "" {
		condition.False(s.Object(), result.Condition, result.Reason, result.Message)
		return
	}
	s.Block(result)
}

// save computes Ready and writes the changes of the pass.
func (k Kind[S]) save(ctx context.Context, before client.Object, s S) error {
	object, was := s.Object(), conditionsOf(before)
	condition.Summarise(object, k.Conditions)
	k.log(ctx, object, was)
	condition.Emit(k.Recorder, object, was, k.Conditions.Waiting...)
	err := record.Save(ctx, k.Client, before, object, *s.Operations(), k.More != nil && k.More(s))
	if err == nil && object.GetResourceVersion() != before.GetResourceVersion() {
		k.Versions.Note(object, time.Now())
	}
	return err
}

// log logs conditions that do not affect Ready when they become not True or get another reason.
func (k Kind[S]) log(ctx context.Context, object condition.Object, was []metav1.Condition) {
	for _, conditionType := range k.Conditions.Beside {
		is := conditions.Get(object, conditionType)
		i := slices.IndexFunc(was, func(c metav1.Condition) bool { return c.Type == conditionType })
		if is != nil && is.Status == metav1.ConditionFalse && (i < 0 || was[i].Status != is.Status || was[i].Reason != is.Reason) {
			ctrl.LoggerFrom(ctx).Info("The object works and cannot be made what its spec asks", "condition",
				conditionType, "reason", is.Reason, "message", is.Message)
		}
	}
}
