package confine

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Reaches is the environment variable with the address of a machine: casement-kube then connects only to this machine's
// sockets; see Connections.
const Reaches = "CASEMENT_REACHES"

// notice and answer are the kernel's struct seccomp_notif and struct seccomp_notif_resp (linux/seccomp.h).
type notice struct {
	id         uint64
	pid, flags uint32
	call       int32
	convention uint32
	at         uint64
	args       [6]uint64
}

type answer struct {
	id    uint64
	value int64
	error int32
	flags uint32
}

// Connections makes this process, with all of its threads, call may before each connection to an address of IPv4 or
// IPv6; network is "tcp" or "udp". A refused connection fails with EACCES, and the first refusal for each address is
// reported on standard error. may itself must not connect. Sockets in the file system are exempt.
//
// The process itself makes the decision (SECCOMP_RET_USER_NOTIF, seccomp(2)): this limits a known program that reads
// the data of others; it is no protection against foreign code.
func Connections(may func(network string, to netip.AddrPort) error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("watch connections: %w", err)
	}
	filter := callFilter(0, []uint32{unix.SYS_CONNECT})
	filter[len(filter)-1].K = unix.SECCOMP_RET_USER_NOTIF
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC|
		unix.SECCOMP_FILTER_FLAG_TSYNC_ESRCH|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&program)))
	switch errno {
	case 0:
	case unix.ENOSYS, unix.EINVAL, unix.EBUSY: // EBUSY: the parent process has installed a filter with a listener
		return fmt.Errorf("watch connections: seccomp: %w (%w)", ErrUnsupported, errno)
	default:
		return fmt.Errorf("watch connections: %w", errno)
	}
	unix.CloseOnExec(int(listener))
	go respond(listener, may)
	return nil
}

// respond answers the kernel's notices until the process ends.
func respond(listener uintptr, may func(network string, to netip.AddrPort) error) {
	runtime.LockOSThread()
	said := map[string]bool{}
	for {
		var n notice
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&n))); errno != 0 {
			continue // EINTR, or ENOENT: the thread that made the call was interrupted
		}
		a := answer{id: n.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if err := judge(n, may); err != nil {
			if text := err.Error(); len(said) < 100 && !said[text] {
				said[text] = true
				fmt.Fprintln(os.Stderr, "casement:", text)
			}
			a = answer{id: n.id, error: -int32(unix.EACCES)}
		}
		// ENOENT: the thread that made the call was interrupted, and repeats the call.
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, listener, unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
	}
}

func judge(n notice, may func(network string, to netip.AddrPort) error) error {
	to, err := destination(n)
	if err != nil {
		return fmt.Errorf("a connection is refused: %w", err)
	}
	if !to.IsValid() {
		return nil
	}
	network := "tcp"
	if kind, err := unix.GetsockoptInt(int(n.args[0]), unix.SOL_SOCKET, unix.SO_TYPE); err == nil && kind != unix.SOCK_STREAM {
		network = "udp"
	}
	if err := may(network, to); err != nil {
		return fmt.Errorf("a connection to %s is refused: %w", to, err)
	}
	return nil
}

// destination returns the address of a call of connect, and the zero value for a socket that is not of IP.
func destination(n notice) (netip.AddrPort, error) {
	var address [28]byte // struct sockaddr_in6, the larger of the two
	size := min(int(uint32(n.args[2])), len(address))
	if size < 2 {
		return netip.AddrPort{}, nil // the kernel refuses the call
	}
	local, remote := unix.Iovec{Base: &address[0]}, unix.RemoteIovec{Base: uintptr(n.args[1]), Len: size}
	local.SetLen(size)
	read, err := unix.ProcessVMReadv(os.Getpid(), []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
	if err != nil || read != size {
		return netip.AddrPort{}, errors.Join(errors.New("its address is not readable"), err)
	}
	port := binary.BigEndian.Uint16(address[2:])
	switch family := binary.NativeEndian.Uint16(address[:]); {
	case family == unix.AF_INET && size >= 8:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(address[4:8])), port), nil
	case family == unix.AF_INET6 && size >= 24:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(address[8:24])).Unmap(), port), nil
	case family == unix.AF_UNIX, family == unix.AF_UNSPEC, family == unix.AF_NETLINK:
		return netip.AddrPort{}, nil
	default:
		return netip.AddrPort{}, fmt.Errorf("its kind of address (%d) is not known here", family)
	}
}
