// Command go-doc-server is an example of an MCP server with the three gates. It
// answers what the Go standard library's documentation says about a symbol, for
// which it needs the go command.
//
// Start it, then probe it:
//
//	go run ./examples/go-doc-server
//	countersign probe http://127.0.0.1:8090
//
// Then start it with -go /nowhere/go: it is alive and lists its tool, and only
// the gate test says that every call would fail.
package main

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// drainLimit is how long requests may take to end when the server stops.
const drainLimit = 5 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:8090", "the `address` to listen on")
	goCommand := flag.String("go", "go", "the go command, a name on PATH or a `path`")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	logger.InfoContext(ctx, "listening", "url", "http://"+*listen)
	if err := serve(ctx, *listen, newHandler(*goCommand)); err != nil {
		logger.ErrorContext(ctx, "serve", "error", err)
		os.Exit(1)
	}
}

// serve answers requests until ctx is done.
func serve(ctx context.Context, address string, handler http.Handler) error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
		stopped <- server.Shutdown(draining)
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
