package network

import (
	"context"
	"fmt"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/value"
)

func preparePublicIP(t *engine.Tx, d, old *engine.Doc) *engine.Error {
	p := value.Props(d.Body)
	if e := missing(t, value.Str(p, "publicIPPrefix", "id")); e != nil {
		return e
	}
	sku := value.Sub(d.Body, "sku")
	if old == nil && value.Str(sku, "name") == "Basic" && engine.Retired(t.Now, basicEnd) {
		// Source: https://github.com/skypilot-org/skypilot/issues/7977.
		return engine.BadRequest("IPv4BasicSkuPublicIpCountLimitReached",
			"Cannot create more than 0 IPv4 Basic SKU public IP addresses for this subscription in this region.")
	}
	// Basic is the default SKU of the API. Since September 2025 Azure refuses it as the default
	// too; here it is refused only if the request names it, because many older templates name no
	// SKU. A dynamic address is allocated immediately.
	if value.Str(sku, "name") == "Standard" && value.Str(p, "publicIPAllocationMethod") != "Static" {
		return engine.BadRequest("StandardSkuPublicIPAddressesMustBeStatic",
			"Standard sku publicIp %s must have AllocationMethod set to Static.", d.ID)
	}
	if old != nil {
		delete(p, "ipAddress")
		if ip := value.Str(old.Body, "properties", "ipAddress"); ip != "" {
			p["ipAddress"] = ip
		}
	}
	return nil
}

// addressWork returns the work of each write of a public IP; it also runs for later writes,
// because the first one may have failed.
func addressWork() engine.Work {
	return engine.Work{Name: "ip.put", Run: runAddress, Finish: finishAddress}
}

// runAddress allocates the address of a public IP, once.
func runAddress(_ context.Context, s *engine.Server, op *engine.Operation) (any, *engine.Error) {
	if raw, ok := s.Get(op.Target); !ok || strings.Contains(string(raw), `"ipAddress":"`) {
		return nil, nil
	}
	if networkOf(s).PublicIP == nil {
		return "", nil
	}
	ip, err := networkOf(s).PublicIP(op.Target)
	if err != nil {
		return nil, engine.Refuse(500, "PublicIPAddressAllocationFailed", "%s", err)
	}
	return ip, nil
}

func finishAddress(t *engine.Tx, op *engine.Operation, result any, err *engine.Error) {
	d := t.Edit(op.Target)
	if d == nil {
		return
	}
	p := value.Props(d.Body)
	if ip, ok := result.(string); ok && err == nil {
		if ip == "" {
			ip = exampleAddress(t)
		}
		p["ipAddress"] = ip
	}
	t.Put(d)
	engine.FinishPut(t, op, nil, err)
}

// nameOf returns the name of a public IP that has a DNS label.
func nameOf(t *engine.Tx, d *engine.Doc, label string) string {
	if local := networkOf(t.Server).FQDN; t.Local && local != nil {
		return local(label, d.Location(), value.Str(d.Body, "properties", "ipAddress"))
	}
	return label + "." + d.Location() + ".cloudapp.azure.com"
}

// exampleAddress returns the lowest free address of 203.0.113.0/24.
func exampleAddress(t *engine.Tx) string {
	used := map[string]bool{}
	for _, d := range t.All(typePublicIP, "") {
		used[value.Str(value.Props(d.Body), "ipAddress")] = true
	}
	for i := 1; i < 255; i++ {
		if ip := fmt.Sprintf("203.0.113.%d", i); !used[ip] {
			return ip
		}
	}
	return "203.0.113.255"
}

func guardPublicIP(t *engine.Tx, d *engine.Doc) *engine.Error {
	if users := t.Users(d.ID, ""); len(users) > 0 {
		return engine.BadRequest("PublicIPAddressCannotBeDeleted", "Public IP address %s can not be deleted "+
			"since it is still allocated to resource %s. In order to delete the public IP, disassociate/detach "+
			"the Public IP address from the resource.", d.ID, users[0].ID)
	}
	return nil
}

func viewPublicIP(t *engine.Tx, d *engine.Doc, body value.Object, _ string) {
	if label := value.Str(body, "properties", "dnsSettings", "domainNameLabel"); label != "" {
		delete(value.Sub(body, "properties", "dnsSettings"), "fqdn")
		if name := nameOf(t, d, label); name != "" {
			value.Sub(body, "properties", "dnsSettings")["fqdn"] = name
		}
	}
	for _, u := range t.Sources(d.ID, "") {
		switch u.Type {
		case typeGateway:
			value.Props(body)["natGateway"] = value.Object{"id": u.ID}
		case typeNIC, typeBalancer:
			field := "ipConfigurations"
			if u.Type == typeBalancer {
				field = "frontendIPConfigurations"
			}
			for _, c := range value.Items(value.Props(u.Body), field) {
				if strings.EqualFold(value.Str(value.Props(c), "publicIPAddress", "id"), d.ID) {
					value.Props(body)["ipConfiguration"] = value.Object{"id": u.ID + "/" + field + "/" + value.Str(c, "name")}
				}
			}
		}
	}
}
