package probe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of the reports that one probe looks at. What passes one fails the part
// scanned: a report that was not looked at could be the newest.
const (
	MaxReferrers = 64       // manifests that refer to the image
	MaxReports   = 64       // layers and files that are looked at
	MaxReport    = 32 << 20 // bytes of one report
)

// search looks for the reports about one image.
type search struct {
	registry *imageRegistry
	found    []scanReport
	looked   int
}

// reports finds every report that the registry and the files have. An error is a
// *mcpwire.Failure.
func (s *search) reports(ctx context.Context, files []string) error {
	referrers, err := s.registry.referrers(ctx)
	if err != nil {
		return err
	}
	for _, referrer := range referrers {
		if referrer.isOther() {
			continue
		}
		read, err := s.registry.manifest(ctx, referrer.Digest)
		if err != nil {
			return missing(err, "the manifest "+referrer.Digest+", which refers to the image,")
		}
		attached := read.Subject != nil && read.Subject.Digest == s.registry.image.Digest
		if err := s.layers(ctx, read, "referrer "+read.digest, attached); err != nil {
			return err
		}
	}
	attestations, err := s.registry.manifest(ctx, attachedTag(s.registry.image, ".att"))
	switch {
	case errors.Is(err, errAbsent):
	case err != nil:
		return err
	default:
		if err := s.layers(ctx, attestations, "attestation", false); err != nil { // a statement names its subject itself
			return err
		}
	}
	for _, file := range files {
		if err := s.file(file); err != nil {
			return err
		}
	}
	return nil
}

// layers looks at what one manifest holds.
func (s *search) layers(ctx context.Context, of manifest, source string, attached bool) error {
	whole := descriptor{MediaType: of.Config.MediaType, ArtifactType: of.ArtifactType}
	for _, layer := range of.Layers {
		isReport := layer.isReport() || whole.isReport() && !layer.isOther()
		if !isReport && !layer.mayBeReport() {
			continue
		}
		if s.looked++; s.looked > MaxReports {
			return tooMany("layers that may be reports", MaxReports)
		}
		if layer.Size > MaxReport {
			return &mcpwire.Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("%s has a report of %d bytes; at most %d are read", source, layer.Size, MaxReport)}
		}
		body, err := s.registry.blob(ctx, layer.Digest, MaxReport)
		if err != nil {
			return missing(err, "the report "+layer.Digest)
		}
		if err := s.take(body, source, isReport, attached); err != nil {
			return err
		}
	}
	return nil
}

// file looks at a report that the configuration names.
func (s *search) file(name string) error {
	failed := func(err error) error {
		return &mcpwire.Failure{Cause: registry.NoReport, Detail: registry.Shorten(fmt.Sprintf("the report %s cannot be read: %v", name, err), registry.MaxDetail)}
	}
	about, err := os.Stat(name) // before it is opened, since opening a pipe waits
	switch {
	case err != nil:
		return failed(err)
	case !about.Mode().IsRegular():
		return failed(errors.New("it is not a regular file"))
	}
	opened, err := os.Open(name)
	if err != nil {
		return failed(err)
	}
	defer func() { _ = opened.Close() }()
	body, err := io.ReadAll(io.LimitReader(opened, MaxReport+1))
	switch {
	case err != nil:
		return failed(err)
	case len(body) > MaxReport:
		return &mcpwire.Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("the report %s has more than %d bytes", name, MaxReport)}
	}
	return s.take(body, "file "+name, true, false)
}

// take keeps what is a report. What says that it is one and cannot be read fails:
// it could be the newest.
func (s *search) take(body []byte, source string, isReport, attached bool) error {
	report, err := readReport(body)
	switch {
	case err == nil:
		report.source, report.attached = source, attached
		s.found = append(s.found, report)
		return nil
	case !isReport && (errors.Is(err, errOtherDocument) || errors.Is(err, errNotJSON)):
		return nil
	}
	cause := registry.NoReport
	if errors.Is(err, errNotJSON) {
		cause = registry.NotJSON
	}
	return &mcpwire.Failure{Cause: cause, Detail: registry.Shorten(source+": "+err.Error(), registry.MaxDetail)}
}

// missing is the failure of something that is listed and yet not there.
func missing(err error, what string) error {
	if errors.Is(err, errAbsent) {
		return &mcpwire.Failure{Cause: registry.NoReport, Detail: what + " is not in the registry"}
	}
	return err
}

func tooMany(what string, limit int) error {
	return &mcpwire.Failure{Cause: registry.TooLarge, Detail: fmt.Sprintf("there are more than %d %s", limit, what)}
}

// referrers lists the manifests that refer to the image: by the API of the
// registry (OCI distribution specification 1.1, "Listing Referrers"), and where it
// has none by the tag that stands in for it.
func (r *imageRegistry) referrers(ctx context.Context) ([]descriptor, error) {
	body, err := r.get(ctx, "referrers/"+r.image.Digest, MaxManifest, imageIndex)
	if err == nil {
		var list manifest
		if json.Unmarshal(body, &list) == nil && list.Manifests != nil {
			return bounded(list.Manifests)
		}
	} else if !hasNoReferrers(err) {
		return nil, err
	}
	list, err := r.manifest(ctx, attachedTag(r.image, ""))
	switch {
	case errors.Is(err, errAbsent):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return bounded(list.Manifests)
}

func bounded(list []descriptor) ([]descriptor, error) {
	if len(list) > MaxReferrers {
		return nil, tooMany("manifests that refer to the image", MaxReferrers)
	}
	return list, nil
}

// hasNoReferrers reports whether a registry answered in a way in which older ones
// say that they do not know the API.
func hasNoReferrers(err error) bool {
	failure, ok := errors.AsType[*mcpwire.Failure](err)
	if !ok {
		return errors.Is(err, errAbsent)
	}
	switch failure.Status() {
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusNotImplemented:
		return true
	}
	return false
}

// attachedTag is the tag under which something about the image is kept.
func attachedTag(image registry.ImageReference, suffix string) string {
	return strings.Replace(image.Digest, ":", "-", 1) + suffix
}
