package gates

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"
)

// lingerFor is how long a connection must last. A forwarder of ports accepts
// connections for a server that is gone, and closes them at once.
const lingerFor = 200 * time.Millisecond

// TCP checks that something accepts connections and keeps one for a fifth of a
// second. It is the weakest check there is: prefer HTTP, SQL or a Func of your
// own, which make the other side do something.
type TCP struct {
	// Address is host:port.
	Address string
}

func (t TCP) check(ctx context.Context) finding {
	if t.Address == "" {
		return finding{detail: detailNotConfigured}
	}
	connection, err := new(net.Dialer).DialContext(ctx, "tcp", t.Address)
	switch {
	case ctx.Err() != nil:
		return finding{present: true, detail: "no connection in time"}
	case err != nil:
		return finding{present: true, detail: err.Error()}
	}
	defer func() { _ = connection.Close() }()
	if err := linger(connection); err != nil {
		return finding{present: true, detail: "the connection was closed at once: " + err.Error()}
	}
	return finding{present: true, works: true, detail: "accepts connections"}
}

// linger returns an error when the other side closes before it says anything.
func linger(connection net.Conn) error {
	if err := connection.SetReadDeadline(time.Now().Add(lingerFor)); err != nil {
		return err
	}
	_, err := connection.Read(make([]byte, 1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil
	case errors.Is(err, io.EOF):
		return errors.New("end of stream")
	}
	return err
}
