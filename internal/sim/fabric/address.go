package fabric

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// claimPort is the port that claims a loopback address for a plane. It is above the range of ports
// that Linux assigns itself (32768-60999). Nothing is served on it.
const claimPort = 61999

// block is a claim of 256 neighbouring addresses. One socket claims all of them, so that a process
// with thousands of addresses does not exhaust its open files.
type block struct {
	claim net.Listener
	// used contains the allocated addresses.
	used map[netip.Addr]struct{}
}

// blockOf returns the address whose claimPort claims the block that contains addr.
func blockOf(addr netip.Addr) netip.Addr {
	b := addr.As4()
	b[3] = 1
	return netip.AddrFrom4(b)
}

// publicRange is the range of public addresses.
var publicRange = netip.PrefixFrom(netip.AddrFrom4([4]byte{127, 20, 0, 0}), 16)

// reserved reports whether other programs are known to use a loopback address: the host itself and
// systemd-resolved.
func reserved(a netip.Addr) bool {
	b := a.As4()
	switch b {
	case [4]byte{127, 0, 0, 0}, [4]byte{127, 0, 0, 1}, [4]byte{127, 0, 0, 53}, [4]byte{127, 0, 0, 54},
		[4]byte{127, 0, 1, 1}, [4]byte{127, 255, 255, 255}:
		return true
	}
	return false
}

// addresses maps keys to loopback addresses. A block of addresses belongs to the plane that listens
// on its claimPort: the kernel allows only one listener on the host.
type addresses struct {
	file string
	// start is the second digit at which the search for a free address begins. It differs from
	// plane to plane, so that planes that run at different times rarely choose the same addresses.
	start byte

	mu     sync.Mutex
	closed bool
	byKey  map[string]netip.Addr
	byAddr map[netip.Addr]string
	blocks map[netip.Addr]*block
	// synced contains the keys of the last model; before the first model, the stored keys of an
	// earlier run.
	synced map[string]bool
}

func vnetKey(vnetID string, ip netip.Addr) string {
	return "vnet " + fold(vnetID) + " " + ip.Unmap().String()
}

func publicKey(id string) string { return "public " + fold(id) }

// openAddresses continues with the mapping of an earlier run in the same directory. It returns an
// error if another process has claimed an address since: certificates and kubeconfigs contain the
// addresses, so that no other address can replace it.
func openAddresses(dir string) (*addresses, error) {
	h := fnv.New32a()
	h.Write([]byte(dir))
	a := &addresses{
		file: filepath.Join(dir, "addresses.json"), start: byte(h.Sum32()),
		byKey: map[string]netip.Addr{}, byAddr: map[netip.Addr]string{},
		blocks: map[netip.Addr]*block{}, synced: map[string]bool{},
	}
	data, err := os.ReadFile(a.file)
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the address mapping: %w", err)
	}
	if err := json.Unmarshal(data, &a.byKey); err != nil {
		return nil, fmt.Errorf("read the address mapping %s: %w; remove the file to start with a new one", a.file, err)
	}
	for key, addr := range a.byKey {
		if !addr.Is4() || !addr.IsLoopback() || reserved(addr) || a.byAddr[addr] != "" {
			delete(a.byKey, key)
			continue
		}
		a.byAddr[addr] = key
		a.synced[key] = true
		if !a.claim(addr) {
			return nil, errors.Join(fmt.Errorf("address %s of %s is taken on this host, probably by another local plane that is up: "+
				"take that one down; `ss -ltnp sport = %d` names its process", addr, key, claimPort), a.close())
		}
	}
	return a, nil
}

// claim adds addr to a claimed block, claiming the block first if necessary; it reports whether
// that succeeded. The caller has locked a.mu, or a is not shared yet.
func (a *addresses) claim(addr netip.Addr) bool {
	at := blockOf(addr)
	b := a.blocks[at]
	if b == nil {
		l, err := net.Listen("tcp4", netip.AddrPortFrom(at, claimPort).String())
		if err != nil {
			return false
		}
		b = &block{l, map[netip.Addr]struct{}{}}
		a.blocks[at] = b
	}
	b.used[addr] = struct{}{}
	return true
}

// hold claims an address that was allocated before, and reports false if another process has
// claimed it since.
func (a *addresses) hold(addr netip.Addr) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.claim(addr)
}

func (a *addresses) vnet(vnetID string, ip netip.Addr) (netip.Addr, error) {
	ip = ip.Unmap()
	if !ip.Is4() {
		return netip.Addr{}, fmt.Errorf("address %s of %s: the local plane carries IPv4 alone", ip, vnetID)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := vnetKey(vnetID, ip)
	if addr, ok := a.byKey[key]; ok {
		return addr, nil
	}
	d := ip.As4()
	for k := range 256 {
		// 37 is odd, so that the probe visits each value of the second digit once.
		addr := netip.AddrFrom4([4]byte{127, byte(int(d[1]) + int(a.start) + 37*k), d[2], d[3]})
		if publicRange.Contains(addr) {
			continue
		}
		if ok, err := a.take(key, addr); ok || err != nil {
			return addr, err
		}
	}
	return netip.Addr{}, fmt.Errorf("no free loopback address for %s of %s: port %d is taken on all of "+
		"127.*.%d.1; see `ss -ltn sport = %d`",
		ip, vnetID, claimPort, d[2], claimPort)
}

func (a *addresses) public(id string) (netip.Addr, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := publicKey(id)
	if addr, ok := a.byKey[key]; ok {
		return addr, nil
	}
	base := publicRange.Addr().As4()
	for k := range 1 << 16 {
		n := uint16(a.start)<<8 + uint16(k) + 1
		addr := netip.AddrFrom4([4]byte{base[0], base[1], byte(n >> 8), byte(n)})
		if ok, err := a.take(key, addr); ok || err != nil {
			return addr, err
		}
	}
	return netip.Addr{}, fmt.Errorf("no free address in %s for public IP %s", publicRange, id)
}

// take maps key to addr if addr is free, and reports whether it was.
func (a *addresses) take(key string, addr netip.Addr) (bool, error) {
	if a.closed {
		return false, errClosed
	}
	if reserved(addr) || a.byAddr[addr] != "" || !a.claim(addr) {
		return false, nil
	}
	a.byKey[key], a.byAddr[addr] = addr, key
	return true, a.save()
}

func (a *addresses) release(key string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, ok := a.byKey[key]; !ok {
		return nil
	}
	a.forget(key)
	return a.save()
}

// sync releases the addresses of keys that the last model contained and this one does not.
func (a *addresses) sync(keys map[string]bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	changed := false
	for key := range a.synced {
		if _, found := a.byKey[key]; found && !keys[key] {
			a.forget(key)
			changed = true
		}
	}
	a.synced = keys
	if !changed {
		return nil
	}
	return a.save()
}

func (a *addresses) forget(key string) {
	addr := a.byKey[key]
	delete(a.byKey, key)
	delete(a.byAddr, addr)
	at := blockOf(addr)
	b := a.blocks[at]
	if b == nil {
		return
	}
	delete(b.used, addr)
	if len(b.used) == 0 {
		b.claim.Close()
		delete(a.blocks, at)
	}
}

// lookup returns the address that a key already has, and allocates none.
func (a *addresses) lookup(key string) (netip.Addr, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	addr, ok := a.byKey[key]
	return addr, ok
}

// vnetOf returns the address in a virtual network that a loopback address maps to.
func (a *addresses) vnetOf(addr netip.Addr) (vnetID string, ip netip.Addr, ok bool) {
	a.mu.Lock()
	key := a.byAddr[addr]
	a.mu.Unlock()
	f := strings.Fields(key)
	if len(f) != 3 || f[0] != "vnet" {
		return "", netip.Addr{}, false
	}
	ip, err := netip.ParseAddr(f[2])
	return f[1], ip, err == nil
}

func (a *addresses) save() error {
	data, err := json.MarshalIndent(a.byKey, "", " ")
	if err != nil {
		return err
	}
	tmp := a.file + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("write the address mapping: %w", err)
	}
	return os.Rename(tmp, a.file)
}

func (a *addresses) close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	var errs []error
	for at, b := range a.blocks {
		errs = append(errs, b.claim.Close())
		delete(a.blocks, at)
	}
	return errors.Join(errs...)
}
