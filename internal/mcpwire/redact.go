package mcpwire

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Limits of what is hidden.
const (
	MinSecret = 4 // bytes; a shorter text cannot be told from any other

	pieceBytes = 8  // bytes of a credential that are hidden also without the rest of it
	minPieced  = 16 // bytes of a credential that is hidden by pieces
	minCut     = 4  // bytes that a cut may leave of a secret
)

// redacted stands where a secret was.
const redacted = "[secret]"

// cut is where a text may have been cut off: at a mark of omission, at its end.
var cut = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\.\.\.|$`) })

// Redactor removes secrets from text by their value, whatever form they come
// back in: as they are, in base64 (also within a longer text that was encoded),
// percent-encoded, escaped or quoted, and cut off at an end. Of a credential of
// at least 16 bytes any 8 that follow each other are removed as well, so that it
// cannot be put together from its pieces. It is for many goroutines; nil hides
// nothing.
type Redactor struct {
	mu     sync.RWMutex
	known  map[string]bool
	forms  []string
	pieces map[string]bool
}

// Add hides a text that a target is given, such as a variable of a process,
// unless it is a commonplace.
func (r *Redactor) Add(secret string) {
	if !isCommonplace(secret) {
		r.add(secret, false)
	}
}

// isCommonplace reports whether a text is one of the settings that variables
// hold beside secrets, and whose removal would only garble what is shown.
func isCommonplace(text string) bool {
	if len(text) <= maxPort && strings.Trim(text, "0123456789") == "" {
		return true
	}
	switch strings.ToLower(text) {
	case "true", "false", "none", "null", "auto", "info", "warn", "warning", "error", "debug", "trace", "silent", "verbose",
		"test", "prod", "production", "development", "staging", "local", "localhost", "default", "utf-8",
		"http", "https", "stdio", "127.0.0.1", "0.0.0.0":
		return true
	}
	return false
}

const maxPort = 5 // digits of the number of a port

// AddCredential hides a text that proves who we are.
func (r *Redactor) AddCredential(secret string) { r.add(secret, true) }

func (r *Redactor) add(secret string, byPieces bool) {
	if r == nil || len(secret) < MinSecret {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known, r.pieces = map[string]bool{}, map[string]bool{}
	}
	for _, form := range formsOf(secret) {
		if !r.known[form] {
			r.known[form] = true
			r.forms = append(r.forms, form)
		}
		if byPieces && len(secret) >= minPieced {
			for i := range len(form) - pieceBytes + 1 {
				r.pieces[form[i:i+pieceBytes]] = true
			}
		}
	}
}

// formsOf returns the forms in which a secret may come back.
func formsOf(secret string) []string {
	query, path := url.QueryEscape(secret), url.PathEscape(secret)
	quoted := strconv.Quote(secret)
	escaped, _ := json.Marshal(secret)
	forms := []string{
		secret, strings.Join(strings.Fields(secret), " "),
		query, path, lowerEscapes(query), lowerEscapes(path), strings.ReplaceAll(query, "+", "%20"),
		quoted[1 : len(quoted)-1], string(escaped[1 : len(escaped)-1]),
		strings.ReplaceAll(string(escaped[1:len(escaped)-1]), "/", `\/`),
	}
	for line := range strings.SplitSeq(secret, "\n") { // of a key in PEM
		if line = strings.TrimSpace(line); len(line) >= minPieced && !strings.HasPrefix(line, "-----") {
			forms = append(forms, line)
		}
	}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			encoded := encoding.EncodeToString(append(make([]byte, offset), secret...))
			begin := (offset*8 + 5) / 6           // the first digit that depends on the secret alone
			end := (offset + len(secret)) * 8 / 6 // the last one
			if end-begin >= minCut {
				forms = append(forms, encoded[begin:end])
			}
		}
	}
	return slices.DeleteFunc(forms, func(form string) bool { return len(form) < MinSecret })
}

// lowerEscapes writes the digits of percent-encoding in lower case.
func lowerEscapes(text string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			out.WriteString(strings.ToLower(text[i : i+3]))
			i += 2
			continue
		}
		out.WriteByte(text[i])
	}
	return out.String()
}

// Clean returns the text without the secrets.
func (r *Redactor) Clean(text string) string {
	if r == nil {
		return text
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.forms) == 0 || text == "" {
		return text
	}
	hidden := make([]bool, len(text))
	for _, form := range r.forms {
		for at := 0; ; at++ {
			found := strings.Index(text[at:], form)
			if found < 0 {
				break
			}
			at += found
			hide(hidden, at, at+len(form))
		}
	}
	for i := range len(text) - pieceBytes + 1 {
		if r.pieces[text[i:i+pieceBytes]] {
			hide(hidden, i, i+pieceBytes)
		}
	}
	for _, place := range cut().FindAllStringIndex(text, -1) {
		begun := r.begunAt(text[:place[0]])
		hide(hidden, place[0]-begun, place[0])
	}
	return without(text, hidden)
}

// begunAt is how much of a secret the text ends with.
func (r *Redactor) begunAt(text string) int {
	longest := 0
	for _, form := range r.forms {
		for n := min(len(form)-1, len(text)); n >= minCut && n > longest; n-- {
			if strings.HasSuffix(text, form[:n]) {
				longest = n
			}
		}
	}
	return longest
}

func hide(hidden []bool, from, to int) {
	for i := from; i < to; i++ {
		hidden[i] = true
	}
}

// without writes the mark for each run that is hidden.
func without(text string, hidden []bool) string {
	if !slices.Contains(hidden, true) {
		return text
	}
	var out strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			out.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			out.WriteString(redacted)
		}
	}
	return out.String()
}

// CleanJSON returns the JSON value without the secrets, as JSON. A value that
// is not JSON any more without them is replaced as a whole.
func (r *Redactor) CleanJSON(raw json.RawMessage) json.RawMessage {
	text := string(raw)
	cleaned := r.Clean(text)
	switch {
	case cleaned == text:
		return raw
	case json.Valid([]byte(cleaned)):
		return json.RawMessage(cleaned)
	}
	return json.RawMessage(strconv.Quote(redacted))
}
