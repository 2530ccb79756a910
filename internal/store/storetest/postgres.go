package storetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver pgx
)

// Bounds of the private server.
const (
	startWait      = 60 * time.Second
	stopWait       = 30 * time.Second
	maxConnections = 200
)

// instruction is what a test says when there is no server to run on.
const instruction = "these tests need PostgreSQL 15 or newer and never skip it: install the package postgresql " +
	"(its server need not run), or put initdb and postgres on PATH"

// cluster is the one private server of a test process.
type cluster struct {
	settings  []string // given to postgres after those of its own, and so stronger
	once      sync.Once
	err       error
	directory string
	server    *exec.Cmd
	ended     chan struct{} // closed when the server has ended, with failed
	failed    error
	output    said
}

var shared cluster //nolint:gochecknoglobals // one server for a test process: starting it takes seconds

// Postgres returns the URL of a new, empty database on a private PostgreSQL
// server that listens on a Unix socket only. The server starts at the first
// call; a test package that calls Postgres must have a TestMain that calls Main,
// which stops it. A missing server fails the test.
func Postgres(t testing.TB) string {
	t.Helper()
	shared.once.Do(func() { shared.err = shared.start() })
	if shared.err != nil {
		t.Fatalf("%v\n%s", shared.err, instruction)
	}
	name := "test_" + uuid.New().String()[:13]
	admin, err := sql.Open("pgx", shared.url("postgres"))
	if err != nil {
		t.Fatalf("open the private server: %v", err)
	}
	defer admin.Close()
	if _, err := admin.ExecContext(t.Context(), fmt.Sprintf(`CREATE DATABASE %q`, name)); err != nil {
		t.Fatalf("create a database on the private server: %v\n%s", err, shared.output.String())
	}
	return shared.url(name)
}

// DurablePostgres starts a private server that waits for the disk, for what is
// measured and not only tested. It returns the URL of its empty database; the
// caller must call stop.
func DurablePostgres() (location string, stop func() error, err error) {
	own := &cluster{settings: []string{"-c", "fsync=on"}}
	if err := own.start(); err != nil {
		return "", nil, errors.Join(fmt.Errorf("%w\n%s", err, instruction), own.stop())
	}
	return own.url("postgres"), own.stop, nil
}

// SQLite returns the path of a SQLite file that does not exist yet.
func SQLite(t testing.TB) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "tasks.db")
}

func (c *cluster) url(database string) string {
	query := url.Values{"host": {c.directory}, "user": {"postgres"}}
	return (&url.URL{Scheme: "postgres", Path: "/" + database, RawQuery: query.Encode()}).String()
}

// start makes a cluster and runs its server as a user who is not root.
func (c *cluster) start() error {
	programs, err := findPrograms()
	if err != nil {
		return err
	}
	if c.directory, err = os.MkdirTemp("", "cspg"); err != nil {
		return fmt.Errorf("make a directory for PostgreSQL: %w", err)
	}
	attributes, err := c.asOrdinaryUser()
	if err != nil {
		return err
	}
	made := exec.Command(filepath.Join(programs, "initdb"), "--pgdata", c.path(), "--username", "postgres",
		"--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	made.Dir, made.SysProcAttr = c.directory, attributes
	if said, err := made.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, said)
	}
	arguments := append([]string{
		"-D", c.path(), "-k", c.directory,
		"-c", "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=" + strconv.Itoa(maxConnections),
		"-c", "shared_buffers=64MB",
	}, c.settings...)
	c.server = exec.Command(filepath.Join(programs, "postgres"), arguments...)
	c.server.Dir, c.server.SysProcAttr = c.directory, attributes
	c.server.Stdout, c.server.Stderr = &c.output, &c.output
	if err := c.server.Start(); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		c.failed = c.server.Wait()
	}()
	return c.await()
}

func (c *cluster) path() string { return filepath.Join(c.directory, "cluster") }

// await waits until the server answers.
func (c *cluster) await() error {
	ctx, cancel := context.WithTimeout(context.Background(), startWait)
	defer cancel()
	admin, err := sql.Open("pgx", c.url("postgres"))
	if err != nil {
		return fmt.Errorf("open the private server: %w", err)
	}
	defer admin.Close()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		failed := admin.PingContext(ctx)
		if failed == nil {
			return nil
		}
		select {
		case <-c.ended:
			return fmt.Errorf("postgres ended at its start: %w\n%s", c.failed, c.output.String())
		case <-ctx.Done():
			return fmt.Errorf("postgres did not answer within %v: %w", startWait, failed)
		case <-again.C:
		}
	}
}

// stop ends the server, if there is one, and removes all it wrote.
func (c *cluster) stop() error {
	var failed error
	if c.server != nil && c.server.Process != nil {
		failed = c.server.Process.Signal(syscall.SIGINT) // PostgreSQL's fast shutdown
		timer := time.NewTimer(stopWait)
		defer timer.Stop()
		select {
		case <-c.ended:
		case <-timer.C:
			failed = errors.Join(failed, c.server.Process.Kill())
			<-c.ended
		}
	}
	if c.directory != "" {
		failed = errors.Join(failed, os.RemoveAll(c.directory))
	}
	return failed
}

// asOrdinaryUser returns the attributes of a process that is not root, and gives
// that user the directory.
func (c *cluster) asOrdinaryUser() (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return ordinary(0, 0), nil
	}
	var found *user.User
	var err error
	for _, name := range []string{"postgres", "nobody"} {
		if found, err = user.Lookup(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL does not run as root, and there is no other user to run it: %w", err)
	}
	uid, uidErr := strconv.Atoi(found.Uid)
	gid, gidErr := strconv.Atoi(found.Gid)
	if err := errors.Join(uidErr, gidErr, os.Chown(c.directory, uid, gid)); err != nil {
		return nil, fmt.Errorf("give PostgreSQL's directory to %s: %w", found.Username, err)
	}
	return ordinary(uid, gid), nil
}

// findPrograms returns the directory that holds initdb and postgres.
func findPrograms() (string, error) {
	if onPath, err := exec.LookPath("initdb"); err == nil {
		if onPath, err = filepath.EvalSymlinks(onPath); err == nil {
			return filepath.Dir(onPath), nil
		}
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return "", errors.New("initdb is neither on PATH nor in /usr/lib/postgresql/*/bin")
	}
	return filepath.Dir(found[len(found)-1]), nil
}
