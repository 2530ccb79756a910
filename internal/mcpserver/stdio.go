package mcpserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/countersign-dev/countersign/internal/task"
)

// maxReadable is how many bytes of a line over task.MaxRequest are kept, so that
// its sender can be told by the id of its call; of a longer line nothing is.
const maxReadable = 4 * task.MaxRequest

// readBuffer is how many bytes of input are read at a time.
const readBuffer = 64 << 10

// ServeStdio serves one client: a JSON-RPC message a line in and out. It ends
// with nil when in ends or ctx is done, after the calls under way have been
// answered or the client has not read for too long; nothing that a line holds
// ends it. Only JSON-RPC is written to out.
//
// A read of in that is blocked when ctx ends cannot be interrupted, nor can a
// write to out; their goroutines end with the next line, with in and out, or with
// the process.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	left := make(chan struct{})
	defer close(left)
	lines := make(chan line)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		failed <- readLines(in, lines, left)
	}()
	connection := newConnection(lines, ctx.Done(), out, s.drains, s.observer)
	go connection.outlast(left)
	// The calls under way are to be answered after ctx is done, so they do not
	// inherit its end; the connection bounds how long they may take.
	session, err := s.endpoint(s.caller).Connect(context.WithoutCancel(ctx), connection, nil)
	if err != nil {
		return fmt.Errorf("connect the MCP session over stdio: %w", err)
	}
	if err := session.Wait(); err != nil {
		return fmt.Errorf("serve MCP over stdio: %w", err)
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

var _ mcp.Transport = (*connection)(nil)

// line is one line of input without its end. Of a line that is over maxReadable
// only that is known.
type line struct {
	text []byte
	long bool
}

// readLines sends every line of in until it ends, in bounded memory, or until
// left is closed. A last line without an end is a line. Blank lines are skipped.
func readLines(in io.Reader, lines chan<- line, left <-chan struct{}) error {
	reader := bufio.NewReaderSize(in, readBuffer)
	for {
		next, err := readLine(reader)
		if next.long || !blank(next.text) {
			select {
			case lines <- next:
			case <-left:
				return nil
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a message from standard input: %w", err)
		}
	}
}

func readLine(reader *bufio.Reader) (next line, err error) {
	for {
		var chunk []byte
		chunk, err = reader.ReadSlice('\n')
		if len(next.text)+len(chunk) > maxReadable {
			next = line{long: true}
		}
		if !next.long {
			next.text = append(next.text, chunk...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return next, err
		}
	}
}

// blank reports whether a line holds no message at all.
func blank(text []byte) bool {
	for _, c := range text {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return false
		}
	}
	return true
}
