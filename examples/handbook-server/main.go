// Command handbook-server is an example of a knowledge base: an MCP server with
// the three gates, whose tool searches Markdown files by an index of bleve and
// states the version of its content.
//
// Start it, then probe it as the component that countersign.yaml beside it names:
//
//	go run ./examples/handbook-server
//	countersign probe handbook --config examples/handbook-server/countersign.yaml
//
// Then give it a folder of your own with -corpus: a folder in it for each
// collection, with Markdown files.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

//go:embed corpus
var own embed.FS

// drainLimit is how long requests may take to end when the server stops.
const drainLimit = 5 * time.Second

func main() {
	listen := flag.String("listen", "127.0.0.1:8091", "the `address` to listen on")
	corpus := flag.String("corpus", "", "the `folder` of the collections; one of its own when it is empty")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	logger := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err := run(ctx, *listen, *corpus, logger); err != nil {
		logger.ErrorContext(ctx, "serve", "error", err)
		os.Exit(1)
	}
}

// run indexes the corpus and answers requests until ctx is done.
func run(ctx context.Context, address, folder string, logger *slog.Logger) error {
	corpus, err := fs.Sub(own, "corpus")
	if folder != "" {
		corpus, err = os.DirFS(folder), nil
	}
	if err != nil {
		return fmt.Errorf("open the corpus: %w", err)
	}
	books, err := readLibrary(corpus)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	logger.InfoContext(ctx, "listening", "url", "http://"+listener.Addr().String())
	server := &http.Server{Handler: newHandler(books), ReadHeaderTimeout: 10 * time.Second}
	stopped := make(chan error, 1)
	go func() {
		<-ctx.Done()
		draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainLimit)
		defer cancel()
		stopped <- server.Shutdown(draining)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return <-stopped
}
