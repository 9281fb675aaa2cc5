package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// domain is the Active Directory domain that the Windows machines of the cluster of machines join,
// if one is set. The flavor windows-gmsa reads more of its settings from the environment.
type domain struct {
	// name is the domain's DNS name, account the group managed service account; sid and guid
	// identify the domain.
	name, account, sid, guid string
	// group and network name a virtual network in which the domain's DNS servers are reachable; ""
	// if they are reachable anyway.
	group, network string
	missing        []string
}

// domainOf returns the domain in the environment; without DOMAIN_NAME there is none.
func domainOf(getenv func(string) string) (d domain) {
	if d.name = getenv("DOMAIN_NAME"); d.name == "" {
		return d
	}
	need := func(name string) string {
		value := getenv(name)
		if value == "" {
			d.missing = append(d.missing, name)
		}
		return value
	}
	for _, name := range []string{"DOMAIN_DNS_SERVERS", "DOMAIN_JOIN_SECRET_URL", "GMSA_IDENTITY_ID"} {
		need(name)
	}
	d.account, d.sid, d.guid = need("GMSA_ACCOUNT"), need("DOMAIN_SID"), need("DOMAIN_GUID")
	d.group, d.network, _ = strings.Cut(getenv("DOMAIN_NETWORK"), "/")
	return d
}

func (d domain) check() error {
	switch {
	case len(d.missing) > 0:
		return fmt.Errorf("DOMAIN_NAME is set, and %s is not: docs/real-azure.md says what a domain takes", strings.Join(d.missing, ", "))
	case d.group != "" && d.network == "":
		return errors.New("DOMAIN_NETWORK is GROUP/NAME of a virtual network")
	}
	return nil
}

// joined reports whether the Windows machines of the cluster join the domain.
func (l *life) joined() bool { return l.s.domain.name != "" && l.kind == "machinedeployment" }

// whyNoDomain returns the reason why a cluster has no pod with a domain identity, "" if it has one.
func whyNoDomain(l *life) string {
	switch {
	case l.joined():
		return ""
	case l.s.domain.name == "":
		return "no domain is at hand: DOMAIN_NAME is not set"
	}
	return "no flavor lets a machine pool join a domain; the cluster of machines has this row"
}

// peer adds a peering with the domain's virtual network to the AzureCluster in a manifest. The
// network's addresses must not overlap with the cluster's.
func (d domain) peer(manifest string) (string, error) {
	if d.network == "" {
		return manifest, nil
	}
	var out bytes.Buffer
	to := yaml.NewEncoder(&out)
	from := yaml.NewDecoder(strings.NewReader(manifest))
	for {
		var o struct {
			Kind string
			Rest map[string]any `yaml:",inline"`
		}
		switch err := from.Decode(&o); {
		case errors.Is(err, io.EOF):
			return out.String(), to.Close()
		case err != nil:
			return "", err
		}
		o.Rest["kind"] = o.Kind
		if o.Kind == "AzureCluster" {
			network := inside(o.Rest, "spec", "networkSpec")
			net := inside(network, "vnet")
			net["cidrBlocks"] = []string{"172.28.0.0/16"}
			net["peerings"] = []map[string]string{{"resourceGroup": d.group, "remoteVnetName": d.network}}
			subnets, _ := network["subnets"].([]any)
			for i, s := range subnets {
				if s, ok := s.(map[string]any); ok {
					s["cidrBlocks"] = []string{fmt.Sprintf("172.28.%d.0/24", i)}
				}
			}
		}
		if err := to.Encode(o.Rest); err != nil {
			return "", err
		}
	}
}

// inside returns the object at a path inside another object; missing objects are created.
func inside(o map[string]any, path ...string) map[string]any {
	for _, field := range path {
		inner, ok := o[field].(map[string]any)
		if !ok {
			inner = map[string]any{}
			o[field] = inner
		}
		o = inner
	}
	return o
}

//go:embed identity.yaml
var identityManifest string

// identity runs a pod with the identity of the domain's account, after installing the webhook and
// the credential spec.
func identity(ctx context.Context, l *life) (string, error) {
	d := l.s.domain
	apply := func(args ...string) error {
		manifest, err := l.run(ctx, nil, append([]string{"generate", "gmsa"}, args...)...)
		if err == nil {
			_, err = l.workload(ctx, []byte(manifest), "apply", "-f", "-")
		}
		return err
	}
	if err := apply(); err != nil {
		return "", err
	}
	for _, wait := range [][]string{
		{"wait", "crd/gmsacredentialspecs.windows.k8s.io", "--for=condition=Established", "--timeout=1m"},
		{"rollout", "status", "-n", "gmsa-webhook", "deployment/gmsa-webhook", "--timeout=10m"},
	} {
		if out, err := l.workload(ctx, nil, wait...); err != nil {
			return out, err
		}
	}
	if err := apply(d.account, "--domain", d.name, "--sid", d.sid, "--guid", d.guid, "--service-account", "default/default"); err != nil {
		return "", err
	}
	manifest := strings.ReplaceAll(l.forRelease(identityManifest), "ACCOUNT", strings.ToLower(d.account))
	if _, err := l.workload(ctx, []byte(manifest), "apply", "-f", "-"); err != nil {
		return "", err
	}
	return l.workload(ctx, nil, "wait", "pod/readiness-identity", "--for=condition=Ready", "--timeout=20m")
}
