package powershell

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"strings"

	"casement.dev/casement/internal/guestfs"
	"casement.dev/casement/internal/sim/guest/machine"
)

// environment returns an environment variable of the process, the machine or the user.
func (r *run) environment(a []any) (any, error) {
	switch strings.ToLower(at(a, 1)) {
	case "machine", "user":
		key := machineEnvironment
		if strings.EqualFold(at(a, 1), "user") {
			key = userEnvironment
		}
		v, ok := r.m.Registry().Value(key, at(a, 0))
		if !ok {
			return nil, nil
		}
		return valueText(v), nil
	}
	if v, ok := r.env(at(a, 0)); ok {
		return v, nil
	}
	return nil, nil
}

// putEnvironment sets an environment variable of the process, the machine or the user. An empty value removes it.
func (r *run) putEnvironment(name string, value any, target string) error {
	key := machineEnvironment
	switch strings.ToLower(target) {
	case "machine", "2":
	case "user", "1":
		key = userEnvironment
	default:
		return r.setEnv(name, value)
	}
	if s := text(value); s != "" {
		return r.m.Registry().Set(key, name, machine.Value{Kind: "String", Text: s})
	}
	return r.m.Registry().Unset(key, name)
}

// expand replaces %NAME% by the values of environment variables.
func (r *run) expand(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			break
		}
		j := strings.IndexByte(s[i+1:], '%')
		if j < 0 {
			break
		}
		b.WriteString(s[:i])
		if v, ok := r.env(s[i+1 : i+1+j]); ok {
			b.WriteString(v)
		} else {
			b.WriteString(s[i : i+j+2])
		}
		s = s[i+j+2:]
	}
	return b.String() + s
}

// hostEntry returns the IPHostEntry of the machine. Other machines' names are refused by name.
func (r *run) hostEntry(name string) (any, error) {
	if name != "" && !strings.EqualFold(name, r.m.Hostname()) && !strings.EqualFold(name, "localhost") {
		if a, err := netip.ParseAddr(name); err != nil || !a.IsValid() {
			return nil, lacking("the resolution of names other than the machine's own")
		}
	}
	addresses := newArray()
	for _, ip := range r.m.IPs {
		a, err := toAddress(ip.String())
		if err != nil {
			return nil, err
		}
		addresses.items = append(addresses.items, a)
	}
	return system("System.Net.IPHostEntry", nil, "HostName", r.m.Hostname(), "AddressList", addresses), nil
}

func addressesOf(v any) any {
	if o, ok := v.(*object); ok {
		return o.read("AddressList")
	}
	return nil
}

// fileError returns .NET's exception for an error of the guest's file system.
func (r *run) fileError(err error, name string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrNotExist) && r.m.Root.IsDir(parent(name)):
		return thrown("IO.FileNotFoundException", "Could not find file '%s'.", name)
	case errors.Is(err, fs.ErrPermission), errors.Is(err, os.ErrPermission):
		return thrown("UnauthorizedAccessException", "Access to the path '%s' is denied.", name)
	case errors.Is(err, guestfs.ErrDrive), errors.Is(err, fs.ErrNotExist):
		return thrown("IO.DirectoryNotFoundException", "Could not find a part of the path '%s'.", name)
	case errors.Is(err, guestfs.ErrName):
		return thrown("ArgumentException", "Illegal characters in path.")
	}
	return thrown("IO.IOException", "The file '%s' cannot be used: %v", name, errors.Unwrap(err))
}
