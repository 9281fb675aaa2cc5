// Package pull decides which container images a simulated node can pull. It contacts no registry: a
// table contains repositories and the forms of their tags, and rules of the user add others. The
// pull of an image that cannot exist fails with containerd's message and the note that it is
// simulated.
//
// It does not know pods, operating systems and the effect of a running image. The simulator,
// internal/plane and internal/cli may import it.
package pull

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/distribution/reference"
)

// Modes of a Policy.
const (
	// Any accepts every image whose name is valid.
	Any = "any"
	// Known refuses images that do not exist according to the table: a tag that a repository of the
	// table cannot have, a repository in a namespace of which the table contains all repositories,
	// and a registry whose name never resolves. It accepts all others, because a plane that cannot
	// run the user's own images would be of little use.
	Known = "known"
	// Listed refuses every image that is not in the table.
	Listed = "listed"
)

// Policy decides which images exist. The zero value is Known.
type Policy struct {
	mode  string
	admit []*regexp.Regexp
}

// New returns a policy. Images that match a pattern exist in every mode. A pattern is a reference
// in the form of users or of containerd, in which * matches any characters. An unknown mode is an
// error.
func New(mode string, patterns []string) (Policy, error) {
	switch mode {
	case Any, Known, Listed, "":
	default:
		return Policy{}, fmt.Errorf("images are %s, %s or %s, not %q", Any, Known, Listed, mode)
	}
	p := Policy{mode: mode}
	for _, pattern := range patterns {
		quoted := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
		p.admit = append(p.admit, regexp.MustCompile("^(?:"+quoted+")$"))
	}
	return p, nil
}

// Refusal is the error for an image that cannot be pulled.
type Refusal struct {
	// Reason is the kubelet's reason: InvalidImageName or ErrImagePull.
	Reason string
	// Message is the error message of the kubelet or of containerd.
	Message string
}

// Refuse returns the refusal of an image that cannot be pulled, and nil for any other image.
func (p Policy) Refuse(image string) *Refusal {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return &Refusal{"InvalidImageName",
			fmt.Sprintf("Failed to apply default image tag %q: couldn't parse image name %q: %v", image, image, err)}
	}
	full := reference.TagNameOnly(named).String()
	for _, admit := range p.admit {
		if admit.MatchString(image) || admit.MatchString(full) || admit.MatchString(reference.FamiliarString(named)) {
			return nil
		}
	}
	if p.mode == Any {
		return nil
	}
	if host := reference.Domain(named); unresolved(host) {
		const text = "rpc error: code = Unknown desc = failed to pull and unpack image %q: failed to resolve reference %q: " +
			"failed to do request: Head \"https://%s/v2/%s/manifests/%s\": dial tcp: lookup %s: no such host (simulated)"
		return &Refusal{"ErrImagePull", fmt.Sprintf(text, full, full, host, reference.Path(named), version(named), host)}
	}
	tags, listed := find(named.Name())
	_, digested := named.(reference.Digested)
	switch {
	case !listed && p.mode != Listed && !complete(named.Name()):
		return nil
	case !listed:
		return notFound(full, "the repository is not")
	case digested || tags.MatchString(version(named)):
		return nil
	}
	return notFound(full, "the repository with such a tag is not")
}

func notFound(full, what string) *Refusal {
	const text = "rpc error: code = NotFound desc = failed to pull and unpack image %q: failed to resolve reference %q: %s: not found " +
		"(simulated: %s in the plane's table of images; casement up --image %s admits it)"
	return &Refusal{"ErrImagePull", fmt.Sprintf(text, full, full, full, what, full)}
}

// version returns the tag of a reference, or its digest.
func version(named reference.Named) string {
	if d, ok := named.(reference.Digested); ok {
		return d.Digest().String()
	}
	return reference.TagNameOnly(named).(reference.Tagged).Tag()
}

// unresolved reports whether the name of a registry can never be resolved: RFC 2606 and 6761
// reserve .invalid.
func unresolved(registry string) bool {
	host, _, _ := strings.Cut(registry, ":")
	return strings.HasSuffix(host, ".invalid")
}
