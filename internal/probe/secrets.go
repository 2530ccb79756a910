package probe

import (
	"encoding/json"
	"errors"

	"github.com/countersign-dev/countersign/internal/mcpwire"
	"github.com/countersign-dev/countersign/internal/registry"
)

// opened returns the settings for one probe of the server: its credentials are
// resolved anew, and what they and its private texts hold is hidden from then on.
func (s Settings) opened(server MCPServer) Settings {
	if s.Resolve == nil {
		s.Resolve = func(reference string) (string, error) {
			return "", errors.New("the secret at " + reference + " cannot be had here")
		}
	}
	hide := &mcpwire.Redactor{}
	for _, private := range server.Private {
		if text, err := private.Reveal(s.Resolve); err == nil {
			hide.Add(text)
		}
	}
	s.outlet = mcpwire.Outlet{Network: s.Network, Redactor: hide}
	address := server.Base
	if address == nil {
		address = server.Endpoint
	}
	if address != nil && !server.Credentials.IsZero() {
		s.outlet.Credentials = mcpwire.Resolution{
			Wanted: server.Credentials, Address: address, Resource: server.Endpoint, Resolve: s.Resolve, Redactor: hide,
		}.Credentials()
	}
	return s
}

// recorded returns the settings for one gate, which keeps a transcript of its own.
func (s Settings) recorded() Settings {
	if s.Transcripts {
		s.outlet = s.outlet.With(&mcpwire.Recorder{Limit: s.Timeout})
	}
	return s
}

// kept is the result of a gate that ran with these settings, with its transcript
// if it failed: what was exchanged up to now.
func (s Settings) kept(got registry.GateResult) registry.GateResult {
	if !got.OK && got.Transcript == nil {
		got.Transcript = s.outlet.Recorder.Transcript(s.outlet.Redactor)
	}
	return got
}

// clean removes the secrets from whatever the target could have put into the
// result.
func (s Settings) clean(result *registry.ProbeResult) {
	clean := s.outlet.Redactor.Clean
	for _, text := range []*string{
		&result.Target, &result.Healthz.Detail, &result.Test.Detail, &result.ListTools.Detail,
		&result.ProtocolVersion, &result.Server.Name, &result.Server.Version, &result.LikelyCanary,
	} {
		*text = clean(*text)
	}
	for _, list := range [][]string{result.Tools, result.Warnings} {
		for i := range list {
			list[i] = clean(list[i])
		}
	}
	for i := range result.ToolList {
		tool := &result.ToolList[i]
		tool.Name = clean(tool.Name)
		for _, part := range []*json.RawMessage{&tool.Description, &tool.InputSchema, &tool.OutputSchema, &tool.DestructiveHint} {
			*part = s.outlet.Redactor.CleanJSON(*part)
		}
	}
	if result.Dependencies == nil {
		return
	}
	cleaned := make(map[string]json.RawMessage, len(result.Dependencies))
	for name, raw := range result.Dependencies {
		cleaned[clean(name)] = s.outlet.Redactor.CleanJSON(raw)
	}
	result.Dependencies = cleaned
}
