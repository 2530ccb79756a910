package cli

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"

	"github.com/countersign-dev/countersign/internal/config"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/store"
)

// defaultListen is where serve listens, and so where healthcheck asks.
const defaultListen = "127.0.0.1:8484"

type serveCommand struct {
	File     configFlag           `embed:""`
	Database registryDatabaseFlag `embed:""`
	Listen   *string              `help:"Loopback address to listen on; port 0 takes a free one. By default that of the configuration file, else ${listen}." placeholder:"ADDR"`
	Log      logFlags             `embed:""`
}

// Help is what serve --help says beyond its one line.
func (*serveCommand) Help() string {
	return "Serves the task gate at /mcp, the registry at /mcp/registry, metrics at /metrics, the gates of Countersign itself at /healthz and /test, " +
		"pages for people at /, and the same for programs at /api/v1/. What the configuration file registers is probed on schedule, and " +
		"whom it names is alerted; of several servers on one database one does each. " +
		"The file is read again when it changes, and on SIGHUP; one that is not valid is rejected, and the one before goes on. " +
		"One that is not there at the start is looked for at the next start. " +
		"It listens on this machine only, since nobody is authenticated yet. SIGTERM or Ctrl-C ends it: " +
		"calls in flight are finished first; a second signal ends it at once."
}

// Run serves until ctx is done.
func (c *serveCommand) Run(ctx context.Context, p *process) (err error) {
	log, err := c.Log.logger(p.Err)
	if err != nil {
		return err
	}
	outliveReaders()
	loaded, err := c.File.load(p)
	if err != nil {
		return err
	}
	measured, err := newMeasured(ctx, p, log)
	if err != nil {
		return err
	}
	defer measured.tracing.Shutdown(ctx)
	overruled := c.overruled()
	listen, err := c.configure(p, loaded)
	if err != nil {
		return err
	}
	listener, err := listenOnLoopback(ctx, listen)
	if err != nil {
		return err
	}
	shown := showProgress(ctx, p.Err, "opening the database")
	database, err := openDatabaseWith(ctx, p, c.Database.DB, store.Options{Waited: measured.metrics.Waited, Redefined: warnOfRedefined(ctx, log)})
	shown()
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	begun := newServing(listener.Addr(), database.Location(), c.Database.DB != "").registering(loaded, config.Places(p.Getenv)).
		asStarted(loaded.File, slices.Contains(overruled, "db"))
	server, err := join(ctx, p, begun, loaded, database, measured, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer server.close()
	server.reload.overruled = overruled
	if err := begun.print(p); err != nil {
		return errors.Join(err, listener.Close())
	}
	begun.log(ctx, log)
	server.reload.warn(ctx, loaded.Warnings(p.resolver()))
	if err := server.run(ctx, listener); err != nil {
		return err
	}
	log.InfoContext(context.WithoutCancel(ctx), "ended")
	return nil
}

// overruled are the keys of the file in whose place flags were given.
func (c *serveCommand) overruled() []string {
	var keys []string
	if c.Listen != nil {
		keys = append(keys, "listen")
	}
	if c.Database.DB != "" {
		keys = append(keys, "db")
	}
	return keys
}

// configure takes from the configuration file what the flags leave open, and
// returns where to listen.
func (c *serveCommand) configure(p *process, loaded *config.Config) (listen string, err error) {
	listen = cmp.Or(loaded.Listen, defaultListen)
	if c.Listen != nil {
		listen = *c.Listen // also when it is empty, which is refused
	}
	if c.Database.DB == "" {
		c.Database.DB, err = loaded.DB.Reveal(p.resolver().Resolve)
	}
	return listen, err
}

// listenOnLoopback listens on an address of this machine only: whoever can
// connect can claim to be any agent. Faults: InvalidArgument, Unavailable.
func listenOnLoopback(ctx context.Context, listen string) (net.Listener, error) {
	address, err := loopbackAddress(listen)
	if err != nil {
		return nil, err
	}
	return listenOn(ctx, address)
}

// listenOn listens on an address. Faults: Unavailable.
func listenOn(ctx context.Context, address netip.AddrPort) (net.Listener, error) {
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", address.String())
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fault.New(fault.Unavailable, "port %d of %s is in use", address.Port(), address.Addr()).
			WithHint("If that is Countersign, use it: countersign probe http://%s. Otherwise choose another port; "+
				"--listen 127.0.0.1:0 takes a free one.", address).
			WithCause(err)
	case errors.Is(err, syscall.EACCES):
		return nil, fault.New(fault.Unavailable, "this user may not listen on port %d", address.Port()).
			WithHint("Choose a port above 1023 with --listen.").
			WithCause(err)
	default:
		return nil, fault.New(fault.Unavailable, "cannot listen on %s: %v", address, err).
			WithHint("Choose another address with --listen; the default is %s.", defaultListen).
			WithCause(err)
	}
}

func loopbackAddress(listen string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(listen)
	if host == "localhost" {
		host = "127.0.0.1"
	}
	if err == nil && host == "" {
		return netip.AddrPort{}, refusedListen(listen)
	}
	address, parseErr := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil || parseErr != nil {
		return netip.AddrPort{}, fault.New(fault.InvalidArgument, "--listen %q is not an address with a port", listen).
			With(fault.Field, "--listen").
			WithHint("Give one like %s.", defaultListen)
	}
	if !address.Addr().Unmap().IsLoopback() {
		return netip.AddrPort{}, refusedListen(listen)
	}
	return address, nil
}

func refusedListen(listen string) error {
	return fault.New(fault.InvalidArgument, "--listen %q is reachable from other machines, and nobody is authenticated over HTTP yet", listen).
		With(fault.Field, "--listen").
		WithHint("Give a loopback address like %s. From another machine, use an SSH tunnel to the same port.", defaultListen)
}
