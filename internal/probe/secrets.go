package probe

import (
	"context"
	"net/url"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// opened returns the settings for one probe of the address: its credentials are
// resolved anew, and what they and the private texts hold is hidden from then on.
func (s Settings) opened(ctx context.Context, address *url.URL, credentials registry.Credentials, private []registry.Secret) Settings {
	hide := &mcpwire.Redactor{}
	s.outlet = mcpwire.Outlet{Network: s.Network, Redactor: hide}
	if !credentials.IsZero() {
		s.outlet.Credentials = mcpwire.ResolveCredentials(ctx, address, credentials, s.Resolve, hide)
	}
	return s
}

// recorded returns the settings for one gate, which keeps a transcript of its own.
func (s Settings) recorded() Settings {
	if s.Transcripts {
		s.outlet = s.outlet.With(&mcpwire.Recorder{})
	}
	return s
}

// kept is the result of a gate that ran with these settings, without secrets,
// and with the transcript if it failed.
func (s Settings) kept(got registry.GateResult) registry.GateResult {
	if !got.OK {
		got.Transcript = s.outlet.Recorder.Transcript(s.outlet.Redactor)
	}
	return got
}

// clean removes the secrets from everything in the result.
func (s Settings) clean(result *registry.ProbeResult) {
	result.Target = s.outlet.Redactor.Clean(result.Target)
}
