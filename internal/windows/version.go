package windows

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// version is a Kubernetes version. pre is its pre-release, without build metadata.
type version struct {
	major, minor, patch int
	pre                 string
}

// parseVersion parses "v1.22.1", "1.22" and "1.30.0-rc.1+build".
func parseVersion(s string) (version, error) {
	bad := fmt.Errorf("%q is not a Kubernetes version: write one such as v1.34.1", s)
	rest, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), "v"), "+")
	core, pre, _ := strings.Cut(rest, "-")
	parts := strings.Split(core, ".")
	if len(parts) < 2 || len(parts) > 3 {
		return version{}, bad
	}
	numbers := [3]int{}
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil {
			return version{}, bad
		}
		numbers[i] = int(n)
	}
	return version{numbers[0], numbers[1], numbers[2], pre}, nil
}

// less reports whether v is before o. It ignores the pre-release: an image of 1.27.0-rc.1 is in the same place as the
// images of 1.27.0.
func (v version) less(o version) bool {
	return cmp.Or(cmp.Compare(v.major, o.major), cmp.Compare(v.minor, o.minor), cmp.Compare(v.patch, o.patch)) < 0
}

func (v version) core() string { return fmt.Sprintf("%d.%d.%d", v.major, v.minor, v.patch) }

func (v version) String() string {
	if v.pre == "" {
		return v.core()
	}
	return v.core() + "-" + v.pre
}

// sku returns the beginning of an old marketplace SKU, which contains no pre-release.
func (v version) sku() string { return fmt.Sprintf("k8s-%ddot%ddot%d", v.major, v.minor, v.patch) }
