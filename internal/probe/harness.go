package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// ofHarnesses is their row of the table.
func ofHarnesses() kindOf {
	return kindOf{
		kind: registry.KindHarness, examine: examineHarness,
		timeout: func(registry.Spec) time.Duration { return registry.SlowTimeout }, // for each conversation: reports may be large
		failed: func(of *registry.Component, settings Settings, cause registry.Cause, detail string) registry.Result {
			made := newHarnessResult(of, settings)
			failHarness(made, registry.Fail(0, cause, registry.Shorten(detail, registry.MaxDetail)))
			return made
		},
		lighter: lighterHarness, gates: gatesOfHarnesses,
	}
}

// newHarnessResult is the result of a harness of which nothing is known yet.
func newHarnessResult(of *registry.Component, settings Settings) *registry.HarnessResult {
	made := &registry.HarnessResult{Target: of.Name, ProbedAt: settings.Now().UTC().Truncate(time.Millisecond)}
	if spec, ok := of.Spec.(*registry.Harness); ok {
		made.Image = spec.Image
		if !spec.SignatureKey.IsZero() {
			made.Signed = &registry.GateResult{}
		}
	}
	return made
}

func gatesOfHarnesses(of registry.Result) []*registry.GateResult {
	result, ok := of.(*registry.HarnessResult)
	if !ok {
		return nil
	}
	var parts []*registry.GateResult
	for _, part := range registry.HarnessParts() {
		parts = append(parts, result.Part(part))
	}
	return parts
}

// failHarness fails every part that has not been judged.
func failHarness(result *registry.HarnessResult, failed registry.GateResult) {
	for _, part := range registry.HarnessParts() {
		if got := result.Part(part); got != nil && !got.OK && got.Cause == "" {
			*got = failed
		}
	}
}

// examineHarness asks the registry of an image for its digest, its signatures and
// the reports about it, and judges what comes. Each has a deadline of its own.
func examineHarness(ctx context.Context, component *registry.Component, settings Settings) registry.Result {
	result := newHarnessResult(component, settings)
	spec, ok := component.Spec.(*registry.Harness)
	if !ok {
		failHarness(result, registry.Fail(0, registry.NotConfigured, component.Name+" is no harness"))
		return result
	}
	image, err := registry.ParseImage(spec.Image)
	if err != nil {
		failHarness(result, registry.Fail(0, registry.NotConfigured, err.Error()))
		return result
	}
	result.Digest = image.Digest
	settings = settings.openedHarness()
	probeHarness(ctx, spec, image, settings, result)
	settings.cleanHarness(result)
	return result
}

// probeHarness fills the parts. Without a registry there is nothing more to ask.
func probeHarness(ctx context.Context, spec *registry.Harness, image registry.ImageReference, settings Settings, result *registry.HarnessResult) {
	var opened *imageRegistry
	defer func() {
		if opened != nil {
			opened.close()
		}
	}()
	resolving := settings.recorded()
	resolved := guarded(ctx, settings.Timeout, func(ctx context.Context) finding {
		var err error
		if opened, err = openRegistry(ctx, image, spec.Credentials, resolving); err != nil {
			return found(err)
		}
		return opened.resolve(ctx)
	})
	result.Resolved = resolving.kept(resolved)
	if !resolved.OK && resolved.Cause != registry.MovedTag {
		failHarness(result, registry.Fail(0, resolved.Cause, resolved.Detail))
		return
	}
	if result.Signed != nil {
		*result.Signed = guarded(ctx, settings.Timeout, func(ctx context.Context) finding {
			return opened.signed(ctx, spec.SignatureKey, settings)
		})
	}
	seen := search{registry: opened}
	searched := guarded(ctx, settings.Timeout, func(ctx context.Context) finding {
		if err := seen.reports(ctx, spec.Scan.Reports); err != nil {
			return found(err)
		}
		return finding{}
	})
	judged := judgement{scan: spec.Scan, digest: image.Digest, now: result.ProbedAt, result: result}
	if !searched.OK {
		judged.unjudged(registry.Fail(0, searched.Cause, searched.Detail))
		result.Scanned = resolving.kept(searched)
		return
	}
	judged.judge(seen.found)
	result.Scanned.Began, result.Scanned.Ended, result.Scanned.LatencyMs = searched.Began, searched.Ended, searched.LatencyMs
}

// resolve asks for the digest, and whether the tag points at it.
func (r *imageRegistry) resolve(ctx context.Context) finding {
	_, err := r.manifest(ctx, r.image.Digest)
	switch {
	case errors.Is(err, errAbsent):
		return finding{registry.MissingImage, "the registry does not have " + r.image.Repository + "@" + r.image.Digest}
	case err != nil:
		return found(err)
	case r.image.Tag == "":
		return finding{detail: "the registry has the digest"}
	}
	tagged, err := r.manifest(ctx, r.image.Tag)
	switch {
	case errors.Is(err, errAbsent):
		return finding{registry.MovedTag, "the tag " + r.image.Tag + " is gone"}
	case err != nil:
		return found(err)
	case tagged.digest != r.image.Digest:
		return finding{registry.MovedTag, fmt.Sprintf("the tag %s points at %s", r.image.Tag, tagged.digest)}
	}
	return finding{detail: "the registry has the digest, and " + r.image.Tag + " points at it"}
}

// openedHarness returns the settings for one probe of a harness.
func (s Settings) openedHarness() Settings {
	if s.Resolve == nil {
		s.Resolve = func(reference string) (string, error) {
			return "", errors.New("the secret at " + reference + " cannot be had here")
		}
	}
	s.outlet = mcpwire.Outlet{Network: s.Network, Redactor: &mcpwire.Redactor{}}
	return s
}

// cleanHarness removes the secrets from whatever a registry or a report could
// have put into the result.
func (s Settings) cleanHarness(result *registry.HarnessResult) {
	clean := s.outlet.Redactor.Clean
	for _, part := range registry.HarnessParts() {
		if got := result.Part(part); got != nil {
			got.Detail = registry.Shorten(clean(got.Detail), registry.MaxDetail)
		}
	}
	for _, list := range [][]registry.Finding{result.Findings, result.Allowed} {
		for i := range list {
			for _, text := range []*string{&list[i].ID, &list[i].Package, &list[i].Version, &list[i].Fixed} {
				*text = clean(*text)
			}
		}
	}
	for i := range result.Warnings {
		result.Warnings[i] = clean(result.Warnings[i])
	}
	if report := result.Report; report != nil {
		report.Source, report.Scanner, report.System = clean(report.Source), clean(report.Scanner), clean(report.System)
	}
}

// lighterHarness returns the result, and then what is left of it when it is too
// large: without the transcripts, and without what is allowed.
func lighterHarness(result registry.Result) []registry.Result {
	harness, ok := result.(*registry.HarnessResult)
	if !ok {
		return nil
	}
	const left = "left out of the record for its size: "
	short := *harness
	short.Resolved.Transcript, short.Scanned.Transcript = nil, nil
	short.Warnings = append(slices.Clone(short.Warnings), left+"the transcripts")
	shortest := short
	shortest.Allowed = nil
	shortest.Warnings = append(slices.Clone(short.Warnings), left+"what is allowed")
	return []registry.Result{harness, &short, &shortest}
}
