//go:build unix

package private

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"
)

// noFollow makes open refuse a link as the last element, and not wait for the other side of a FIFO.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// owner is the number of a user.
type owner uint32

func ownerOf(info os.FileInfo) owner { return owner(info.Sys().(*syscall.Stat_t).Uid) }

func (o owner) self() bool { return int(o) == os.Geteuid() }

// unmapped is the owner that a user namespace shows for users that are not mapped in it, including the machine's
// administrator. Source: user_namespaces(7).
const unmapped owner = 65534

// administrator reports whether the owner is root, who has access to everything anyway.
func (o owner) administrator() bool { return o == 0 || o == unmapped && rootUnmapped() }

// rootUnmapped reports whether this process is in a user namespace without the machine's root: the owner of the root
// directory is then unmapped.
func rootUnmapped() bool {
	info, err := os.Stat("/")
	return err == nil && ownerOf(info) == unmapped
}

func (o owner) String() string {
	id := strconv.FormatUint(uint64(o), 10)
	if u, err := user.LookupId(id); err == nil {
		return fmt.Sprintf("user %s (%s)", u.Username, id)
	}
	return "user " + id
}

// othersWrite and othersReach report the permissions of others in a directory's mode.
func othersWrite(info os.FileInfo) bool { return info.Mode().Perm()&0o022 != 0 }
func othersReach(info os.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }

func explain(path string, err error) error {
	if errors.Is(err, syscall.ELOOP) {
		return fmt.Errorf("%s is a link, which is not followed: remove it", path)
	}
	return err
}
