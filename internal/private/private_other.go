//go:build !unix

package private

import "os"

const noFollow = 0

// owner is unknown on this system.
type owner struct{}

func ownerOf(os.FileInfo) owner { return owner{} }

func (owner) self() bool          { return true }
func (owner) administrator() bool { return true }
func (owner) String() string      { return "another user" }

func othersWrite(os.FileInfo) bool { return false }
func othersReach(os.FileInfo) bool { return false }

func explain(_ string, err error) error { return err }
