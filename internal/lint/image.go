package lint

import (
	"slices"
	"strings"

	"casement.dev/casement/internal/windows"
)

// Platforms are the platforms of an image according to its registry.
type Platforms struct {
	// Windows are the Windows versions (os.version, such as 10.0.20348.2700) of the image; "" for a platform without a
	// version in the registry.
	Windows []string
	// Others is true if the image has a platform of another operating system.
	Others bool
}

// Builds returns the Windows builds of an image; none if they are unknown.
func (p Platforms) Builds() []string {
	if slices.Contains(p.Windows, "") {
		return nil
	}
	return p.Windows
}

// AskFor returns the images whose platforms only a registry knows, each once: images of pods that are not
// for Linux, if the reference does not name a Windows release.
func (s *Set) AskFor() []string {
	s.lookup() // RuntimeClasses and Nodes of the set influence the level too
	seen := map[string]bool{}
	var out []string
	for _, p := range s.Pods {
		if p.Level == Linux {
			continue
		}
		for _, c := range p.Containers() {
			image := strings.TrimSpace(c.At("image").Str())
			if _, known := windows.ImageRelease(image); image != "" && !known && !seen[image] {
				seen[image] = true
				out = append(out, image)
			}
		}
	}
	return out
}

// Learn adds the platforms of images, by reference. A pod without an OS counts as a Windows pod if one of its images
// has only Windows platforms.
func (s *Set) Learn(images map[string]Platforms) {
	s.platforms, s.index = images, nil
	for _, p := range s.Pods {
		only := func(c Container) bool {
			image, ok := s.Platforms(c.At("image").Str())
			return ok && len(image.Windows) > 0 && !image.Others
		}
		if p.Level == Unknown && slices.ContainsFunc(p.Containers(), only) {
			p.Level = Image
		}
	}
}

// Platforms returns the platforms of an image according to its registry; ok is false if they are unknown.
func (s *Set) Platforms(reference string) (Platforms, bool) {
	image, ok := s.platforms[strings.TrimSpace(reference)]
	return image, ok
}
