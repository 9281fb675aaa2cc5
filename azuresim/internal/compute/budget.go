package compute

import (
	"net/http"
	"strings"

	"casement.dev/casement/azuresim/internal/engine"
	"casement.dev/casement/azuresim/internal/throttle"
	"casement.dev/casement/azuresim/internal/value"
)

// perMinute returns a limit of the compute provider: n requests a minute, from a bucket for size
// requests, which is three times n. Source:
// https://learn.microsoft.com/azure/virtual-machines/compute-throttling-limits.
func perMinute(n, size float64) throttle.Limit { return throttle.Limit{Size: size, Refill: n / 60} }

// computeBudget returns the budget that a request counts against; false if there is none.
func computeBudget(c *engine.Request) (engine.Budget, bool) {
	id := c.ID
	if _, poll := c.OperationPath(); poll {
		return engine.Budget{Name: "GetOperation", Resource: perMinute(15, 45), All: perMinute(5000, 15000)}, true
	}
	action := value.Lower(id.Tail())
	switch typ := value.Lower(id.ChildType()); {
	case strings.HasPrefix(typ, "virtualmachinescalesets/virtualmachines"):
		return scalePolicy("VMScaleSetVM", c.HTTP.Method, action,
			engine.Budget{Resource: perMinute(4, 12), All: perMinute(500, 1500)},
			engine.Budget{Resource: perMinute(12, 36), All: perMinute(2000, 6000)}), true
	case strings.HasPrefix(typ, "virtualmachinescalesets"):
		if c.HTTP.Method == http.MethodPut && len(id.Names) == 1 {
			return engine.Budget{Name: "PutVMScaleSet", Resource: perMinute(4, 12), All: perMinute(125, 375)}, true
		}
		if action == "instanceview" || len(id.Types) > len(id.Names) && c.HTTP.Method == http.MethodGet {
			return engine.Budget{Name: "HighCostGetVMScaleSet", Resource: perMinute(10, 30), All: perMinute(360, 1080)}, true
		}
		return scalePolicy("VMScaleSet", c.HTTP.Method, action,
			engine.Budget{Resource: perMinute(4, 12), All: perMinute(175, 525)},
			engine.Budget{Resource: perMinute(12, 36), All: perMinute(800, 2400)}), true
	case strings.HasPrefix(typ, "virtualmachines"):
		switch {
		case c.HTTP.Method == http.MethodPut && len(id.Names) == 1:
			return engine.Budget{Name: "PutVM", Resource: perMinute(4, 12), All: perMinute(500, 1500)}, true
		case c.HTTP.Method == http.MethodDelete && len(id.Names) == 1 || action == "deallocate":
			return engine.Budget{Name: "DeleteVM", Resource: perMinute(4, 12), All: perMinute(500, 1500)}, true
		case len(id.Names) == 0:
			return engine.Budget{Name: "ListVM", Resource: perMinute(300, 900), All: perMinute(300, 900)}, true
		case c.HTTP.Method == http.MethodGet:
			return engine.Budget{Name: "LowCostGetVM", Resource: perMinute(12, 36), All: perMinute(8000, 24000)}, true
		}
		return engine.Budget{Name: "UpdateVM", Resource: perMinute(4, 12), All: perMinute(500, 1500)}, true
	}
	return engine.Budget{}, false
}

func scalePolicy(of, method, action string, write, read engine.Budget) engine.Budget {
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
