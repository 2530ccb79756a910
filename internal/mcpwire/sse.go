package mcpwire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/countersign-dev/countersign/internal/registry"
)

// event is one server-sent event with data.
type event struct {
	name string
	data []byte
}

// eventReader reads a text/event-stream (WHATWG HTML, section 9.2.6): lines end
// in LF, CR or CRLF, a byte order mark may come first, data lines are joined.
// Unlike a browser it also gives the last event when its blank line is missing.
type eventReader struct {
	in     *bufio.Reader
	begun  bool
	skipLF bool // the last line ended in CR, so that a LF belongs to it
}

func newEventReader(in io.Reader) *eventReader { return &eventReader{in: bufio.NewReader(in)} }

// next returns the next event that has data. It fails with io.EOF at the end of
// the stream and with a *Failure for an event of more than MaxEventBytes.
func (r *eventReader) next() (event, error) {
	var got event
	size := 0
	for {
		line, err := r.line(MaxEventBytes - size)
		if err != nil && (!errors.Is(err, io.EOF) || len(line) == 0 && len(got.data) == 0) {
			return event{}, err
		}
		size += len(line)
		if len(line) > 0 {
			got.add(line)
		}
		if err == nil && len(line) > 0 {
			continue
		}
		if len(got.data) > 0 {
			got.data = bytes.TrimSuffix(got.data, []byte("\n"))
			return got, nil
		}
		if err != nil {
			return event{}, err
		}
		got, size = event{}, 0
	}
}

// add takes in one field; comments and unknown fields are left aside.
func (e *event) add(line []byte) {
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		e.name = string(value)
	case "data":
		if len(value) > 0 || len(e.data) > 0 {
			e.data = append(append(e.data, value...), '\n')
		}
	}
}

// line reads up to a line end without waiting for what follows it.
func (r *eventReader) line(limit int) ([]byte, error) {
	if !r.begun {
		r.begun = true
		if mark, err := r.in.Peek(3); err == nil && string(mark) == "\ufeff" {
			_, _ = r.in.Discard(len(mark))
		}
	}
	var line []byte
	for {
		b, err := r.in.ReadByte()
		if err != nil {
			return line, err
		}
		if r.skipLF {
			r.skipLF = false
			if b == '\n' {
				continue
			}
		}
		switch {
		case b == '\r' || b == '\n':
			r.skipLF = b == '\r'
			return line, nil
		case len(line) >= limit:
			return nil, &Failure{
				Cause: registry.TooLarge, Detail: fmt.Sprintf("an event is larger than %d bytes", MaxEventBytes),
			}
		}
		line = append(roomy(line, limit), b)
	}
}
