package facts

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestClosedPort(t *testing.T) {
	rule := func(name, access, ports, source string, priority int) string {
		data, err := json.Marshal(map[string]any{"name": name,
			"properties": map[string]any{"access": access, "direction": "Inbound", "protocol": "Tcp",
				"destinationPortRange": ports, "sourceAddressPrefix": source, "priority": priority}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	allow := rule("allow_apiserver", "Allow", "6443", "*", 2201)
	for name, test := range map[string]struct {
		rules []string
		says  string
	}{
		"casement's own": {[]string{allow}, ""},
		"a foreign rule before": {[]string{allow, rule("corp-deny", "Deny", "6000-7000", "*", 100)},
			"security rule corp-deny of nsg (Inbound, priority 100) denies port 6443 from *"},
		"a foreign rule after":   {[]string{allow, rule("deny-all", "Deny", "*", "*", 4000)}, ""},
		"of one source":          {[]string{allow, rule("lock", "Deny", "*", "10.1.0.0/16", 300)}, "from 10.1.0.0/16"},
		"of another port":        {[]string{allow, rule("web", "Deny", "80", "*", 100)}, ""},
		"nothing that is a rule": {[]string{`"x"`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.Join(ClosedPort(json.RawMessage(`{"name":"nsg","properties":{"securityRules":[`+
				strings.Join(test.rules, ",")+`]}}`), 6443), "; ")
			if (got == "") != (test.says == "") || !strings.Contains(got, test.says) {
				t.Errorf("got %q, want %q", got, test.says)
			}
		})
	}
}

func TestClosedRoutes(t *testing.T) {
	got := ClosedRoutes(json.RawMessage(`{"name":"rt","properties":{"routes":[
		{"name":"out","properties":{"addressPrefix":"0.0.0.0/0","nextHopType":"Internet"}},{"name":"hole",
			"properties":{"addressPrefix":"10.0.0.0/16","nextHopType":"None"}}]}}`))
	if len(got) != 1 || got[0] != "route hole of rt drops what goes to 10.0.0.0/16" {
		t.Errorf("got %q", got)
	}
}
