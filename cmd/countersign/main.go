// Command countersign is the one binary: the task gate, the prober and the server.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/countersign-dev/countersign/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	code := cli.Main(ctx, os.Args[1:], cli.Surroundings{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv})
	stop()
	os.Exit(code)
}
