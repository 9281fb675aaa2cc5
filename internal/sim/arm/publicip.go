package arm

import (
	"context"
	"fmt"
	"strings"
)

func preparePublicIP(_ *tx, d, old *doc) *Error {
	p := props(d.Body)
	setDefault(p, "idleTimeoutInMinutes", float64(4))
	setDefault(p, "publicIPAddressVersion", "IPv4")
	sku := ensure(d.Body, "sku")
	// Basic is the default of the API, though Azure gives no new ones since
	// September 2025; dynamic ones get their address at once here.
	setDefault(sku, "name", "Basic")
	setDefault(sku, "tier", "Regional")
	setDefault(p, "publicIPAllocationMethod", "Dynamic")
	if str(sku, "name") == "Standard" && str(p, "publicIPAllocationMethod") != "Static" {
		return badRequest("StandardSkuPublicIPAddressesMustBeStatic", "Standard sku publicIp %s must have AllocationMethod set to Static.", d.ID)
	}
	if old != nil {
		p["ipAddress"] = props(old.Body)["ipAddress"]
	}
	return nil
}

// runAddress allocates the address of a public IP, once.
func runAddress(_ context.Context, s *Server, op *operation) (any, *Error) {
	if raw, ok := s.Get(op.Target); !ok || strings.Contains(string(raw), `"ipAddress":"`) {
		return nil, nil
	}
	if networkOf(s).PublicIP == nil {
		return "", nil
	}
	ip, err := networkOf(s).PublicIP(op.Target)
	if err != nil {
		return nil, refuse(500, "PublicIPAddressAllocationFailed", "%s", err)
	}
	return ip, nil
}

func finishAddress(t *tx, op *operation, result any, err *Error) {
	d := t.edit(op.Target)
	if d == nil {
		return
	}
	p := props(d.Body)
	if ip, ok := result.(string); ok && err == nil {
		if ip == "" {
			ip = t.exampleAddress()
		}
		p["ipAddress"] = ip
	}
	if label := str(p, "dnsSettings", "domainNameLabel"); label != "" {
		sub(p, "dnsSettings")["fqdn"] = networkOf(t.s).FQDN(label, d.location(), str(p, "ipAddress"))
	}
	t.put(d)
	finishPut(t, op, nil, err)
}

// exampleAddress is the lowest of 203.0.113.0/24 that is free.
func (t *tx) exampleAddress() string {
	used := map[string]bool{}
	for _, d := range t.all(typePublicIP, "") {
		used[str(props(d.Body), "ipAddress")] = true
	}
	for i := 1; i < 255; i++ {
		if ip := fmt.Sprintf("203.0.113.%d", i); !used[ip] {
			return ip
		}
	}
	return "203.0.113.255"
}

func guardPublicIP(t *tx, d *doc) *Error {
	if users := t.users(d.ID, ""); len(users) > 0 {
		return badRequest("PublicIPAddressCannotBeDeleted", "Public IP address %s can not be deleted since it is still allocated to resource %s. In order to delete the public IP, disassociate/detach the Public IP address from the resource.", d.ID, users[0].ID)
	}
	return nil
}

func viewPublicIP(t *tx, d *doc, body object, _ string) {
	for _, u := range t.sources(d.ID, "") {
		switch u.Type {
		case typeGateway:
			props(body)["natGateway"] = object{"id": u.ID}
		case typeNIC, typeBalancer:
			field := "ipConfigurations"
			if u.Type == typeBalancer {
				field = "frontendIPConfigurations"
			}
			for _, c := range items(props(u.Body), field) {
				if strings.EqualFold(str(props(c), "publicIPAddress", "id"), d.ID) {
					props(body)["ipConfiguration"] = object{"id": u.ID + "/" + field + "/" + str(c, "name")}
				}
			}
		}
	}
}
