package stub

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	azcorearm "github.com/Azure/azure-sdk-for-go/sdk/azcore/arm"
)

// Azure is the connection of a stub to the local Azure; stubs are ordinary clients.
type Azure struct {
	// Endpoint is the base URL of the resource manager, Authority the base URL of the login service.
	Endpoint, Authority string
	// HTTP sends the requests; nil means http.DefaultClient.
	HTTP *http.Client
}

// AzureConfig contains the fields of azure.json that the cloud provider reads.
type AzureConfig struct {
	TenantID               string `json:"tenantId"`
	SubscriptionID         string `json:"subscriptionId"`
	ClientID               string `json:"aadClientId"`
	ClientSecret           string `json:"aadClientSecret"`
	ResourceGroup          string `json:"resourceGroup"`
	Location               string `json:"location"`
	VNetName               string `json:"vnetName"`
	VNetResourceGroup      string `json:"vnetResourceGroup"`
	SubnetName             string `json:"subnetName"`
	SecurityGroup          string `json:"securityGroupName"`
	SecurityGroupGroup     string `json:"securityGroupResourceGroup"`
	LoadBalancerName       string `json:"loadBalancerName"`
	UseManagedIdentity     bool   `json:"useManagedIdentityExtension"`
	UserAssignedIdentityID string `json:"userAssignedIdentityID"`
}

// ReadAzureConfig parses azure.json and sets defaults.
func ReadAzureConfig(data []byte) (AzureConfig, error) {
	var c AzureConfig
	if err := json.Unmarshal(data, &c); err != nil {
		// The text contains a secret, which an error of the parser could quote.
		return AzureConfig{}, errors.New("azure.json is no JSON object")
	}
	if c.SubscriptionID == "" || c.ResourceGroup == "" {
		return AzureConfig{}, errors.New("azure.json names no subscriptionId or no resourceGroup")
	}
	c.VNetResourceGroup = cmp.Or(c.VNetResourceGroup, c.ResourceGroup)
	c.SecurityGroupGroup = cmp.Or(c.SecurityGroupGroup, c.ResourceGroup)
	return c, nil
}

// arm is a client of the resource manager with one identity.
type arm struct {
	azure Azure
	c     AzureConfig
	// metadata gets a token of the machine's identity.
	metadata func(ctx context.Context, path string, into any) error

	mu      sync.Mutex
	token   string
	expires time.Time
}

// armError is an error response of the resource manager.
type armError struct {
	status        int
	code, message string
}

func (e *armError) Error() string { return fmt.Sprintf("%d %s: %s", e.status, e.code, e.message) }

func isNotFound(err error) bool {
	var e *armError
	return errors.As(err, &e) && e.status == http.StatusNotFound
}

const (
	networkVersion = "2023-09-01"
	computeVersion = "2023-09-01"
	storageVersion = "2023-05-01"
	diskVersion    = "2023-10-02"
	groupVersion   = "2023-07-01"
)

func apiVersion(path string) string {
	switch path = strings.ToLower(path); {
	case strings.Contains(path, "/microsoft.compute/disks/"):
		return diskVersion
	case strings.Contains(path, "/microsoft.compute/"):
		return computeVersion
	case strings.Contains(path, "/microsoft.storage/"):
		return storageVersion
	case !strings.Contains(path, "/providers/"):
		return groupVersion
	}
	return networkVersion
}

// call sends one request; out may be nil.
func (a *arm) call(ctx context.Context, method, path string, body, out any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	u, err := a.target(path)
	if err != nil {
		return err
	}
	token, err := a.authorize(ctx)
	if err != nil {
		return err
	}
	var data []byte
	if body != nil {
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, u, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "casement-stub (simulated cloud-provider-azure)")
	resp, err := a.azure.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return refusal(resp.StatusCode, answer)
	}
	if out == nil || len(answer) == 0 {
		return nil
	}
	return json.Unmarshal(answer, out)
}

// target returns the URL for a resource ID or for a link to another page of a list. Guests write
// the IDs of volumes and nodes, so it ensures that only the resource manager gets the token and
// requests of this process.
func (a *arm) target(path string) (string, error) {
	base := strings.TrimRight(a.azure.Endpoint, "/")
	if strings.HasPrefix(path, base+"/") {
		return path, nil
	}
	segments := strings.Split(path, "/")
	if segments[0] != "" || len(segments) < 2 {
		return "", fmt.Errorf("%q is no resource ID", path)
	}
	for _, segment := range segments[1:] {
		if strings.Trim(segment, ".") == "" || segment != url.PathEscape(segment) {
			return "", fmt.Errorf("%q is no resource ID", path)
		}
	}
	return base + path + "?api-version=" + apiVersion(path), nil
}

// hasType reports whether an ID belongs to a resource of one of the types. The type of an instance
// of a scale set is Microsoft.Compute/virtualMachineScaleSets/virtualMachines.
func hasType(id string, types ...string) bool {
	parsed, err := azcorearm.ParseResourceID(id)
	return err == nil && strings.Count(strings.ToLower(id), "/providers/") == 1 &&
		slices.ContainsFunc(types, func(t string) bool { return strings.EqualFold(parsed.ResourceType.String(), t) })
}

// machineTypes are the resource types of virtual machines.
var machineTypes = []string{"Microsoft.Compute/virtualMachines", "Microsoft.Compute/virtualMachineScaleSets/virtualMachines"}

func refusal(status int, answer []byte) error {
	var doc struct {
		Error struct{ Code, Message string }
	}
	json.Unmarshal(answer, &doc) // an answer without a code keeps only its status
	return &armError{status: status, code: cmp.Or(doc.Error.Code, http.StatusText(status)), message: doc.Error.Message}
}

// document is an ARM resource as it was received.
type document = map[string]any

// operationPoll is the interval at which a changing resource is read.
const operationPoll = 100 * time.Millisecond

// put writes a resource and waits until the operation has ended.
func (a *arm) put(ctx context.Context, path string, body document) (document, error) {
	var doc document
	if err := a.call(ctx, http.MethodPut, path, body, &doc); err != nil {
		return nil, fmt.Errorf("put %s: %w", path, err)
	}
	for {
		properties, _ := doc["properties"].(document)
		switch state, _ := properties["provisioningState"].(string); state {
		case "Succeeded", "":
			return doc, nil
		case "Failed", "Canceled":
			return nil, fmt.Errorf("put %s: it ended as %s", path, state)
		}
		if !pause(ctx, operationPoll) {
			return nil, ctx.Err()
		}
		doc = nil
		if err := a.call(ctx, http.MethodGet, path, nil, &doc); err != nil {
			return nil, fmt.Errorf("get %s: %w", path, err)
		}
	}
}

// delete deletes a resource and waits until it is gone.
func (a *arm) delete(ctx context.Context, path string) error {
	err := a.call(ctx, http.MethodDelete, path, nil, nil)
	for err == nil {
		if err = a.call(ctx, http.MethodGet, path, nil, nil); err == nil && !pause(ctx, operationPoll) {
			return ctx.Err()
		}
	}
	if isNotFound(err) {
		return nil
	}
	return fmt.Errorf("delete %s: %w", path, err)
}

// authorize returns a valid access token, which it caches.
func (a *arm) authorize(ctx context.Context) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.token != "" && time.Until(a.expires) > time.Minute {
		return a.token, nil
	}
	var answer struct {
		Token     string          `json:"access_token"`
		ExpiresIn json.RawMessage `json:"expires_in"` // a number; a string from the metadata service
	}
	var err error
	switch {
	case a.c.UseManagedIdentity && a.metadata != nil:
		q := url.Values{"api-version": {"2018-02-01"}, "resource": {"https://management.azure.com/"}}
		if a.c.UserAssignedIdentityID != "" {
			q.Set("client_id", a.c.UserAssignedIdentityID)
		}
		err = a.metadata(ctx, "/metadata/identity/oauth2/token?"+q.Encode(), &answer)
	case a.c.ClientID != "" && a.c.ClientSecret != "":
		err = a.login(ctx, &answer)
	default:
		err = errors.New("azure.json has neither a client secret nor a managed identity that can be asked; give " +
			"the control plane machines an identity")
	}
	if err != nil {
		return "", fmt.Errorf("get a token: %w", err)
	}
	seconds := 3000
	fmt.Sscanf(strings.Trim(string(answer.ExpiresIn), `"`), "%d", &seconds)
	a.token, a.expires = answer.Token, time.Now().Add(time.Duration(seconds)*time.Second)
	return a.token, nil
}

func (a *arm) login(ctx context.Context, into any) error {
	form := url.Values{
		"grant_type": {"client_credentials"}, "client_id": {a.c.ClientID}, "client_secret": {a.c.ClientSecret},
		"scope": {"https://management.azure.com/.default"},
	}
	u := strings.TrimRight(a.azure.Authority, "/") + "/" + a.c.TenantID + "/oauth2/v2.0/token"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u, strings.NewReader(form.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := a.azure.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the login service answered %s for client %s", resp.Status, a.c.ClientID)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(into)
}

// network returns the ID of a network resource.
func (a *arm) network(group, kind, name string) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Network/%s/%s", a.c.SubscriptionID, group, kind, name)
}

// machines returns the virtual machines of the cluster's resource group, and of scale sets in it,
// by provider ID and by computer name, both in lower case. A scale set that does not exist has
// none.
func (a *arm) machines(ctx context.Context, scaleSets []string) (map[string]bool, error) {
	out := map[string]bool{}
	add := func(m machine) {
		out[strings.ToLower(ProviderID(m.ID))] = true
		out[strings.ToLower(m.Properties.OSProfile.ComputerName)] = true
	}
	if err := a.list(ctx, a.compute()+"virtualMachines", add); err != nil {
		return nil, fmt.Errorf("list the virtual machines: %w", err)
	}
	for _, set := range scaleSets {
		if err := a.list(ctx, a.compute()+"virtualMachineScaleSets/"+set+"/virtualMachines", add); err != nil && !isNotFound(err) {
			return nil, fmt.Errorf("list the instances of scale set %s: %w", set, err)
		}
	}
	return out, nil
}

// scaleSets returns the names of the resource group's scale sets.
func (a *arm) scaleSets(ctx context.Context) ([]string, error) {
	var out []string
	if err := a.list(ctx, a.compute()+"virtualMachineScaleSets", func(m machine) { out = append(out, m.Name) }); err != nil {
		return nil, fmt.Errorf("list the scale sets: %w", err)
	}
	return out, nil
}

// compute returns the prefix of the IDs of the resource group's machines.
func (a *arm) compute() string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/", a.c.SubscriptionID, a.c.ResourceGroup)
}

// machine contains the fields of a virtual machine, an instance or a scale set that are used here.
type machine struct {
	ID, Name   string
	Properties struct {
		OSProfile struct {
			ComputerName string `json:"computerName"`
		} `json:"osProfile"`
	} `json:"properties"`
}

func (a *arm) list(ctx context.Context, next string, add func(machine)) error {
	for next != "" {
		var page struct {
			Value    []machine `json:"value"`
			NextLink string    `json:"nextLink"`
		}
		if err := a.call(ctx, http.MethodGet, next, nil, &page); err != nil {
			return err
		}
		for _, v := range page.Value {
			add(v)
		}
		next = page.NextLink
	}
	return nil
}

// disks replaces the data disks of a machine and waits for the result.
func (a *arm) disks(ctx context.Context, vm string, disks []any) error {
	body := document{"properties": document{"storageProfile": document{"dataDisks": disks}}}
	if err := a.call(ctx, http.MethodPatch, vm, body, nil); err != nil {
		return fmt.Errorf("patch %s: %w", vm, err)
	}
	return a.settled(ctx, vm)
}

// settled waits until no operation on a resource is in progress.
func (a *arm) settled(ctx context.Context, path string) error {
	for {
		var doc document
		if err := a.call(ctx, http.MethodGet, path, nil, &doc); err != nil {
			return fmt.Errorf("get %s: %w", path, err)
		}
		properties, _ := doc["properties"].(document)
		switch state, _ := properties["provisioningState"].(string); state {
		case "Succeeded", "":
			return nil
		case "Failed", "Canceled":
			return fmt.Errorf("%s ended as %s", path, state)
		}
		if !pause(ctx, operationPoll) {
			return ctx.Err()
		}
	}
}

// accountOf returns the name of a cluster's storage account, which is always the same for the same
// argument.
func accountOf(of string) string {
	h := fnv.New64a()
	h.Write([]byte(strings.ToLower(of)))
	return fmt.Sprintf("f%016x", h.Sum64())
}
