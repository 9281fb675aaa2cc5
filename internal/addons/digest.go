package addons

import (
	"regexp"
	"slices"
)

// imageLine matches a line of a manifest that names an image.
var imageLine = regexp.MustCompile(`(?m)^(\s*(?:- )?image: )(\S+)$`)

// Images returns the images of an addon, by tag, each once.
func (a Addon) Images(p Params) ([]string, error) {
	p.Digests = nil
	text, err := a.Render(p)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, m := range imageLine.FindAllSubmatch(text, -1) {
		out = append(out, string(m[2]))
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// pinned returns manifests with each image's digest appended to its tag.
func pinned(text []byte, digests map[string]string) []byte {
	if len(digests) == 0 {
		return text
	}
	return imageLine.ReplaceAllFunc(text, func(line []byte) []byte {
		m := imageLine.FindSubmatch(line)
		digest, ok := digests[string(m[2])]
		if !ok {
			return line
		}
		return append(slices.Clone(line), "@"+digest...)
	})
}
