package mcpwire

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/registry"
)

// readEvents reads a stream to its end as "name|data".
func readEvents(in io.Reader) ([]string, error) {
	events := newEventReader(in)
	var got []string
	for {
		next, err := events.next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return got, err
		}
		got = append(got, next.name+"|"+string(next.data))
	}
}

func TestEventReader_toleratesWhatServersSend(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		stream string
		want   []string
	}{
		"one event":                     {"event: message\ndata: {}\n\n", []string{"message|{}"}},
		"no name":                       {"data: {}\n\n", []string{"|{}"}},
		"CRLF":                          {"event: message\r\ndata: {}\r\n\r\n", []string{"message|{}"}},
		"CR":                            {"event: message\rdata: {}\r\r", []string{"message|{}"}},
		"mixed line ends":               {"data: a\r\ndata: b\rdata: c\n\n", []string{"|a\nb\nc"}},
		"several data lines":            {"data: {\ndata: }\n\n", []string{"|{\n}"}},
		"no space behind the colon":     {"data:{}\n\n", []string{"|{}"}},
		"only one space is taken":       {"data:  x\n\n", []string{"| x"}},
		"a byte order mark":             {"\ufeffdata: {}\n\n", []string{"|{}"}},
		"a comment":                     {": ok\n\n: again\ndata: {}\n\n", []string{"|{}"}},
		"a priming event without data":  {"id: 1\ndata: \n\nid: 2\ndata: {}\n\n", []string{"|{}"}},
		"a field without a colon":       {"data\nretry\ndata: {}\n\n", []string{"|{}"}},
		"unknown fields":                {"x-y: z\ndata: {}\n\n", []string{"|{}"}},
		"no blank line at the end":      {"data: {}\n", []string{"|{}"}},
		"no line end at the end":        {"data: {}", []string{"|{}"}},
		"a name does not outlive event": {"event: endpoint\n\ndata: {}\n\n", []string{"|{}"}},
		"keys are case-sensitive":       {"Data: {}\n\n", nil},
		"nothing":                       {"", nil},
		"blank lines":                   {"\n\n\r\n\r\r", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for way, in := range map[string]io.Reader{
				"at once": strings.NewReader(row.stream), "by bytes": iotest.OneByteReader(strings.NewReader(row.stream)),
			} {
				got, err := readEvents(in)
				if err != nil {
					t.Fatalf("%s: %v", way, err)
				}
				if diff := cmp.Diff(row.want, got); diff != "" {
					t.Errorf("%s: events (-want +got):\n%s", way, diff)
				}
			}
		})
	}
}

func TestEventReader_givesAnEventBeforeTheNextByteComes(t *testing.T) {
	t.Parallel()
	for _, stream := range []string{"data: {}\n\n", "data: {}\r\r", "data: {}\r\n\r"} {
		in, out := io.Pipe()
		go func() { _, _ = io.WriteString(out, stream) }()
		got, err := newEventReader(in).next()
		if err != nil || string(got.data) != "{}" {
			t.Errorf("%q: got %q, %v, want {}", stream, got.data, err)
		}
	}
}

func TestEventReader_refusesAnEventOverTheLimit(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", MaxEventBytes+1),
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", MaxEventBytes/1000),
	} {
		_, err := readEvents(strings.NewReader(stream))
		if failure, ok := errors.AsType[*Failure](err); !ok || failure.Cause != registry.TooLarge {
			t.Errorf("%s: got %v, want the cause too_large", name, err)
		}
	}
}

// FuzzEventReader shows that where a stream is cut into pieces changes nothing,
// and that an event has data and no stray line end.
func FuzzEventReader(f *testing.F) {
	for _, stream := range []string{"event: message\r\ndata: {}\r\n\r\n", "\ufeffdata:a\rdata:b\r\r", "id: 1\ndata: \n\n:\n"} {
		f.Add(stream)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		whole, err := readEvents(strings.NewReader(stream))
		pieces, pieceErr := readEvents(iotest.OneByteReader(strings.NewReader(stream)))
		if diff := cmp.Diff(whole, pieces); diff != "" || (err == nil) != (pieceErr == nil) {
			t.Fatalf("cut into bytes, the stream reads differently (-whole +pieces):\n%s", diff)
		}
		for _, got := range whole {
			if _, data, _ := strings.Cut(got, "|"); data == "" || strings.Contains(data, "\r") {
				t.Fatalf("event %q", got)
			}
		}
	})
}
