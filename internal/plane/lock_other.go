//go:build !linux

package plane

import "errors"

// locked reports false: a plane runs on Linux only.
func (d Dir) locked() (bool, error) { return false, nil }

func (d Dir) holderPID() (int, error) { return 0, errors.New("a local plane runs on Linux only") }
