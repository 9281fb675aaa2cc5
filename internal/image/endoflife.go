package image

import (
	"maps"
	"strings"
	"time"
)

// kubernetesEnds are the last days of support of Kubernetes minors; the dates of the newest two are planned. Source:
// https://kubernetes.io/releases/patch-releases/.
var kubernetesEnds = map[string]string{
	"1.28": "2024-10-28", "1.29": "2025-02-28", "1.30": "2025-06-28", "1.31": "2025-10-28", "1.32": "2026-02-28",
	"1.33": "2026-06-28", "1.34": "2026-10-27", "1.35": "2027-02-28", "1.36": "2027-06-28",
	"1.37": "2027-10-28",
}

// KubernetesEnds returns the last days of support of Kubernetes minors ("1.36"), as 2006-01-02.
func KubernetesEnds() map[string]string { return maps.Clone(kubernetesEnds) }

// oldestKnown is the oldest minor version in the table; the support of older ones has ended.
const oldestKnown = "1.28"

// kubernetesEnd returns the last day of support of a version; ok is false for a version that is newer than the table.
func kubernetesEnd(version string) (end time.Time, ok bool) {
	parts := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(parts) != 3 {
		return end, false
	}
	minor := parts[0] + "." + parts[1]
	day, known := kubernetesEnds[minor]
	if !known && (len(minor) < len(oldestKnown) || minor < oldestKnown) {
		day, known = kubernetesEnds[oldestKnown], true
	}
	if !known {
		return end, false
	}
	end, err := time.Parse(time.DateOnly, day)
	return end, err == nil
}
