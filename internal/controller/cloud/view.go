package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"casement.dev/casement/internal/azure/arm"
	"casement.dev/casement/internal/azure/desired"
)

// VMStopped is the reason for machines and instances that were stopped or deallocated by someone else.
const VMStopped = "VMStopped"

// View is a virtual machine's instance view, which is not part of its model. It changes
// without a write, is not part of the shared reads, and is read only if a node is lost or a
// machine failed.
type View struct {
	// Power is Azure's power state, such as "running", "stopped" or "deallocated"; "" if
	// Azure reports none.
	Power string
	// Failure has Azure's code and message if the provisioning of the machine failed.
	Failure string
}

// Off returns a message, with the remedy, about a machine that is not running, or "" if it is running. what is the
// machine's name in the message.
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

// instanceView has the fields of Azure's response that casement reads.
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

// View reads the instance view of one virtual machine or of one instance of a scale set.
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

// Views reads the instance views of all instances of a scale set with one list, by ID in
// lower case.
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
