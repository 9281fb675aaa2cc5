package main

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"time"

	"casement.dev/casement/internal/kuberelease"
)

// settings are the values in the environment.
type settings struct {
	subscription, tenant, client, secret, location string
	endpoint, authority, audience, ca              string
	// older and newer are the Kubernetes versions of the upgrade.
	older, newer string
	// hours, machines and dollars are the budget: exceeding one of them ends the run.
	hours    time.Duration
	machines int
	dollars  float64
	// own means that the run creates its own service principal with az.
	own bool
	// autoscaler is the path of the program cluster-autoscaler, "" for none.
	autoscaler string
	// domain is the Active Directory domain that Windows machines join.
	domain domain
	// name begins the names of the clusters and of their resource groups; it is new for each run.
	name string
}

// mostMachines is the largest number of machines, which exist during the upgrades: in each cluster
// a control plane machine, a Linux and a Windows worker, and one more while each is replaced in
// turn.
const mostMachines = 8

// fromEnvironment returns the settings, or an error that lists all missing and invalid ones; with
// own there is no service principal yet.
func fromEnvironment(getenv func(string) string, own bool) (settings, error) {
	var errs []error
	need := func(name, about string) string {
		value := getenv(name)
		if value == "" {
			errs = append(errs, fmt.Errorf("%s is not set: %s", name, about))
		}
		return value
	}
	s := settings{
		subscription: need("AZURE_SUBSCRIPTION_ID", "the subscription in which the cluster is made, which costs money"),
		tenant:       need("AZURE_TENANT_ID", "the tenant of the service principal"),
		client:       getenv("AZURE_CLIENT_ID"),
		secret:       getenv("AZURE_CLIENT_SECRET"),
		location:     need("AZURE_LOCATION", "the region"),
		endpoint:     cmp.Or(getenv("AZURE_RESOURCE_MANAGER_ENDPOINT"), "https://management.azure.com"),
		authority:    cmp.Or(getenv("AZURE_AUTHORITY_HOST"), "https://login.microsoftonline.com/"),
		ca:           getenv("AZURE_CA_FILE"),
		older:        cmp.Or(getenv("KUBERNETES_VERSION_UPGRADE_FROM"), kuberelease.Previous),
		newer:        cmp.Or(getenv("KUBERNETES_VERSION"), kuberelease.Default),
		autoscaler:   getenv("CASEMENT_E2E_AUTOSCALER"),
		domain:       domainOf(getenv),
		own:          own,
		name:         fmt.Sprintf("casement-e2e-%08x", rand.Uint32()),
	}
	if !own {
		need("AZURE_CLIENT_ID", "a service principal that may make resource groups and what is in them; or run az login")
		need("AZURE_CLIENT_SECRET", "its secret")
	}
	if s.autoscaler != "" {
		if _, err := exec.LookPath(s.autoscaler); err != nil {
			errs = append(errs, fmt.Errorf("CASEMENT_E2E_AUTOSCALER names no program: %w", err))
		}
	}
	errs = append(errs, s.domain.check())
	s.audience = cmp.Or(getenv("AZURE_RESOURCE_MANAGER_AUDIENCE"), s.endpoint)
	hours, err := strconv.ParseFloat(cmp.Or(getenv("CASEMENT_E2E_HOURS"), "1.25"), 64)
	if s.hours = time.Duration(hours * float64(time.Hour)); err != nil || hours <= 0 || hours > 24 {
		errs = append(errs, errors.New("CASEMENT_E2E_HOURS is a number of hours above 0, at most 24"))
	}
	s.machines, err = strconv.Atoi(cmp.Or(getenv("CASEMENT_E2E_MACHINES"), strconv.Itoa(mostMachines)))
	if err != nil || s.machines < mostMachines {
		errs = append(errs, fmt.Errorf("CASEMENT_E2E_MACHINES is a number of at least %d: two clusters, each with a control plane "+
			"machine, a Linux and a Windows worker, and the one that replaces another", mostMachines))
	}
	s.dollars, err = strconv.ParseFloat(cmp.Or(need("CASEMENT_E2E_DOLLARS", "what the run may cost by its own estimate, such as 15"), "0"), 64)
	if errors.Join(errs...) == nil && (err != nil || s.dollars <= 0) {
		errs = append(errs, errors.New("CASEMENT_E2E_DOLLARS is a number of dollars above 0"))
	}
	return s, errors.Join(errs...)
}

// env returns the environment variables that casement reads.
func (s settings) env() []string {
	return []string{"AZURE_SUBSCRIPTION_ID=" + s.subscription, "AZURE_TENANT_ID=" + s.tenant, "AZURE_CLIENT_ID=" + s.client,
		"AZURE_CLIENT_SECRET=" + s.secret}
}

// groups returns the resource groups of the run's clusters, which have the clusters' names.
func (s settings) groups() []string {
	var out []string
	for _, c := range clusters {
		out = append(out, s.name+c.suffix)
	}
	return out
}
