package gates_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/countersign-dev/countersign/gates"
)

// closedPort is an address that nothing listens on.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

// listen accepts connections and does something with each, until the test ends.
func listen(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var held []net.Conn
		defer func() {
			for _, connection := range held {
				_ = connection.Close()
			}
		}()
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			held = append(held, connection)
			handle(connection)
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-ended
	})
	return listener.Addr().String()
}

func TestTCP_passesWhatKeepsAConnection(t *testing.T) {
	waits := listen(t, func(net.Conn) {})
	greets := listen(t, func(c net.Conn) {
		_, _ = io.WriteString(c, "220 ready\r\n")
		_ = c.Close()
	})
	for name, address := range map[string]string{"waits": waits, "greets": greets} {
		if told := checked(t, gates.TCP{Address: address}, patience); !told.Present || !told.Executable || told.Detail != "accepts connections" {
			t.Errorf("%s: %+v", name, told)
		}
	}
}

func TestTCP_failsWithoutAConnection(t *testing.T) {
	for address, detail := range map[string]string{
		closedPort(t):               "refused",
		"no-such-host.invalid:5432": "no-such-host.invalid",
		"127.0.0.1":                 "missing port in address",
	} {
		if told := checked(t, gates.TCP{Address: address}, patience); !told.Present || told.Executable || !strings.Contains(told.Detail, detail) {
			t.Errorf("%s: %+v, want %q", address, told, detail)
		}
	}
	if told := checked(t, gates.TCP{}, patience); told.Present || told.Detail != "not configured" {
		t.Errorf("without an address: %+v", told)
	}
	if told := checked(t, gates.HTTP{}, patience); told.Present || told.Detail != "not configured" {
		t.Errorf("without a URL: %+v", told)
	}
}

// TestTCP_failsOnAForwarderWithNothingBehindIt tries until the closing of the
// connection is noticed in time, which a busy machine may delay.
func TestTCP_failsOnAForwarderWithNothingBehindIt(t *testing.T) {
	address := listen(t, func(c net.Conn) { _ = c.Close() })
	deadline := time.Now().Add(patience)
	for {
		told := checked(t, gates.TCP{Address: address}, patience)
		if !told.Executable && strings.HasPrefix(told.Detail, "the connection was closed at once: ") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", told)
		}
	}
}
