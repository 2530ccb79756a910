package mcpwire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/countersign-dev/countersign/internal/registry"
)

// reproduce writes what makes the failing exchange again with curl: the last
// one that is neither an answer to the server nor the end of a session, nor a
// stream that was asked for only after a refusal and refused as well. Before it
// comes what opens the session that it belongs to.
func reproduce(exchanges []*recording, hide *Redactor, into *registry.Transcript) {
	var failing *recording
	for _, one := range exchanges {
		if one.asks() && (failing == nil || !one.isRefusedStream()) {
			failing = one
		}
	}
	if failing == nil || int64(len(failing.sent)) < failing.sentAll {
		return
	}
	var lines []string
	write := curlWriter{hide: hide, transcript: into}
	if id := failing.request.Header.Get(sessionHeader); id != "" {
		write.session = id
		lines = write.opening(exchanges, id)
	}
	into.Curl = strings.Join(append(lines, write.line(failing)), "\n")
}

// asks reports whether the exchange asks the server for something.
func (o *recording) asks() bool {
	if o.request.Method != http.MethodPost || !json.Valid(o.sent) {
		return o.request.Method != http.MethodDelete
	}
	members, _ := objectOf(o.sent)
	return members["method"] != nil
}

// isRefusedStream reports whether an event stream was asked for and not given.
func (o *recording) isRefusedStream() bool {
	const stream = "text/event-stream"
	return o.request.Method == http.MethodGet && o.request.Header.Get("Accept") == stream && o.status != "" &&
		(!strings.HasPrefix(o.status, "2") || !strings.HasPrefix(o.header.Get("Content-Type"), stream))
}

// curlWriter writes exchanges as words of a POSIX shell.
type curlWriter struct {
	hide       *Redactor
	transcript *registry.Transcript
	session    string // the id that a variable stands for; empty for none
}

const sessionVariable = "SESSION"

// opening has the lines that open a session anew, as it was opened.
func (w *curlWriter) opening(exchanges []*recording, id string) []string {
	var lines []string
	for _, one := range exchanges {
		switch {
		case one.header.Get(sessionHeader) == id && one.request.Header.Get(sessionHeader) == "" && len(lines) == 0:
			lines = append(lines, fmt.Sprintf(
				`%s=$(%s | tr -d '\r' | sed -n 's/^[Mm][Cc][Pp]-[Ss][Ee][Ss][Ss][Ii][Oo][Nn]-[Ii][Dd]: *//p;/^$/q')`, sessionVariable, w.line(one)))
		case len(lines) == 1 && bytes.Contains(one.sent, []byte(`"`+initialized+`"`)):
			lines = append(lines, w.line(one))
		}
	}
	if len(lines) == 0 {
		w.stands(registry.Variable{Name: sessionVariable, Means: "the id of a session of the server"})
	}
	return lines
}

func (w *curlWriter) stands(variable registry.Variable) {
	if !slices.Contains(w.transcript.Variables, variable) {
		w.transcript.Variables = append(w.transcript.Variables, variable)
	}
}

// line is one exchange. Redirects, proxies, patterns and HTTP/2 are left out,
// because the probe leaves them out.
func (w *curlWriter) line(one *recording) string {
	limit := one.limit
	if limit <= 0 {
		limit = curlTimeout
	}
	words := []string{
		"curl -sS -i -g --path-as-is --http1.1 --noproxy '*'",
		fmt.Sprintf("-m %.1f", max(limit, 100*time.Millisecond).Seconds()),
	}
	if one.request.Method != http.MethodGet {
		words = append(words, "-X "+w.word(one.request.Method))
	}
	for _, file := range one.carried.files {
		if file.path != "" {
			words = append(words, file.flag+" "+w.word(file.path))
			continue
		}
		w.stands(file.variable)
		words = append(words, file.flag+` "$`+file.variable.Name+`"`)
	}
	words = append(words, w.word(asciiOnly(one.request.URL.String())))
	for _, name := range slices.Sorted(maps.Keys(one.request.Header)) {
		words = append(words, "-H "+w.header(one, name))
	}
	if len(one.sent) > 0 {
		words = append(words, "--data-raw "+w.word(jsonASCII(one.sent)))
	}
	return strings.Join(words, " ")
}

// curlTimeout is for a request that has no time-out of its own.
const curlTimeout = 30 * time.Second

// header is one header as a word.
func (w *curlWriter) header(one *recording, name string) string {
	value := one.request.Header.Get(name)
	stands := func(shown, variable string) string { return w.word(name+": "+shown) + `"$` + variable + `"` }
	for _, secret := range one.carried.headers {
		if secret.name == name {
			w.stands(secret.variable)
			return stands(secret.shown, secret.variable.Name)
		}
	}
	switch {
	case name == sessionHeader && value == w.session:
		return stands("", sessionVariable)
	case value == "":
		return w.word(name + ";")
	}
	return w.word(name + ": " + value)
}

// word quotes text for a POSIX shell: within single quotes nothing but their end
// has a meaning. What was hidden becomes a variable.
func (w *curlWriter) word(text string) string {
	var out strings.Builder
	for i, part := range strings.Split(w.hide.Clean(text), redacted) {
		if i > 0 {
			out.WriteString(`"$SECRET"`)
			w.stands(registry.Variable{Name: "SECRET", Means: "the secret that stands here"})
		}
		if part != "" {
			out.WriteString("'" + strings.ReplaceAll(part, "'", `'\''`) + "'")
		}
	}
	return out.String()
}

// asciiOnly percent-encodes what an address may not hold in the open.
func asciiOnly(address string) string {
	var out strings.Builder
	for i := range len(address) {
		if b := address[i]; b > ' ' && b < 0x7f {
			out.WriteByte(b)
		} else {
			fmt.Fprintf(&out, "%%%02X", b)
		}
	}
	return out.String()
}

// jsonASCII writes what does not show, or moves other text about, as escapes of
// JSON, which mean the same. It leaves a body alone that is not JSON.
func jsonASCII(body []byte) string {
	if !json.Valid(body) {
		return string(body)
	}
	var out strings.Builder
	for _, r := range string(body) {
		switch {
		case r < 0x7f || unicode.IsGraphic(r) && !unicode.Is(unicode.Cf, r):
			out.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&out, "\\u%04x\\u%04x", 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			fmt.Fprintf(&out, "\\u%04x", r)
		}
	}
	return out.String()
}

// shellName makes the name of a variable of a shell.
func shellName(text string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		case r >= 'a' && r <= 'z':
			return r
		}
		return '_'
	}, registry.Shorten(text, maxExcerpt))
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		name = "_" + name
	}
	return name
}
