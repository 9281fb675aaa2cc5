package arm

import (
	"net/http"
	"strings"

	"casement.dev/casement/internal/sim/throttle"
)

// perMinute is a limit of the compute provider: so many a minute, and a bucket
// that holds three times as many.
// Source: https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits.
func perMinute(n, size float64) throttle.Limit { return throttle.Limit{Size: size, Refill: n / 60} }

// computeBudget is the budget that a call falls under; false for none.
func computeBudget(c *call) (budget, bool) {
	id := c.id
	if _, poll := c.operationPath(); poll {
		return budget{Name: "GetOperation", Resource: perMinute(15, 45), All: perMinute(5000, 15000)}, true
	}
	action := lower(id.tail())
	switch typ := lower(id.childType()); {
	case strings.HasPrefix(typ, "virtualmachinescalesets/virtualmachines"):
		return scalePolicy("VMScaleSetVM", c.r.Method, action, budget{Resource: perMinute(4, 12), All: perMinute(500, 1500)}, budget{Resource: perMinute(12, 36), All: perMinute(2000, 6000)}), true
	case strings.HasPrefix(typ, "virtualmachinescalesets"):
		if c.r.Method == http.MethodPut && len(id.Names) == 1 {
			return budget{Name: "PutVMScaleSet", Resource: perMinute(4, 12), All: perMinute(125, 375)}, true
		}
		if action == "instanceview" || len(id.Types) > len(id.Names) && c.r.Method == http.MethodGet {
			return budget{Name: "HighCostGetVMScaleSet", Resource: perMinute(10, 30), All: perMinute(360, 1080)}, true
		}
		return scalePolicy("VMScaleSet", c.r.Method, action, budget{Resource: perMinute(4, 12), All: perMinute(175, 525)}, budget{Resource: perMinute(12, 36), All: perMinute(800, 2400)}), true
	case strings.HasPrefix(typ, "virtualmachines"):
		switch {
		case c.r.Method == http.MethodPut && len(id.Names) == 1:
			return budget{Name: "PutVM", Resource: perMinute(4, 12), All: perMinute(500, 1500)}, true
		case c.r.Method == http.MethodDelete && len(id.Names) == 1 || action == "deallocate":
			return budget{Name: "DeleteVM", Resource: perMinute(4, 12), All: perMinute(500, 1500)}, true
		case len(id.Names) == 0:
			return budget{Name: "ListVM", Resource: perMinute(300, 900), All: perMinute(300, 900)}, true
		case c.r.Method == http.MethodGet:
			return budget{Name: "LowCostGetVM", Resource: perMinute(12, 36), All: perMinute(8000, 24000)}, true
		}
		return budget{Name: "UpdateVM", Resource: perMinute(4, 12), All: perMinute(500, 1500)}, true
	}
	return budget{}, false
}

func scalePolicy(of, method, action string, write, read budget) budget {
	switch {
	case method == http.MethodGet:
		read.Name = "LowCostGet" + of
		return read
	case method == http.MethodDelete || action == "delete" || action == "deallocate" || action == "poweroff":
		write.Name = "Delete" + of
		return write
	}
	write.Name = "Update" + of
	return write
}
