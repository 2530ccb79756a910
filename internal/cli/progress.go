package cli

import (
	"context"
	"fmt"
	"io"
	"time"
)

// progressAfter is how long a command may be silent on a terminal.
const progressAfter = 2 * time.Second

// showProgress tells a person at a terminal that text is going on, once it has
// taken progressAfter. The function returned ends that and clears the line.
func showProgress(ctx context.Context, out io.Writer, text string) (stop func()) {
	return followProgress(ctx, out, func() string { return text })
}

// followProgress is showProgress with a text that is asked for each second, from
// one goroutine.
func followProgress(ctx context.Context, out io.Writer, text func() string) (stop func()) {
	if !isTerminal(out) {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick(ctx, out, text)
	}()
	return func() {
		cancel()
		<-ended
	}
}

func tick(ctx context.Context, out io.Writer, text func() string) {
	began := time.Now()
	timer := time.NewTimer(progressAfter)
	defer timer.Stop()
	const clearLine = "\r\x1b[K"
	shown := false
	for {
		select {
		case <-ctx.Done():
			if shown {
				_, _ = io.WriteString(out, clearLine)
			}
			return
		case <-timer.C:
			shown = true
			fmt.Fprintf(out, "%s%s, %d s", clearLine, text(), int(time.Since(began).Seconds()))
			timer.Reset(time.Second)
		}
	}
}
