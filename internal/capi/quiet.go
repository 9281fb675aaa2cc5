package capi

import (
	"context"
	"reflect"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// quietManager is the manager of the controller of Machines. Its cache does not report that the status of a MachineSet or
// MachineDeployment alone has changed. The controller has a pass over each machine of a set at each of its changes, and
// reads of it the spec and the revision, which is an annotation (cluster-api v1.14, core/reconcilers/machine); the status of
// a set changes with each of its machines.
type quietManager struct{ ctrl.Manager }

// GetCache implements cluster.Cluster.
func (m quietManager) GetCache() cache.Cache { return quietCache{m.Manager.GetCache()} }

type quietCache struct{ cache.Cache }

// GetInformer implements cache.Informers.
func (c quietCache) GetInformer(ctx context.Context, obj client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	informer, err := c.Cache.GetInformer(ctx, obj, opts...)
	if err != nil {
		return nil, err
	}
	switch obj.(type) {
	case *clusterv1.MachineSet, *clusterv1.MachineDeployment:
		return quietInformer{informer}, nil
	}
	return informer, nil
}

type quietInformer struct{ cache.Informer }

// AddEventHandler implements cache.Informer.
func (i quietInformer) AddEventHandler(h toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandler(quietHandler{h})
}

// AddEventHandlerWithResyncPeriod implements cache.Informer.
func (i quietInformer) AddEventHandlerWithResyncPeriod(h toolscache.ResourceEventHandler,
	period time.Duration) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithResyncPeriod(quietHandler{h}, period)
}

// AddEventHandlerWithOptions implements cache.Informer.
func (i quietInformer) AddEventHandlerWithOptions(h toolscache.ResourceEventHandler,
	options toolscache.HandlerOptions) (toolscache.ResourceEventHandlerRegistration, error) {
	return i.Informer.AddEventHandlerWithOptions(quietHandler{h}, options)
}

type quietHandler struct {
	toolscache.ResourceEventHandler
}

// OnUpdate implements cache.ResourceEventHandler.
func (h quietHandler) OnUpdate(before, after any) {
	if was, ok := before.(client.Object); ok {
		if is, ok := after.(client.Object); ok && sameButStatus(was, is) {
			return
		}
	}
	h.ResourceEventHandler.OnUpdate(before, after)
}

// sameButStatus reports whether two states of an object differ in nothing but the status, if in anything. The API server
// counts the generation up at each change of the spec and when a deletion begins.
func sameButStatus(was, is client.Object) bool {
	return was.GetUID() == is.GetUID() && was.GetGeneration() == is.GetGeneration() &&
		reflect.DeepEqual(was.GetLabels(), is.GetLabels()) && reflect.DeepEqual(was.GetAnnotations(), is.GetAnnotations()) &&
		reflect.DeepEqual(was.GetFinalizers(), is.GetFinalizers()) && reflect.DeepEqual(was.GetOwnerReferences(), is.GetOwnerReferences())
}
