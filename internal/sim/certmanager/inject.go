package certmanager

import (
	"bytes"
	"context"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

// injector writes the CA certificate of a Certificate into objects of one kind.
type injector struct {
	client client.Client
	name   string
	empty  func() client.Object
	kind   schema.GroupVersionKind
	// bundles returns the fields of an object that contain a CA certificate.
	bundles func(client.Object) []*[]byte
}

func setUpInjectors(mgr ctrl.Manager) error {
	for _, i := range []*injector{
		{
			name:    "inject-mutating",
			kind:    admissionv1.SchemeGroupVersion.WithKind("MutatingWebhookConfiguration"),
			empty:   func() client.Object { return &admissionv1.MutatingWebhookConfiguration{} },
			bundles: mutatingBundles,
		},
		{
			name:    "inject-validating",
			kind:    admissionv1.SchemeGroupVersion.WithKind("ValidatingWebhookConfiguration"),
			empty:   func() client.Object { return &admissionv1.ValidatingWebhookConfiguration{} },
			bundles: validatingBundles,
		},
		{
			name:    "inject-crd",
			kind:    apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition"),
			empty:   func() client.Object { return &apiextensionsv1.CustomResourceDefinition{} },
			bundles: crdBundles,
		},
	} {
		i.client = mgr.GetClient()
		// It watches only names and annotations, and the Certificates, whose status changes when
		// they are issued.
		err := ctrl.NewControllerManagedBy(mgr).Named(i.name).For(i.empty(), builder.OnlyMetadata).
			Watches(object("Certificate"), handler.EnqueueRequestsFromMapFunc(i.askers)).Complete(i)
		if err != nil {
			return err
		}
	}
	return nil
}

func mutatingBundles(o client.Object) (out []*[]byte) {
	if c, ok := o.(*admissionv1.MutatingWebhookConfiguration); ok {
		for i := range c.Webhooks {
			out = append(out, &c.Webhooks[i].ClientConfig.CABundle)
		}
	}
	return out
}

func validatingBundles(o client.Object) (out []*[]byte) {
	if c, ok := o.(*admissionv1.ValidatingWebhookConfiguration); ok {
		for i := range c.Webhooks {
			out = append(out, &c.Webhooks[i].ClientConfig.CABundle)
		}
	}
	return out
}

func crdBundles(o client.Object) []*[]byte {
	c, ok := o.(*apiextensionsv1.CustomResourceDefinition)
	if !ok || c.Spec.Conversion == nil || c.Spec.Conversion.Webhook == nil || c.Spec.Conversion.Webhook.ClientConfig == nil {
		return nil
	}
	return []*[]byte{&c.Spec.Conversion.Webhook.ClientConfig.CABundle}
}

// askers returns the objects whose annotation names a Certificate.
func (i *injector) askers(ctx context.Context, certificate client.Object) []ctrl.Request {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(i.kind)
	if err := i.client.List(ctx, list); err != nil {
		return nil // the next change of either object triggers another event
	}
	var out []ctrl.Request
	for _, item := range list.Items {
		if item.Annotations[injectAnnotation] == certificate.GetNamespace()+"/"+certificate.GetName() {
			out = append(out, ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&item)})
		}
	}
	return out
}

// lookAgain is the interval at which objects are checked for a renewed CA certificate.
const lookAgain = time.Hour

// Reconcile implements reconcile.Reconciler.
func (i *injector) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := i.empty()
	if err := i.client.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	namespace, name, ok := strings.Cut(o.GetAnnotations()[injectAnnotation], "/")
	if !ok {
		return ctrl.Result{}, nil
	}
	authority, err := i.authority(ctx, namespace, name)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, err
	}
	if authority == nil {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	changed := false
	for _, bundle := range i.bundles(o) {
		if !bytes.Equal(*bundle, authority) {
			*bundle, changed = authority, true
		}
	}
	if !changed {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	// This update, or the conflicting one of another writer, triggers the next reconcile of the
	// object.
	err = i.client.Update(ctx, o)
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retry}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

// authority returns the CA certificate in a Certificate's Secret; nil before the Certificate is
// issued.
func (i *injector) authority(ctx context.Context, namespace, name string) ([]byte, error) {
	u, secret := object("Certificate"), &corev1.Secret{}
	if err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, u); err != nil {
		return nil, err
	}
	secretName, _, err := unstructured.NestedString(u.Object, "spec", "secretName")
	if err != nil {
		return nil, err
	}
	if err := i.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: secretName}, secret); err != nil {
		return nil, err
	}
	return secret.Data["ca.crt"], nil
}
