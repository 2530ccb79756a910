package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"time"
)

// UnmarshalJSON reads a document that MarshalJSON wrote. It refuses one that
// lacks a gate, whose passed differs from what its gates say, that names an
// unknown cause, whose toolCount differs from its tools, that has a key twice, or
// whose transcripts are not exactly what MarshalJSON writes. Keys are matched
// case-sensitively; unknown ones are left aside. Gates of the same transcript
// share it.
func (r *ProbeResult) UnmarshalJSON(raw []byte) error {
	fields, err := object(raw)
	if err != nil {
		return fmt.Errorf("decode a probe result: %w", err)
	}
	var read ProbeResult
	if err := read.decodeGates(fields); err != nil {
		return fmt.Errorf("decode a probe result: %w", err)
	}
	if err := read.decodeBeside(fields); err != nil {
		return fmt.Errorf("decode a probe result: %w", err)
	}
	passed, err := boolean(fields, "passed")
	if err != nil {
		return fmt.Errorf("decode a probe result: %w", err)
	}
	if passed != read.Passed() {
		return fmt.Errorf("decode a probe result: passed is %v, which its gates do not support", passed)
	}
	if read.Tools != nil && len(read.Tools) != read.ListTools.ToolCount {
		return fmt.Errorf("decode a probe result: toolCount is %d beside %d tools",
			read.ListTools.ToolCount, len(read.Tools))
	}
	*r = read
	return nil
}

func (r *ProbeResult) decodeGates(fields map[string]json.RawMessage) error {
	for _, gate := range Gates() {
		members, err := object(fields[string(gate)])
		if err != nil {
			return fmt.Errorf("%s: %w", gate, err)
		}
		got, err := decodeGate(members)
		if err != nil {
			return fmt.Errorf("%s: %w", gate, err)
		}
		if got.Transcript, err = r.decodeTranscript(got, members["transcript"]); err != nil {
			return fmt.Errorf("%s: transcript: %w", gate, err)
		}
		switch gate {
		case Healthz:
			r.Healthz = got
		case Test:
			r.Test = got
		case ListTools:
			r.ListTools.GateResult = got
			if r.ListTools.ToolCount, err = count(members["toolCount"]); err != nil {
				return fmt.Errorf("%s: toolCount: %w", gate, err)
			}
		}
	}
	return nil
}

// decodeTranscript reads the transcript of a gate, or finds the same one with the
// gates that were read before.
func (r *ProbeResult) decodeTranscript(of GateResult, raw json.RawMessage) (*Transcript, error) {
	switch {
	case raw == nil:
		return nil, nil
	case of.OK:
		return nil, errors.New("the gate held")
	}
	read, err := decodeTranscript(raw)
	for _, before := range []*Transcript{r.Healthz.Transcript, r.Test.Transcript} {
		if err == nil && before != nil && reflect.DeepEqual(before, read) {
			return before, nil
		}
	}
	return read, err
}

func decodeGate(members map[string]json.RawMessage) (GateResult, error) {
	var got GateResult
	var err error
	if got.OK, err = boolean(members, "ok"); err != nil {
		return got, err
	}
	if err := json.Unmarshal(members["latencyMs"], &got.LatencyMs); err != nil || got.LatencyMs < 0 {
		return got, errors.New("latencyMs is not a number from 0 up")
	}
	if err := optional(members, "detail", &got.Detail); err != nil {
		return got, err
	}
	if err := optional(members, "cause", &got.Cause); err != nil {
		return got, err
	}
	if _, known := got.Cause.Entry(); got.Cause != "" && (got.OK || !known) {
		return got, fmt.Errorf("cause %q does not belong here", got.Cause)
	}
	return got, nil
}

func (r *ProbeResult) decodeBeside(fields map[string]json.RawMessage) error {
	var probedAt string
	if err := optional(fields, "probedAt", &probedAt); err != nil {
		return err
	}
	at, err := time.Parse(time.RFC3339, probedAt)
	if err != nil {
		return fmt.Errorf("probedAt: %w", err)
	}
	r.ProbedAt = at.UTC().Truncate(time.Millisecond)
	beside := []struct {
		name string
		into any
	}{
		{"target", &r.Target},
		{"profile", &r.Profile},
		{"tools", &r.Tools},
		{"toolsDigest", &r.ToolsDigest},
		{"likelyCanary", &r.LikelyCanary},
		{"dependencies", &r.Dependencies},
		{"era", &r.Era},
		{"transport", &r.Transport},
		{"protocolVersion", &r.ProtocolVersion},
		{"server", &r.Server},
		{"timings", &r.Timings},
		{"warnings", &r.Warnings},
		{"sessionsOpened", &r.SessionsOpened},
		{"sessionsClosed", &r.SessionsClosed},
	}
	for _, field := range beside {
		if err := optional(fields, field.name, field.into); err != nil {
			return err
		}
	}
	return nil
}

func optional(members map[string]json.RawMessage, name string, into any) error {
	raw, present := members[name]
	if !present {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// boolean reads a member that must be there and be exactly true or false.
func boolean(members map[string]json.RawMessage, name string) (bool, error) {
	switch string(members[name]) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", name)
}

func count(raw json.RawMessage) (int, error) {
	var n float64
	if err := json.Unmarshal(raw, &n); err != nil {
		return 0, err
	}
	if n < 0 || n != math.Trunc(n) || n > math.MaxInt32 {
		return 0, fmt.Errorf("%v is no count", n)
	}
	return int(n), nil
}

var (
	errNotObject = errors.New("it is not a JSON object")
	errTwice     = errors.New("a key occurs twice")
)

// object splits a JSON object into its members. Unlike encoding/json it tells
// apart keys that differ in case only; a key that occurs twice is left out and
// reported with errTwice.
func object(raw []byte) (map[string]json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errNotObject
	}
	members := map[string]json.RawMessage{}
	times := map[string]int{}
	for decoder.More() {
		key, err := decoder.Token()
		name, isName := key.(string)
		if err != nil || !isName {
			return nil, errNotObject
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, errNotObject
		}
		members[name] = value
		times[name]++
	}
	if _, err := decoder.Token(); err != nil {
		return nil, errNotObject
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotObject
	}
	var err error
	for name, n := range times {
		if n > 1 {
			delete(members, name)
			err = errTwice
		}
	}
	return members, err
}
