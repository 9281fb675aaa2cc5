package azuresim

import (
	"context"

	"casement.dev/casement/azuresim/host"
)

// quickGuests is a Host whose guests report success immediately, and whose scripts print
// themselves.
type quickGuests struct{}

func (quickGuests) Start(host.VM)                        {}
func (quickGuests) Stop(string)                          {}
func (quickGuests) Delete(context.Context, string) error { return nil }
func (quickGuests) View(string) host.View {
	return host.View{Provisioned: host.ProvisioningReady, AgentReady: true}
}
func (quickGuests) Console(string) []byte { return []byte("booted\n") }
func (quickGuests) Run(_ context.Context, _, script string) (int, string, string, error) {
	return 0, script, "", nil
}
