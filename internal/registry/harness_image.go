package registry

import (
	"errors"
	"regexp"
	"strings"
	"sync"
)

// ImageReference is an image in an OCI registry, pinned by its digest.
type ImageReference struct {
	Registry   string // host and, if any, port
	Repository string
	Tag        string // that must point at the digest; empty for none
	Digest     string // "sha256:" and 64 hexadecimal digits
}

// The default registry of a reference that names none, as Docker has it.
const (
	defaultRegistry  = "index.docker.io"
	officialImages   = "library/"
	maxImageRefBytes = 512
	maxTag           = 128 // characters of a tag, as the distribution specification has it
)

var (
	digestForm   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) })
	hostPortForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(:[0-9]{1,5})?$`)
	})
	repositoryForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	})
	tagForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })
)

// ErrUnpinned says that a reference names no digest, so that it may be another
// image tomorrow.
var ErrUnpinned = errors.New("the image is not pinned by a digest")

// IsImageDigest reports whether a text is the digest of an image: "sha256:" and
// 64 hexadecimal digits in lower case.
func IsImageDigest(text string) bool { return digestForm().MatchString(text) }

// ParseImage reads a reference of the form REGISTRY/REPOSITORY[:TAG]@sha256:HEX.
// One that names no registry is of Docker Hub, as everywhere. Error: ErrUnpinned
// for one without a digest.
func ParseImage(text string) (ImageReference, error) {
	if len(text) > maxImageRefBytes {
		return ImageReference{}, errors.New("the image reference is too long")
	}
	name, digest, pinned := strings.Cut(text, "@")
	if !pinned {
		return ImageReference{}, ErrUnpinned
	}
	if !IsImageDigest(digest) {
		return ImageReference{}, errors.New("what follows the @ is not sha256: and 64 hexadecimal digits in lower case")
	}
	made := ImageReference{Digest: digest}
	first, rest, hasSlash := strings.Cut(name, "/")
	if hasSlash && (strings.ContainsAny(first, ".:[") || first == "localhost") {
		made.Registry, name = first, rest
	} else {
		made.Registry = defaultRegistry
		if !hasSlash {
			name = officialImages + name
		}
	}
	if made.Registry == "docker.io" {
		made.Registry = defaultRegistry
	}
	var tagged bool
	made.Repository, made.Tag, tagged = strings.Cut(name, ":")
	switch {
	case !hostPortForm().MatchString(made.Registry):
		return ImageReference{}, errors.New("the registry is not a host with or without a port")
	case !repositoryForm().MatchString(made.Repository):
		return ImageReference{}, errors.New("the repository is not made of lower-case words joined by . _ - and /")
	case tagged && (len(made.Tag) > maxTag || !tagForm().MatchString(made.Tag)):
		return ImageReference{}, errors.New("the tag is not made of letters, digits, . _ and -")
	}
	return made, nil
}
