package rules

import (
	"regexp"

	"casement.dev/casement/internal/lint"
	"casement.dev/casement/internal/windows"
)

// base matches Microsoft's base images, which have no tag latest.
var base = regexp.MustCompile(`^mcr\.microsoft\.com/windows(/(nanoserver|servercore|server))?(:latest)?$`)

// ended matches releases that get no more security updates.
var ended = regexp.MustCompile(`(:|-)(1607|1709|1803|1903|1909|2004|20H2|ltsc2016)([-_]|$)`)

// notForWindows reports whether an image has no Windows platform, according to its registry (`--check-images`) or
// otherwise to its name.
func notForWindows(s *lint.Set, image string) bool {
	if known, ok := s.Platforms(image); ok {
		return len(known.Windows) == 0
	}
	return windows.IsLinuxImage(image)
}

// withImage returns a Windows pod with an image.
func withImage(name string) string {
	return windowsPod + "  containers:\n  - name: app\n    image: " + name + "\n"
}

// eachImage runs check for the image of each container.
func eachImage(check func(p *lint.Pass, pod *lint.Pod, v lint.Value)) func(*lint.Pass, *lint.Pod) {
	return eachContainer(func(p *lint.Pass, pod *lint.Pod, c lint.Container) {
		if v := c.At("image"); v.Exists() {
			check(p, pod, v)
		}
	})
}
