package fabric

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"
)

// probeKey identifies a probe by its target. Equal probes of the same machine in several rules
// share one prober.
type probeKey struct {
	at             place
	protocol, path string
	port           uint16
	threshold      int
}

// prober is the state of one probe; Fabric.mu protects its fields.
type prober struct {
	cancel  context.CancelFunc
	kick    chan struct{}
	session tls.ClientSessionCache
	healthy bool
	streak  int       // answers in a row that contradict healthy
	since   time.Time // time of the first answer of the streak
	last    string    // error of the last answer, "" for success
}

// probeTimeout limits one probe. A late answer on a busy computer means that a machine is slow, not
// that it is down: only slowThreshold late answers in a row count as unhealthy, even if the probe's
// own threshold is lower.
const (
	probeTimeout  = 10 * time.Second
	slowThreshold = 3
)

// healthyFactor is the number of intervals between two probes of a healthy backend. A backend to
// which a connection fails is probed immediately.
const healthyFactor = 40

// probesPerInterval is the largest number of probes per interval; a larger pool is probed less
// often.
const probesPerInterval = 50

// syncProbes starts and ends probers, and makes the probers of unhealthy machines probe
// immediately.
func (f *Fabric) syncProbes() {
	want := map[probeKey]bool{}
	for _, b := range f.bindings {
		for _, m := range b.backends {
			if m.probe != nil {
				want[*m.probe] = true
			}
		}
	}
	for key, p := range f.probes {
		if !want[key] {
			p.cancel()
			delete(f.probes, key)
			continue
		}
		if !p.healthy && len(f.probes) <= probesPerInterval {
			p.now()
		}
	}
	for key := range want {
		if f.probes[key] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(f.ctx)
		p := &prober{cancel: cancel, kick: make(chan struct{}, 1), session: tls.NewLRUClientSessionCache(1)}
		f.probes[key] = p
		f.spawnLocked(func() { f.probeLoop(ctx, key, p) })
	}
}

func (p *prober) now() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

func (f *Fabric) probeLoop(ctx context.Context, key probeKey, p *prober) {
	defer p.cancel()
	for {
		err := f.probe(ctx, key, p.session)
		if ctx.Err() != nil {
			return
		}
		wait := f.recordProbe(key, p, err)
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-p.kick:
			t.Stop()
		case <-t.C:
		}
	}
}

// recordProbe records an answer and returns the delay of the next probe.
func (f *Fabric) recordProbe(key probeKey, p *prober, err error) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	last := ""
	if err != nil {
		last = err.Error()
	}
	changed := last != p.last
	p.last = last
	if p.streak == 0 {
		p.since = time.Now()
	}
	if ok := err == nil; ok == p.healthy {
		p.streak = 0
	} else if p.streak++; p.streak >= key.requiredStreak(err) && (!ok || time.Since(p.since) >= f.c.Settle) {
		p.healthy, p.streak = ok, 0
		f.log.Info("backend health", "machine", key.at.ip, "port", key.port, "healthy", ok, "reason", p.last)
		changed = true
	}
	for _, b := range f.bindings {
		if changed && b.probedBy(key) {
			f.refresh(b)
		}
	}
	wait := f.c.Probe
	if p.healthy && p.streak == 0 {
		wait *= healthyFactor
	}
	return wait * time.Duration(1+len(f.probes)/probesPerInterval)
}

// requiredStreak returns how many equal probe results in a row change the state of a backend.
func (k probeKey) requiredStreak(err error) int {
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() || errors.Is(err, context.DeadlineExceeded) {
		return max(k.threshold, slowThreshold)
	}
	return k.threshold
}

func (b *binding) probedBy(key probeKey) bool {
	for _, m := range b.backends {
		if m.probe != nil && *m.probe == key {
			return true
		}
	}
	return false
}

// probe makes one probe.
func (f *Fabric) probe(ctx context.Context, key probeKey, session tls.ClientSessionCache) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	f.mu.Lock()
	v := f.ix.inbound(key.at, Flow{Protocol: "tcp", Source: probeSource, Destination: key.at.ip, DestinationPort: key.port}, false, false)
	f.mu.Unlock()
	if !v.Allow {
		return fmt.Errorf("the probe is refused by %s", v)
	}
	c, err := f.dialMachine(ctx, netip.Addr{}, key.at, "tcp", key.port)
	if err != nil {
		return err
	}
	defer c.Close()
	if key.protocol == "tcp" {
		return nil
	}
	return probeHTTP(ctx, c, key, session)
}

// probeHTTP asks for a path over c; only 200 is healthy. The certificate is not checked, as Azure
// does not; session lets the server resume TLS sessions, which saves it most signatures. Source:
// learn.microsoft.com/azure/load-balancer/load-balancer-custom-probe-overview.
func probeHTTP(ctx context.Context, c net.Conn, key probeKey, session tls.ClientSessionCache) error {
	given := make(chan net.Conn, 1)
	given <- c
	transport := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true, ClientSessionCache: session},
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-given:
				return c, nil
			default:
				return nil, errClosed
			}
		},
	}
	url := key.protocol + "://" + net.JoinHostPort(key.at.ip.String(), strconv.Itoa(int(key.port))) + key.path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", url, resp.Status)
	}
	return nil
}
