package cloud

import "encoding/json"

// PrivateIPs returns the private addresses of a live network interface, in the order of its configurations; nil if live is nil.
func PrivateIPs(live json.RawMessage) ([]string, error) {
	if live == nil {
		return nil, nil
	}
	var nic struct {
		Properties struct {
			IPConfigurations []struct {
				Properties struct {
					PrivateIPAddress string `json:"privateIPAddress"`
				} `json:"properties"`
			} `json:"ipConfigurations"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(live, &nic); err != nil {
		return nil, err
	}
	var ips []string
	for _, c := range nic.Properties.IPConfigurations {
		if c.Properties.PrivateIPAddress != "" {
			ips = append(ips, c.Properties.PrivateIPAddress)
		}
	}
	return ips, nil
}
