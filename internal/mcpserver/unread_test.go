package mcpserver

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// deafClient is the output to a client that does not read: a write blocks until
// the test ends.
type deafClient struct {
	begun chan struct{} // receives once for each write that began
	end   chan struct{}
}

func (d *deafClient) Write(p []byte) (int, error) {
	d.begun <- struct{}{}
	<-d.end
	return len(p), nil
}

func TestServeStdio_endsAlthoughItsClientDoesNotRead(t *testing.T) {
	for name, input := range map[string]string{
		"one call":                 ping,
		"more calls than are open": manyPings(2 * maxUnderWay),
		"lines that are no calls":  strings.Repeat("garbage\n", 10),
	} {
		for _, ending := range []string{"context", "input"} {
			if ending == "input" && !strings.HasPrefix(name, "one") {
				continue // Its end is not read before the lines in front of it.
			}
			t.Run(name+", "+ending, func(t *testing.T) {
				eachToolSet(t, func(t *testing.T, server *Server, _ int) { endsUnread(t, server, input, ending) })
			})
		}
	}
}

func manyPings(count int) string {
	var lines strings.Builder
	for id := range count {
		lines.WriteString(strings.Replace(ping, `"ping"`, `"p`+strings.Repeat("x", id)+`"`, 1) + "\n")
	}
	return lines.String()
}

func endsUnread(t *testing.T, server *Server, input, ending string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := &deafClient{begun: make(chan struct{}, 1), end: make(chan struct{})}
	defer close(client.end)
	open, hangUp := io.Pipe()
	defer hangUp.Close()
	server.drains = 50 * time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- server.ServeStdio(ctx, io.MultiReader(strings.NewReader(input+"\n"), open), client) }()
	<-client.begun
	if ending == "context" {
		cancel()
	} else {
		shut(t, hangUp)
	}
	select {
	case err := <-ended:
		if err != nil && !errors.Is(err, errUnread) {
			t.Errorf("ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
}
