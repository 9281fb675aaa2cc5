package cluster

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/gmsa"
	"casement.dev/casement/internal/plane"
)

func newGenerateGMSA(a *app.App) *cobra.Command {
	var s gmsa.Spec
	var accounts []string
	var namespace, image string
	c := &cobra.Command{
		Use:   "gmsa [ACCOUNT]",
		Short: "Print what pods need to run as a group managed service account",
		Long: `Print what pods of a workload cluster need to run as a group managed service account.

Without an account, that is the CRD and the admission webhook of
kubernetes-sigs/windows-gmsa, once for a cluster. It has a certificate made for this call:
the output holds its key. With an account, it is its GMSACredentialSpec and a ClusterRole
to use it, with a RoleBinding for each service account.

Machines fetch the account's password as members of the domain (flavor windows-gmsa). With
--secret and --identity, machines that are in no domain fetch it as the user of a key
vault's secret DOMAIN\USER:PASSWORD, by the plug-in of Container Credential Guard that
Azure publishes; it has to be in their image.

NetBIOS name, SID and GUID are those of a simulated domain of the local plane, where one
has the name; else give them.`,
		Example: `  casement generate gmsa | kubectl apply -f -
  casement generate gmsa WebApp1 --domain corp.example --service-account shop/default > gmsa.yaml
  casement generate gmsa WebApp1 --domain corp.example --sid S-1-5-21-1-2-3 --guid 630a7dd3-2d3e-4471-ae91-1d9ea2556cd5
  casement generate gmsa WebApp1 --domain corp.example --secret https://v.vault.azure.net/secrets/user \
    --identity 11111111-2222-3333-4444-555555555555`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				hook, err := gmsa.Webhook(namespace, image)
				if err != nil {
					return app.Usagef("%w", err)
				}
				_, err = a.Data().Write(hook)
				return err
			}
			s.Account = args[0]
			for _, text := range accounts {
				namespace, name, _ := strings.Cut(text, "/")
				s.Users = append(s.Users, gmsa.User{Namespace: namespace, Name: name})
			}
			completeDomain(cmd.Context(), a, &s)
			spec, err := s.Manifest()
			if err != nil {
				return app.Usagef("%w", err)
			}
			_, err = a.Data().Write(spec)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&s.Domain, "domain", "", "DNS name of the account's domain")
	f.StringVar(&s.NetBIOS, "netbios", "", "NetBIOS name of the domain")
	f.StringVar(&s.SID, "sid", "", "SID of the domain: (Get-ADDomain).DomainSID.Value")
	f.StringVar(&s.GUID, "guid", "", "GUID of the domain: (Get-ADDomain).ObjectGuid")
	f.StringVar(&s.Secret, "secret", "", "key vault secret with DOMAIN\\USER:PASSWORD, for machines in no domain")
	f.StringVar(&s.Identity, "identity", "", "principal ID of the user-assigned identity that reads the secret")
	f.StringSliceVar(&accounts, "service-account", nil, "service accounts that may use it, as NAMESPACE/NAME")
	f.StringVar(&namespace, "webhook-namespace", "gmsa-webhook", "namespace of the webhook")
	f.StringVar(&image, "webhook-image", gmsa.Image, "image of the webhook")
	return c
}

// completeDomain fills empty fields of a domain that the local plane simulates.
func completeDomain(ctx context.Context, a *app.App, s *gmsa.Spec) {
	domains, err := plane.NewClient(a.Dir).Domains(ctx)
	if err == nil { // otherwise no plane is running
		for _, d := range domains {
			if strings.EqualFold(d.Name, s.Domain) {
				s.NetBIOS, s.SID, s.GUID = cmp.Or(s.NetBIOS, d.NetBIOS), cmp.Or(s.SID, d.SID), cmp.Or(s.GUID, d.GUID)
			}
		}
	}
	if first, _, _ := strings.Cut(s.Domain, "."); s.NetBIOS == "" {
		s.NetBIOS = strings.ToUpper(first)
	}
}
