package windows

import (
	"crypto/sha256"
	"strings"
)

// Maximum lengths of names in Windows and Azure. A computer name is a NetBIOS name; Azure adds six characters to a
// scale set's prefix.
const (
	MaxComputerName = 15
	MaxScaleSetName = 9
)

const (
	nameHead = 9 // characters kept from the beginning
	nameTail = 5 // characters kept from the end, or characters of the hash
)

// maxNameTries limits the search for a free name. There are 36^5 tails, so a second try is already rare.
const maxNameTries = 100

// ComputerName returns the name of a Windows virtual machine: its Azure resource name, computer name and node name alike.
//
// A machine name of up to 15 characters is kept. A longer one becomes its first nine characters without a trailing
// hyphen, a hyphen and its last five, as in CAPZ. If CAPZ would fail later (the name is taken, has a dot, or consists
// of digits), the tail is a hash of the full name instead, so that the same machine always gets the same name. taken
// may be nil and must not count the machine itself; it should ignore case.
func ComputerName(machineName string, taken func(name string) bool) string {
	name := machineName
	if len(name) > MaxComputerName {
		name = strings.TrimSuffix(machineName[:nameHead], "-") + "-" + tailOf(machineName)
	}
	if usable(name, taken) {
		return name
	}
	head := strings.ReplaceAll(machineName, ".", "-")
	head = strings.TrimSuffix(head[:min(len(head), nameHead)], "-") + "-"
	return hashed(head, machineName, taken)
}

// ScaleSetName returns the name of a Windows scale set, which is the prefix of its computers' names: a pool name of up
// to nine characters is kept; a longer one becomes "win-" and its last five characters, as in CAPZ. If two pools would
// share a name, or Windows would refuse it, the five characters are a hash of the pool's name. taken is as for
// ComputerName.
func ScaleSetName(poolName string, taken func(name string) bool) string {
	name := poolName
	if len(name) > MaxScaleSetName {
		name = "win-" + tailOf(poolName)
	}
	if usable(name, taken) {
		return name
	}
	return hashed("win-", poolName, taken)
}

func tailOf(name string) string { return name[len(name)-nameTail:] }

// usable reports whether Windows accepts a name and no object has it. Windows refuses names with dots and names that
// consist of digits. Source:
// https://learn.microsoft.com/troubleshoot/windows-server/active-directory/naming-conventions-for-computer-domain-site-ou.
func usable(name string, taken func(string) bool) bool {
	if strings.Contains(name, ".") || strings.Trim(name, "0123456789") == "" {
		return false
	}
	return taken == nil || !taken(name)
}

func hashed(head, fullName string, taken func(string) bool) string {
	name := ""
	for try := range maxNameTries {
		name = head + hash(fullName, try)
		if usable(name, taken) {
			break
		}
	}
	return name
}

// hash returns five base-36 characters for a name; another try gives others.
func hash(name string, try int) string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256(append([]byte(name), byte(try)))
	out := make([]byte, nameTail)
	for i := range out {
		out[i] = digits[int(sum[i])%len(digits)]
	}
	return string(out)
}
