package azure

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"casement.dev/casement/internal/cli/app"
	"casement.dev/casement/internal/input"
	"casement.dev/casement/internal/plane"
)

func newAzureDomain(a *app.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "domain",
		Short: "Declare simulated domains for machines of the local Azure",
		Long: `Declare Active Directory domains for the machines of the local Azure. They are
simulated: they answer what joining a computer and Container Credential Guard ask, and
speak no LDAP and no Kerberos. A machine finds a domain if one of its DNS servers, those
of its interface or its virtual network, is one of the domain's.`,
		Example: `  casement azure domain add corp.example --dns 10.1.0.4 --join-user joiner --join-password-file pw --gmsa WebApp1
  casement azure domain gmsa corp.example WebApp1 --expired
  casement azure domain list`,
	}
	c.AddCommand(newDomainAdd(a), newDomainGMSA(a), newDomainList(a), newDomainRemove(a))
	return c
}

func newDomainAdd(a *app.App) *cobra.Command {
	var d plane.Domain
	var user, file string
	var accounts []string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Declare a simulated domain with the user who joins computers",
		Long: `Declare a simulated domain. The password of the user who joins computers comes from
a file, - for standard input; it is never an argument. The same user is the one that a
plug-in of Container Credential Guard may use on machines that are not joined.`,
		Example: `  casement azure domain add corp.example --dns 10.1.0.4 --join-user joiner --join-password-file pw
  pwgen 20 1 | casement azure domain add corp.example --dns 10.1.0.4 --join-user joiner --join-password-file - --gmsa WebApp1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Name = args[0]
			password, err := readPassword(a, file)
			if err != nil {
				return err
			}
			d.Users = []plane.DomainUser{{Name: user, Password: password, MayJoin: true}}
			for _, name := range accounts {
				d.Accounts = append(d.Accounts, plane.ManagedAccount{
					Name: strings.TrimSuffix(name, "$"), Allowed: []string{plane.DomainComputers, user},
				})
			}
			if err := plane.NewClient(a.Dir).AddDomain(cmd.Context(), d); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "The domain %s is there (simulated). Machines whose DNS server is %s may join it.\n",
				d.Name, strings.Join(d.DNS, " or "))
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&d.NetBIOS, "netbios", "", "NetBIOS name (default the first part of NAME)")
	f.StringSliceVar(&d.DNS, "dns", nil, "addresses of its DNS servers")
	f.StringVar(&user, "join-user", "", "user who may join computers")
	f.StringVar(&file, "join-password-file", "", "file with that user's password, - for standard input")
	f.StringSliceVar(&accounts, "gmsa", nil, "group managed service accounts that all its computers, and the join user, may use")
	for _, name := range []string{"dns", "join-user", "join-password-file"} {
		_ = c.MarkFlagRequired(name) // the flag exists
	}
	return c
}

// readPassword reads the first line of a file.
func readPassword(a *app.App, file string) (string, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = io.ReadAll(io.LimitReader(a.In, 1<<16))
	} else {
		data, err = input.File(file, input.Small)
	}
	if err != nil {
		return "", fmt.Errorf("read the password: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	if line = strings.TrimRight(line, "\r"); line == "" {
		return "", app.Usagef("the password's file is empty")
	}
	return line, nil
}

func newDomainGMSA(a *app.App) *cobra.Command {
	g := plane.ManagedAccount{}
	c := &cobra.Command{
		Use:   "gmsa DOMAIN ACCOUNT",
		Short: "Make a gMSA of a simulated domain, or change who may use it",
		Example: `  casement azure domain gmsa corp.example WebApp1
  casement azure domain gmsa corp.example WebApp1 --allow demo-win-7xk2p
  casement azure domain gmsa corp.example WebApp1 --expired`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			g.Name = strings.TrimSuffix(args[1], "$")
			if err := plane.NewClient(a.Dir).SetManagedAccount(cmd.Context(), args[0], g); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "The account %s$ of %s is as declared (simulated).\n", g.Name, args[0])
			return nil
		},
	}
	c.Flags().StringSliceVar(&g.Allowed, "allow", []string{plane.DomainComputers}, "computers and users that may have its password")
	c.Flags().BoolVar(&g.Expired, "expired", false, "its password has expired")
	return c
}

func newDomainList(a *app.App) *cobra.Command {
	var output string
	c := &cobra.Command{
		Use:     "list",
		Short:   "List the simulated domains with their accounts and computers",
		Example: "  casement azure domain list\n  casement azure domain list -o yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			domains, err := plane.NewClient(a.Dir).Domains(cmd.Context())
			if err != nil {
				return err
			}
			return a.Print(output, domains, func(w io.Writer) {
				fmt.Fprintln(w, "DOMAIN\tNETBIOS\tDNS\tACCOUNTS\tCOMPUTERS")
				for _, d := range domains {
					account := func(g plane.ManagedAccount) string { return g.Name + map[bool]string{true: " (expired)"}[g.Expired] }
					computer := func(c plane.DomainComputer) string { return c.Name }
					fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", d.Name, d.NetBIOS, strings.Join(d.DNS, ","),
						strings.Join(app.Names(d.Accounts, account), ","), strings.Join(app.Names(d.Computers, computer), ","))
				}
			})
		},
	}
	c.Flags().StringVarP(&output, "output", "o", "table", "table, name, json or yaml")
	return c
}

func newDomainRemove(a *app.App) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Take a simulated domain away, and the trust in its machines",
		Example: "  casement azure domain remove corp.example",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := plane.NewClient(a.Dir).RemoveDomain(cmd.Context(), args[0]); err != nil {
				return err
			}
			fmt.Fprintf(a.Out, "The domain %s is gone.\n", args[0])
			return nil
		},
	}
}
