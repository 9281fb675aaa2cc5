package plane

import "time"

// AzureCall is one request that the local Azure has answered.
type AzureCall struct {
	// Number is the number of the call, counted from 1 over all calls.
	Number uint64    `json:"number"`
	Time   time.Time `json:"time"`
	Method string    `json:"method"`
	Path   string    `json:"path"`
	Type   string    `json:"type"`
	Status int       `json:"status"`
	Caller string    `json:"caller"`
	// Code is the error's code; Fault is the kind and ID of the fault rule that matched.
	Code  string `json:"code,omitempty"`
	Fault string `json:"fault,omitempty"`
	// APIVersion is the api-version of the request.
	APIVersion string `json:"apiVersion,omitempty"`
	// Seconds is the time until the response.
	Seconds float64 `json:"seconds"`
}

// AzureResource is one resource of the local Azure.
type AzureResource struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Group    string `json:"group,omitempty"`
	Location string `json:"location,omitempty"`
	// State is the provisioning state; a VM's power state follows a comma.
	State string `json:"state"`
}

// Calls counts the requests to the local Azure.
type Calls struct {
	Counters                                 []CallCounter `json:"counters"`
	Reads, Writes, Deletes, Polls, Throttled int
}

// CallCounter counts equal calls.
type CallCounter struct {
	Verb   string `json:"verb"`
	Type   string `json:"type"`
	Status int    `json:"status"`
	Caller string `json:"caller"`
	Count  int    `json:"count"`
}
