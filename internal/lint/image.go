package lint

import (
	"slices"
	"strings"

	"casement.dev/casement/internal/windows"
)

// Platforms are what a registry says an image is for.
type Platforms struct {
	// Windows are the versions (os.version, such as 10.0.20348.2700) of what it has
	// for Windows, "" where one is not given.
	Windows []string
	// Others says that it has something for another system.
	Others bool
}

// Builds are the Windows builds that an image has; none when they are not known.
func (i Platforms) Builds() []string {
	if slices.Contains(i.Windows, "") {
		return nil
	}
	return i.Windows
}

// AskFor are the images, each once, of pods that are not for Linux, of which the
// reference does not name the Windows release: those that only a registry knows.
func (s *Set) AskFor() []string {
	s.lookup() // RuntimeClasses and nodes decide too
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

// Learn takes what a registry says of images, by reference. A pod that says nothing of
// its system is meant for Windows when one of its images has nothing else.
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

// Platforms is what a registry said of an image; ok is false when none was asked.
func (s *Set) Platforms(reference string) (Platforms, bool) {
	image, ok := s.platforms[strings.TrimSpace(reference)]
	return image, ok
}
