package webhook

import (
	"context"
	"fmt"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "casement.dev/casement/api/v1beta1"
	"casement.dev/casement/internal/azure/desired"
	"casement.dev/casement/internal/grant"
)

// askIdentity checks whether the author of a reference to a Secret of another namespace may read the Secret, and
// records it. It does not check an unchanged reference, because controllers also write identities, and may have more
// permissions than the author.
func askIdentity(ctx context.Context, c Config, old, i *infrav1.AzureClusterIdentity) ([]string, field.ErrorList, error) {
	if !grant.Foreign(i) || old != nil && grant.SecretOf(old) == grant.SecretOf(i) {
		return nil, nil, nil
	}
	request, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, nil, err
	}
	allowed, err := mayRead(ctx, c.Client, request, grant.SecretOf(i))
	if err != nil {
		return nil, nil, err
	}
	if !allowed {
		return []string{fmt.Sprintf("spec.clientSecret: %s may not read secret %s, so that it is not used "+
			"unless its annotation %s names %s/%s; keep the secret in namespace %s",
			request.UserInfo.Username, grant.SecretOf(i), grant.IdentitiesAnnotation, i.Namespace, i.Name, i.Namespace)}, nil, nil
	}
	if ptr.Deref(request.DryRun, false) {
		return nil, nil, nil
	}
	return nil, nil, c.Grants.Write(ctx, i, request.UserInfo.Username)
}

// mayRead reports whether the user of a request may read a Secret.
func mayRead(ctx context.Context, c client.Client, request admission.Request, secret client.ObjectKey) (bool, error) {
	user := request.UserInfo
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user.Username, UID: user.UID, Groups: user.Groups, Extra: map[string]authorizationv1.ExtraValue{},
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: secret.Namespace, Name: secret.Name, Verb: "get", Version: "v1", Resource: "secrets",
		},
	}}
	for key, values := range user.Extra {
		review.Spec.Extra[key] = authorizationv1.ExtraValue(values)
	}
	if err := c.Create(ctx, review); err != nil {
		return false, fmt.Errorf("ask whether %s may read secret %s: %w", user.Username, secret, err)
	}
	return review.Status.Allowed, nil
}

// askCluster warns about a new cluster that another cluster with the same name and resource group will prevent from
// working. It is no error, because the other cluster may be about to be deleted.
func askCluster(ctx context.Context, c Config, old, azure *infrav1.AzureCluster) ([]string, field.ErrorList, error) {
	if old != nil {
		return nil, nil, nil
	}
	var all infrav1.AzureClusterList
	if err := c.Client.List(ctx, &all); err != nil {
		return nil, nil, fmt.Errorf("find clusters of the name %s: %w", azure.Name, err)
	}
	for i := range all.Items {
		if other := &all.Items[i]; other.Namespace != azure.Namespace && desired.Namesakes(other, azure) {
			return []string{fmt.Sprintf("spec.resourceGroup: AzureCluster %s/%s has the same name and resource group: what it made in Azure "+
				"is neither used nor deleted by this one, which will not be Ready; give it another name or resource group",
				other.Namespace, other.Name)}, nil, nil
		}
	}
	return nil, nil, nil
}

func askMachine(ctx context.Context, c Config, old, m *infrav1.AzureMachine) ([]string, field.ErrorList, error) {
	if old != nil {
		return nil, nil, nil // the interfaces of existing machines cannot change
	}
	errs, err := unknownSubnets(ctx, c.Client, m, m.Spec.NetworkInterfaces, field.NewPath("spec", "networkInterfaces"))
	return nil, errs, err
}

func askMachineTemplate(ctx context.Context, c Config, old, t *infrav1.AzureMachineTemplate) ([]string, field.ErrorList, error) {
	if old != nil {
		return nil, nil, nil
	}
	errs, err := unknownSubnets(ctx, c.Client, t, t.Spec.Template.Spec.NetworkInterfaces,
		field.NewPath("spec", "template", "spec", "networkInterfaces"))
	return nil, errs, err
}

func askPool(ctx context.Context, c Config, old, p *infrav1.AzureMachinePool) ([]string, field.ErrorList, error) {
	if old != nil {
		return nil, nil, nil
	}
	errs, err := unknownSubnets(ctx, c.Client, p, p.Spec.Template.NetworkInterfaces, field.NewPath("spec", "template", "networkInterfaces"))
	return nil, errs, err
}

// unknownSubnets returns errors for interfaces in subnets that the cluster does not have; none if the object names no
// cluster, or the cluster does not exist yet.
func unknownSubnets(ctx context.Context, c client.Client, o client.Object, interfaces []infrav1.NetworkInterface,
	path *field.Path) (field.ErrorList, error) {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" || !slices.ContainsFunc(interfaces, func(n infrav1.NetworkInterface) bool { return n.SubnetName != "" }) {
		return nil, nil
	}
	var clusters infrav1.AzureClusterList
	if err := c.List(ctx, &clusters, client.InNamespace(o.GetNamespace()),
		client.MatchingLabels{clusterv1.ClusterNameLabel: name}); err != nil {
		return nil, fmt.Errorf("find the AzureCluster of cluster %s: %w", name, err)
	}
	if len(clusters.Items) != 1 {
		return nil, nil
	}
	return UnknownSubnets(&clusters.Items[0], interfaces, path), nil
}

// UnknownSubnets returns the interfaces that refer to a subnet that the cluster does not have.
func UnknownSubnets(c *infrav1.AzureCluster, interfaces []infrav1.NetworkInterface, path *field.Path) field.ErrorList {
	var names []string
	for _, s := range c.Spec.NetworkSpec.Subnets {
		names = append(names, s.Name)
	}
	var errs field.ErrorList
	for i, n := range interfaces {
		if n.SubnetName != "" && !slices.Contains(names, n.SubnetName) {
			errs = append(errs, field.Invalid(path.Index(i).Child("subnetName"), n.SubnetName,
				fmt.Sprintf("AzureCluster %s has no such subnet: name one of %s, or leave it empty", c.Name, strings.Join(names, ", "))))
		}
	}
	return errs
}
