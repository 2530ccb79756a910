package web

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// functions are what templates may call. None of them makes markup.
func functions() template.FuncMap {
	return template.FuncMap{
		"visible":  func(text any) string { return visible(fmt.Sprint(text)) },
		"line":     func(text any) string { return line(fmt.Sprint(text)) },
		"brief":    func(text any) string { return brief(fmt.Sprint(text)) },
		"capital":  func(text any) string { return capital(fmt.Sprint(text)) },
		"sentence": func(text any) string { return sentence(fmt.Sprint(text)) },
		"long":     func(text any) quotation { return quoted(fmt.Sprint(text)) },
		"lines":    lines,
		"lamp":     lampOf,
		"grave":    isGrave,
		"counted":  counted,
		"join":     strings.Join,
		"some":     someOf,
		"sum":      func(a, b int) int { return a + b },
		"text":     func(text any) string { return fmt.Sprint(text) },
	}
}

// typed is a command as it has to be typed to reach what this server shows. What is
// added stands before other flags, since the line of one that ends in a <placeholder>
// is refused by a shell only while it does.
func (s *site) typed(command string) string {
	arguments := ""
	switch parts := strings.Fields(command); {
	case len(parts) < 2 || parts[0] != "countersign":
	case parts[1] == "task" || parts[1] == "serve":
		arguments = s.ForTasks
	case parts[1] == "component" || parts[1] == "preflight" || parts[1] == "probe":
		arguments = s.ForRegistry
	}
	if arguments == "" {
		return command
	}
	bare, flags, found := strings.Cut(command, " --")
	if found {
		flags = " --" + flags
	}
	return bare + " " + arguments + flags
}

// visible is untrusted text in which nothing does anything.
func visible(text string) string { return words.Visible(text) }

// maxLine bounds untrusted text on one line, in bytes; more than the longest title.
const maxLine = 2200

// line is untrusted text on one line, cut where nobody would read on.
func line(text string) string {
	shown := cutText(text, maxLine)
	if len(shown) < len(text) {
		shown += " …"
	}
	return visible(strings.Join(strings.Fields(shown), " "))
}

// brief is the beginning of untrusted text on one line, for a row of a list.
func brief(text string) string {
	shown := cutText(text, registry.MaxDetail)
	if len(shown) < len(text) {
		shown += " …"
	}
	return line(shown)
}

// sentence is untrusted text that begins and ends as a sentence does.
func sentence(text string) string {
	text = strings.TrimSpace(visible(text))
	first, size := utf8.DecodeRuneInString(text)
	if size == 0 {
		return ""
	}
	if within := strings.TrimRight(text, `)"'`); within == "" || !strings.ContainsAny(within[len(within)-1:], ".!?:;,") {
		text += "."
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// capital is a reason that begins as a sentence does, unless it begins with names, such
// as those of gates: these have a mark behind the first word.
func capital(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if strings.ContainsAny(word, ":,._/") {
		return text
	}
	first, size := utf8.DecodeRuneInString(text)
	if first == utf8.RuneError {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}

// What is shown at first of a long text.
const (
	maxShownBytes = 1500
	maxShownLines = 24
)

// quotation is untrusted text; where it is long, its beginning stands before it.
type quotation struct {
	Begin string // what is shown at first, all of it when Whole is empty
	Whole string
	Size  string // of the whole, in words
}

func quoted(text string) quotation {
	begin := cutText(text, maxShownBytes)
	if cut := strings.SplitN(begin, "\n", maxShownLines+1); len(cut) > maxShownLines {
		begin = strings.Join(cut[:maxShownLines], "\n")
	}
	if len(begin) == len(text) {
		return quotation{Begin: visible(text)}
	}
	return quotation{Begin: visible(begin) + " …", Whole: visible(text), Size: sizeOf(len(text))}
}

// cutText is the beginning of a text of at most so many bytes, at a character.
func cutText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

func sizeOf(bytes int) string {
	if bytes < 1<<10 {
		return counted(bytes, "byte")
	}
	return fmt.Sprintf("%d KiB", (bytes+1<<9)>>10)
}

// maxRejection is how many bytes of a rejection's message the pages show.
const maxRejection = 16 << 10

// lines returns the lines of at most maxRejection bytes of untrusted text, and one
// more that says when something was left out.
func lines(text string) []string {
	if len(text) <= maxRejection {
		return strings.Split(visible(text), "\n")
	}
	kept := strings.ToValidUTF8(text[:maxRejection], "")
	return append(strings.Split(visible(kept), "\n"), "… The server’s log has the rest.")
}

// unbroken is a short text that stays on one line.
func unbroken(text string) string { return strings.ReplaceAll(text, " ", "\u00a0") }

// counted is a number of things in words.
func counted(n int, thing string) string { return words.Counted(n, thing) }

// lampOf is how a word of status looks: its lamp has a shape of its own beside a
// colour. What is not known to be good is never green.
func lampOf(word any) string {
	if reading, is := word.(registry.Reading); is {
		word = reading.Status
	}
	switch fmt.Sprint(word) {
	case "available", "passed", "verified", "allowed", "ok", "true":
		return "good"
	case "unavailable", "failed", "rejected", "refused", "false":
		return "bad"
	case "unknown", "undecided", "degraded", "drifting", "flapping", "claimed", "allowed_on_fallback":
		return "warn"
	case "probing", "pending":
		return "begun"
	}
	return "dark"
}

// moment is a time on a page that was made at another.
type moment struct{ when, now time.Time }

// at is a moment seen from the present one.
func (s *site) at(when time.Time) moment { return moment{when, s.Now()} }

// parsed is the moment of an RFC 3339 text; the zero one when it is none.
func (s *site) parsed(text string) moment {
	when, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return moment{}
	}
	return s.at(when)
}

// IsZero reports whether there is no such moment.
func (m moment) IsZero() bool { return m.when.IsZero() }

// ISO is RFC 3339 in UTC with milliseconds, for machines.
func (m moment) ISO() string { return registry.Timestamp(m.when) }

// UTC is the moment for people.
func (m moment) UTC() string { return m.when.UTC().Format("2006-01-02 15:04:05") + " UTC" }

// Age is how long ago it was, in its largest unit.
func (m moment) Age() string { return words.Age(m.now.Sub(m.when)) }

// pathOf is the path of a pattern without a wildcard.
func pathOf(pattern string) string {
	_, path, _ := strings.Cut(pattern, " ")
	return strings.TrimSuffix(path, "{$}")
}

// pager is the way to the next page and to the first one.
type pager struct {
	Next  string // the address of the next page; empty on the last one
	First string // of the first one; empty on it
}

// pagerOf keeps every other parameter of a request in the ways to other pages.
func pagerOf(r *http.Request, nextCursor string) pager {
	at := func(cursor string) string {
		query := r.URL.Query()
		query.Del("cursor")
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		return (&url.URL{Path: r.URL.Path, RawQuery: query.Encode()}).String()
	}
	var ways pager
	if nextCursor != "" {
		ways.Next = at(nextCursor)
	}
	if r.URL.Query().Get("cursor") != "" {
		ways.First = at("")
	}
	return ways
}

// at leads to a place on those pages.
func (p pager) at(place string) pager {
	if p.Next != "" {
		p.Next += "#" + place
	}
	if p.First != "" {
		p.First += "#" + place
	}
	return p
}

// param is a parameter of the query of a request; nil when it is empty.
func param(r *http.Request, name string) *string {
	value := r.URL.Query().Get(name)
	if value == "" {
		return nil
	}
	return &value
}
