package mcpwire

import (
	"context"
	"io"
)

// boundBody is the body of a detached request, bound again to the context of
// the call: release undoes the binding, cancel ends the request.
type boundBody struct {
	io.ReadCloser

	cancel  context.CancelFunc
	release func() bool
}

// Close ends the request.
func (b *boundBody) Close() error {
	defer b.cancel()
	b.release()
	return b.ReadCloser.Close()
}

// meteredBody is a body that draws on the bytes that a client may still read.
type meteredBody struct {
	io.ReadCloser

	left *int64
}

// Read fails with a *Failure once the bytes are spent.
func (b *meteredBody) Read(p []byte) (int, error) {
	if *b.left <= 0 {
		return 0, tooLarge(MaxBytes)
	}
	p = p[:min(int64(len(p)), *b.left)]
	n, err := b.ReadCloser.Read(p)
	*b.left -= int64(n)
	return n, err
}
