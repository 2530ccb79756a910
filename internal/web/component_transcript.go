package web

import (
	"fmt"
	"strings"

	"github.com/countersign-dev/countersign/internal/registry"
)

// What of a transcript is shown; all of it stands in the API.
const (
	maxEntriesShown  = 16
	maxBodyShown     = 2 << 10
	maxHeadersShown  = 40
	maxTranscriptAll = 48 << 10 // bytes of all transcripts of a page
)

// transcriptView is what was exchanged in a part that failed. All texts of it are
// untrusted and hold no secret.
type transcriptView struct {
	Same      string // the part that has the same transcript; then there is nothing else
	Curl      string
	Variables []registry.Variable
	Entries   []exchangeView
	Stderr    string
	LeftOut   int // entries that were not kept, or are not shown
	of        *registry.Transcript
}

// exchangeView is one exchange over HTTP, or one line to or from a process.
type exchangeView struct {
	Heading string // empty for an exchange
	Sent    string
	Came    string
	Error   string
	Times   string // of an exchange
}

// transcriptOf lays a transcript out; nil for none. One that a part before it has
// too is not shown again, and what is shown of all of them is bounded.
func (v *resultView) transcriptOf(kept *registry.Transcript) *transcriptView {
	if kept == nil {
		return nil
	}
	spent := 0
	for _, part := range v.Parts {
		switch {
		case part.Transcript == nil:
		case part.Transcript.of == kept:
			return &transcriptView{Same: part.Name, of: kept}
		default:
			spent += part.Transcript.size()
		}
	}
	made := &transcriptView{
		of: kept, Curl: cutText(kept.Curl, maxBodyShown), Variables: kept.Variables,
		Stderr: cutText(kept.Stderr, maxBodyShown), LeftOut: kept.LeftOut,
	}
	add := func(entry exchangeView) {
		if spent += entry.size(); len(made.Entries) == maxEntriesShown || spent > maxTranscriptAll {
			made.LeftOut++
			return
		}
		made.Entries = append(made.Entries, entry)
	}
	for i := range kept.Exchanges {
		add(exchangeOf(&kept.Exchanges[i]))
	}
	for _, message := range kept.Messages {
		add(messageOf(message))
	}
	return made
}

func (t *transcriptView) size() int {
	all := len(t.Curl) + len(t.Stderr)
	for _, entry := range t.Entries {
		all += entry.size()
	}
	return all
}

func (e exchangeView) size() int { return len(e.Heading) + len(e.Sent) + len(e.Came) + len(e.Error) }

func exchangeOf(kept *registry.Exchange) exchangeView {
	view := exchangeView{Sent: messageText(&kept.Request), Error: kept.Error, Times: phasesInWords(phasesOf(kept.Timings))}
	if kept.Response != nil {
		view.Came = messageText(kept.Response)
	}
	return view
}

func messageOf(kept registry.WireMessage) exchangeView {
	text := bounded(kept.Text, int64(kept.Bytes))
	if kept.Sent {
		return exchangeView{Heading: "To the process", Sent: text}
	}
	return exchangeView{Heading: "From the process", Came: text}
}

// messageText is a message over HTTP as it was on the wire, as far as it is shown.
func messageText(message *registry.HTTPMessage) string {
	var out strings.Builder
	out.WriteString(cutText(message.Line, maxBodyShown) + "\n")
	for i, header := range message.Header {
		if i == maxHeadersShown {
			fmt.Fprintf(&out, "… and %s\n", counted(len(message.Header)-i, "more header"))
			break
		}
		out.WriteString(registry.Shorten(header, registry.MaxDetail) + "\n")
	}
	if message.Body != "" || message.BodyBytes > 0 {
		out.WriteString("\n" + bounded(message.Body, message.BodyBytes))
	}
	return out.String()
}

// bounded is the beginning of a text, and how many bytes there are when more.
func bounded(text string, all int64) string {
	shown := cutText(text, maxBodyShown)
	if all > int64(len(shown)) {
		return fmt.Sprintf("%s\n… of %d bytes", shown, all)
	}
	return shown
}
