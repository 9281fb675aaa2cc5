//go:build !linux

package plane

import "errors"

// held reports false: a plane runs on Linux only.
func (d Dir) held() (bool, error) { return false, nil }

func (d Dir) holderPID() (int, error) { return 0, errors.New("a local plane runs on Linux only") }
