package registry

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Bounds of what is kept of an answer.
const (
	MaxDetail          = 500     // bytes of a detail
	MaxDependencies    = 200     // entries of g2's map
	MaxDependencyBytes = 4 << 10 // bytes of one entry
	MaxDependencyName  = 200     // bytes of the name of one entry
)

// TestAnswer is what g2 reads out of an answer to GET /test. Cause is empty
// when the gate holds.
type TestAnswer struct {
	Cause        Cause
	Detail       string
	Dependencies map[string]json.RawMessage
	Warnings     []string
}

// JudgeTest is the rule of g2: a 2xx status and a JSON object whose ok is
// exactly true. The detail is the body's, or "status N" when it gives none.
func JudgeTest(status int, body []byte) TestAnswer {
	answer := TestAnswer{Detail: fmt.Sprintf("status %d", status), Cause: StatusCause(status)}
	bodyCause := answer.read(body)
	switch {
	case answer.Cause == "":
		answer.Cause = bodyCause
	case answer.Cause == HTTPStatus && status >= 500 && bodyCause == NotOK:
		answer.Cause = NotOK
	}
	return answer
}

// read takes detail and dependencies out of the body and judges it alone.
func (a *TestAnswer) read(body []byte) Cause {
	if !utf8.Valid(body) || !json.Valid(body) {
		return NotJSON
	}
	members, err := object(body)
	if errors.Is(err, errNotObject) {
		return WrongShape
	}
	var detail string
	if json.Unmarshal(members["detail"], &detail) == nil && strings.TrimSpace(detail) != "" {
		a.Detail = Shorten(detail, MaxDetail)
	}
	a.keep(members["tools"])
	ok, wrong := boolean(members, "ok")
	switch {
	case wrong != nil:
		return WrongShape
	case !ok:
		return NotOK
	}
	return ""
}

func (a *TestAnswer) keep(raw json.RawMessage) {
	if raw == nil || string(raw) == "null" {
		return
	}
	entries, err := object(raw)
	if err != nil {
		a.Warnings = append(a.Warnings, "test: tools is not a JSON object of distinct names; it was not kept")
		return
	}
	kept := map[string]json.RawMessage{}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var compact bytes.Buffer
		if json.Compact(&compact, entries[name]) != nil || compact.Len() > MaxDependencyBytes ||
			len(name) > MaxDependencyName || len(kept) == MaxDependencies {
			continue
		}
		kept[name] = compact.Bytes()
	}
	if dropped := len(entries) - len(kept); dropped > 0 {
		a.Warnings = append(a.Warnings, fmt.Sprintf("test: %d of %d entries of tools were too large or too many to keep",
			dropped, len(entries)))
	}
	if len(kept) > 0 {
		a.Dependencies = kept
	}
}

// Refusal is the word in which the body of an answer that is no 2xx gives its
// reason: the detail of a JSON object, else its error, else its status. It is
// empty when there is none, and untrusted text.
func Refusal(body []byte) string {
	if !utf8.Valid(body) {
		return ""
	}
	members, err := object(body)
	if err != nil {
		return ""
	}
	for _, name := range []string{"detail", "error", "status"} {
		var text string
		if json.Unmarshal(members[name], &text) == nil && strings.TrimSpace(text) != "" {
			return text
		}
	}
	return ""
}

// StatusCause is the cause that an HTTP status stands for; empty for 2xx.
func StatusCause(status int) Cause {
	switch {
	case status >= 200 && status < 300:
		return ""
	case status >= 300 && status < 400:
		return Redirect
	case status == 401:
		return Auth
	case status == 403:
		return Forbidden
	case status == 429:
		return RateLimited
	}
	return HTTPStatus
}

// Shorten returns text as valid UTF-8 of at most limit bytes and says when
// something was left out.
func Shorten(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= limit {
		return text
	}
	const mark = "..."
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + mark
}
