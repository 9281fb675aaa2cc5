package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// VMStopped is the reason of machines and instances that somebody else than casement
// stopped or deallocated.
const VMStopped = "VMStopped"

// View is what Azure knows of a virtual machine beyond its model. It changes without a
// write, is not part of the shared reads, and is asked for only where a node is lost or
// a machine failed.
type View struct {
	// Power is Azure's power state, such as "running", "stopped" or "deallocated"; ""
	// while Azure knows none.
	Power string
	// Failure is Azure's code and text where it failed to provision the machine.
	Failure string
}

// Off says that a machine does not run and what to do about it, and "" for one that
// does. what names the machine.
func (v View) Off(what string, spot bool) string {
	const next = "start it, or delete the Machine to get another"
	switch {
	case v.Power == "deallocated" && spot:
		return fmt.Sprintf("%s is deallocated in Azure, as spot machines are when Azure evicts them; delete the "+
			"Machine to get another, or let a MachineHealthCheck do so", what)
	case v.Power == "deallocated", v.Power == "stopped":
		return fmt.Sprintf("%s is %s in Azure, and not by casement; %s", what, v.Power, next)
	}
	return ""
}

// instanceView is the part of Azure's answer that is read.
type instanceView struct {
	Statuses []struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"statuses"`
}

func (i instanceView) view() View {
	var v View
	for _, s := range i.Statuses {
		kind, rest, _ := strings.Cut(s.Code, "/")
		switch {
		case strings.EqualFold(kind, "PowerState"):
			v.Power = strings.ToLower(rest)
		case strings.HasPrefix(strings.ToLower(s.Code), "provisioningstate/failed"):
			_, code, _ := strings.Cut(rest, "/")
			v.Failure = strings.Trim(code+": "+s.Message, ": ")
		}
	}
	return v
}

// View asks for one virtual machine's, or for one instance's of a scale set.
func (s *Session) View(ctx context.Context, vmID string) (View, error) {
	raw, err := s.client.Get(ctx, vmID+"/instanceView", desired.ComputeAPIVersion)
	if err != nil {
		return View{}, fmt.Errorf("read the instance view of %s: %w", desired.LastSegment(vmID), err)
	}
	var i instanceView
	if err := json.Unmarshal(raw, &i); err != nil {
		return View{}, fmt.Errorf("read the instance view of %s: %w", desired.LastSegment(vmID), err)
	}
	return i.view(), nil
}

// Views asks for those of all instances of a scale set with one list, by ID in lower
// case.
func (s *Session) Views(ctx context.Context, setID string) (map[string]View, error) {
	views := map[string]View{}
	for raw, err := range s.client.List(ctx, setID+"/virtualMachines", desired.ComputeAPIVersion, arm.Query("$expand", "instanceView")) {
		if err != nil {
			return nil, fmt.Errorf("list the instance views of scale set %s: %w", desired.LastSegment(setID), err)
		}
		var item struct {
			ID         string `json:"id"`
			Properties struct {
				InstanceView instanceView `json:"instanceView"`
			} `json:"properties"`
		}
		if err := json.Unmarshal(raw, &item); err != nil {
			return nil, fmt.Errorf("list the instance views of scale set %s: %w", desired.LastSegment(setID), err)
		}
		views[strings.ToLower(item.ID)] = item.Properties.InstanceView.view()
	}
	return views, nil
}
