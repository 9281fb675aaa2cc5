package shell

import (
	"context"
	"errors"
	"strings"

	"casement.dev/casement/internal/sim/domain"
)

// nltest queries the secure channel to the domain: /sc_query and /sc_verify. Source:
// learn.microsoft.com/windows-server/administration/windows-commands/nltest.
func nltest(_ context.Context, p *Process) int {
	for _, arg := range p.Args[1:] {
		verb, name, _ := strings.Cut(strings.ToLower(strings.TrimLeft(arg, "/-")), ":")
		switch verb {
		case "sc_query", "sc_verify":
			return channel(p, name)
		case "parentdomain", "dsgetdc":
			if p.Guest.Domain() == "" {
				return p.Fail(1, "Getting DC name failed: Status = 1355 0x54b ERROR_NO_SUCH_DOMAIN")
			}
		}
	}
	return p.Fail(1, "nltest: simulated: only /sc_query:DOMAIN and /sc_verify:DOMAIN are")
}

// channel prints the state of the secure channel to a domain.
func channel(p *Process, name string) int {
	m := p.Guest
	err := error(domain.ErrNoSuchDomain)
	if m.Domain() != "" && strings.EqualFold(name, m.Domain()) {
		err = m.Trusted()
	}
	var e *domain.Error
	switch {
	case err == nil:
		p.Printf("Flags: 30 HAS_IP  HAS_TIMESERV\r\nTrusted DC Name \\\\dc.%s (simulated)\r\n"+
			"Trusted DC Connection Status Status = 0 0x0 NERR_Success\r\n"+
			"The command completed successfully\r\n", m.Domain())
		return 0
	case errors.As(err, &e):
		return p.Fail(1, "I_NetLogonControl failed: Status = %d 0x%x: %s", e.Code, e.Code, e.Message)
	}
	return p.Fail(1, "nltest: %v", err)
}
