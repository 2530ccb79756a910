package registry

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/theory/jsonpath"

	"github.com/countersign-dev/countersign/internal/words"
)

// Retrieved is what the result of a retrieval says. What it passes by is computed
// from it: see Verdict.
type Retrieved struct {
	Chunks     int      `json:"chunks"`
	Count      *int     `json:"count,omitempty"` // that the server states
	FoundIDs   []string `json:"foundIds,omitempty"`
	MissingIDs []string `json:"missingIds,omitempty"` // of those that are expected
	Version    string   `json:"version,omitempty"`    // several, sorted and joined, when the chunks differ
	Pinned     string   `json:"pinnedVersion,omitempty"`
	Fallback   bool     `json:"fallback,omitempty"` // the server says that the answer is one
	Warnings   []string `json:"warnings,omitempty"`
}

// maxVersion bounds a content version, in bytes, and maxShownVersion one in a
// detail.
const (
	maxVersion      = 2000
	maxShownVersion = 80
)

// Verdict judges what was retrieved: the cause for which it fails and a detail; no
// cause when it is what it must be. The zero value fails.
func (r *Retrieved) Verdict() (Cause, string) {
	switch {
	case r.Count != nil && *r.Count <= 0 && r.Fallback:
		return Empty, "the server counts nothing that was found, and says that its answer is a fallback"
	case r.Count != nil && *r.Count <= 0:
		return Empty, fmt.Sprintf("the server counts nothing that was found, beside %s", words.Counted(r.Chunks, "chunk"))
	case r.Chunks <= 0:
		return Empty, "there is no chunk"
	case !r.isPinned() && r.Version == "":
		return WrongVersion, fmt.Sprintf("no content version is stated; %q is pinned", shownVersion(r.Pinned))
	case !r.isPinned():
		return WrongVersion, fmt.Sprintf("the content version is %q; %q is pinned", shownVersion(r.Version), shownVersion(r.Pinned))
	case len(r.MissingIDs) > 0:
		return MissingChunk, fmt.Sprintf("%s, without %s", words.Counted(r.Chunks, "chunk"), strings.Join(r.MissingIDs, ", "))
	}
	return "", ""
}

func (r *Retrieved) isPinned() bool { return r.Pinned == "" || r.Version == r.Pinned }

// String is what was found, for people.
func (r *Retrieved) String() string {
	said := words.Counted(r.Chunks, "chunk")
	if r.Version != "" {
		said += " of version " + shownVersion(r.Version)
	}
	if len(r.FoundIDs) > 0 {
		said += ", with " + strings.Join(r.FoundIDs, ", ")
	}
	if r.Fallback {
		said += "; the server says that this is a fallback"
	}
	return said
}

func shownVersion(version string) string { return Shorten(version, maxShownVersion) }

// Judge reads the result of the tool call, a CallToolResult as it was sent, with
// the version that is pinned: what was retrieved, the cause for which that fails
// and a detail. The detail and what was retrieved are untrusted text.
func (r Retrieval) Judge(result json.RawMessage, pinned string) (Retrieved, Cause, string) {
	read, err := readToolResult(result)
	switch {
	case err != nil:
		return Retrieved{Pinned: pinned}, WrongShape, err.Error()
	case read.failed:
		return Retrieved{Pinned: pinned}, RefusedRetrieval(read.text), "the tool reports an error: " + read.text
	}
	document := read.retrieved(result)
	reader := pathReader{document: document}
	got := Retrieved{Chunks: chunksOf(reader.values("chunks", r.Chunks)), Pinned: pinned}
	got.Count = reader.count(r.Count)
	got.Fallback = reader.truth(r.Fallback)
	got.Version = reader.version(r.Version)
	got.FoundIDs, got.MissingIDs = r.expected(reader.values("ids", r.IDs))
	reader.doubt("ids", r.IDs, got.Chunks > 0)
	got.Warnings = reader.warnings
	wrong, detail := got.Verdict()
	if wrong == "" {
		detail = got.String()
	} else if got.Chunks == 0 && read.text != "" {
		detail += ": " + read.text
	}
	return got, wrong, detail
}

// retrieved is the document that the paths of a retrieval look at.
func (r *toolResult) retrieved(result json.RawMessage) any {
	if r.structured != nil {
		document, _ := exact(r.structured) // it is part of a result that was read
		return document
	}
	if document, err := exact(json.RawMessage(r.text)); err == nil {
		switch document.(type) {
		case map[string]any, []any:
			return document
		}
	}
	whole, _ := exact(result)
	members, _ := whole.(map[string]any)
	contents, _ := members["content"].([]any)
	return map[string]any{"content": slices.DeleteFunc(contents, isBlankContent)}
}

// isBlankContent reports whether a content is a text without anything in it.
func isBlankContent(content any) bool {
	members, _ := content.(map[string]any)
	text, isText := members["text"].(string)
	return isText && strings.TrimSpace(text) == ""
}

// chunksOf counts the chunks among what a path has selected.
func chunksOf(selected []any) int {
	if len(selected) == 1 {
		if list, ok := selected[0].([]any); ok {
			selected = list
		}
	}
	count := 0
	for _, value := range selected {
		switch chunk := value.(type) {
		case string:
			if strings.TrimSpace(chunk) != "" {
				count++
			}
		case []any:
			count += min(len(chunk), 1)
		case map[string]any:
			count += min(len(chunk), 1)
		}
	}
	return count
}

// expected tells the expected ids that were selected from those that were not.
func (r Retrieval) expected(selected []any) (found, missing []string) {
	ids := map[string]bool{}
	for _, value := range selected {
		if text, ok := scalarText(value); ok {
			ids[text] = true
		}
	}
	for _, id := range r.ExpectIDs {
		if ids[id] {
			found = append(found, id)
		} else {
			missing = append(missing, id)
		}
	}
	return found, missing
}

// scalarText is a text, or a number as it was written.
func scalarText(value any) (string, bool) {
	switch scalar := value.(type) {
	case string:
		return scalar, true
	case json.Number:
		return scalar.String(), true
	}
	return "", false
}

// pathReader applies paths to the document of one result, and collects what is
// odd about what they select.
type pathReader struct {
	document any
	warnings []string
}

// values are those that a path selects; none without a path.
func (p *pathReader) values(name, path string) []any {
	if path == "" {
		return nil
	}
	parsed, err := jsonpath.Parse(path)
	if err != nil {
		p.warn("retrieve.%s: %s is no JSONPath: %v", name, path, err)
		return nil
	}
	return parsed.Select(p.document)
}

func (p *pathReader) warn(format string, args ...any) {
	p.warnings = append(p.warnings, Shorten(fmt.Sprintf(format, args...), MaxDetail))
}

// doubt warns of a path that selects nothing, where it should.
func (p *pathReader) doubt(name, path string, should bool) {
	if path != "" && should && len(p.values(name, path)) == 0 {
		p.warn("retrieve.%s: %s selects nothing", name, path)
	}
}

// count is a number that the server states; nil when it states none.
func (p *pathReader) count(path string) *int {
	p.doubt("count", path, true)
	selected := p.values("count", path)
	if len(selected) == 0 {
		return nil
	}
	text, isScalar := scalarText(selected[0])
	number, err := strconv.ParseFloat(text, 64)
	if !isScalar || err != nil || math.IsNaN(number) || len(selected) > 1 {
		p.warn("retrieve.count: %s does not select one number", path)
		return nil
	}
	stated := int(math.Ceil(min(max(number, 0), math.MaxInt32)))
	return &stated
}

// truth reports whether any selected value is true. A server that has nothing to
// state may leave it out.
func (p *pathReader) truth(path string) bool {
	stated := false
	for _, value := range p.values("fallback", path) {
		switch value {
		case true, "true":
			stated = true
		case false, "false", nil:
		default:
			p.warn("retrieve.fallback: %s selects what is neither true nor false", path)
		}
	}
	return stated
}

// version is what all selected values say, without control characters; several
// that differ are joined, so that no pin holds them.
func (p *pathReader) version(path string) string {
	p.doubt("version", path, true)
	var versions []string
	for _, value := range p.values("version", path) {
		if text, ok := scalarText(value); ok && text != "" {
			versions = append(versions, strings.Map(plainRune, text))
		} else {
			p.warn("retrieve.version: %s selects what is no version", path)
			versions = append(versions, "?")
		}
	}
	slices.Sort(versions)
	versions = slices.Compact(versions)
	if len(versions) > 1 {
		p.warn("retrieve.version: the chunks are of %d versions", len(versions))
	}
	return Shorten(strings.Join(versions, ", "), maxVersion)
}

// plainRune replaces a control character.
func plainRune(r rune) rune {
	if r < ' ' || r == 0x7f {
		return '\ufffd'
	}
	return r
}

// The patterns absence and nothing are compiled when a retrieval was refused,
// which is seldom: at the start they would cost every process half a millisecond.
const (
	// absence is how servers say that what they were to search does not exist.
	absence = `(?is)\b(` + container + `)\b.{0,120}?\b(not[ _]found|does(n't| not| n't)? exist|do not exist|is missing|not exist)\b` +
		`|\b(no such|unknown|missing|non-?existent|could not find|couldn't find|can't find|cannot find|not found:?)( the| any| a)? ["'\x60]?(` + container + `)\b` +
		`|\b(` + container + `)_not_found`
	// nothing is how they say that they have found none of it.
	nothing = `(?i)\bno (relevant |matching |search |such )?(results?|match(es)?|documents?|hits|chunks?|passages?|entries|records?|information)\b|\bnothing (was )?found\b|\b(zero|0) (results|matches|hits|documents|chunks)\b`
)

const container = `collections?|index|indices|indexes|corpus|corpora|namespace|knowledge ?base|dataset|datastore|data store|vector ?store|table|relation|class|bucket|database|library`

// RefusedRetrieval is the cause of a retrieval that was refused with a text:
// Missing where the text says that a collection or an index does not exist, Empty
// where it says that nothing was found, and else CanaryFailed.
func RefusedRetrieval(text string) Cause {
	switch {
	case regexp.MustCompile(absence).MatchString(text):
		return Missing
	case regexp.MustCompile(nothing).MatchString(text):
		return Empty
	}
	return CanaryFailed
}
