//go:build !linux

package plane

import "errors"

// locked returns false, because planes only run on Linux.
func (d Dir) locked() (bool, error) { return false, nil }

func (d Dir) holderPID() (int, error) { return 0, errors.New("a local plane runs on Linux only") }
