// Package config owns the file countersign.yaml and the files in which MCP
// clients keep their servers: where they are, how they are read, what in them is
// wrong, and how a secret that they name is had.
//
// It must not know what the values are used for; it hands out components of the
// registry and plain values. Its one idea is that a file is valid as a whole or
// not at all: every problem is reported at once, with the line and what to do,
// and no secret is ever part of a report.
package config

import (
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/countersign-dev/countersign/internal/alert"
	"github.com/countersign-dev/countersign/internal/fault"
	"github.com/countersign-dev/countersign/internal/registry"
)

// Limits of the file.
const (
	MaxFileBytes  = 2 << 20
	MaxComponents = 10_000
)

// Config is what a valid file says. What it leaves out is the zero value, but for
// Retention and Patrol, which have their defaults then: see Default.
type Config struct {
	File       string               // absolute
	Listen     string               // where serve listens: host:port
	DB         registry.Secret      // the database of serve: a file, absolute, or a postgres:// URL
	Network    registry.Network     // what may be dialled
	Components []registry.Component // in the order of the file
	Slots      []registry.Slot      // in the order of the file
	Runs       []registry.Run       // in the order of the file
	Retention  registry.Retention   // how much history is kept
	Patrol     Patrol
	Front      Front
	Alerts     alert.Settings // who is told what without asking; nobody without receivers

	decoder    *decoder
	references []reference
	digest     [sha256.Size]byte // of the content
}

// reference is where a secret is named.
type reference struct {
	secret registry.Secret
	path   path
}

// Patrol bounds how many probes the schedule has under way at once.
type Patrol struct {
	Concurrency int // of all components
	PerHost     int // of the components of one registry.Spec.Host
}

// The defaults of Patrol.
const (
	DefaultConcurrency = 64
	DefaultPerHost     = 8
)

// Default is what no file, and an empty one, says.
func Default() *Config {
	return &Config{
		Retention: registry.Retention{
			Raw: registry.DefaultRaw, Hourly: registry.DefaultHourly, MaxBytes: registry.DefaultMaxBytes,
		},
		Patrol: Patrol{Concurrency: DefaultConcurrency, PerHost: DefaultPerHost},
	}
}

// Registered is what the file registers, as one whole. It shares nothing that
// changes with the configuration.
func (c *Config) Registered() *registry.Registered {
	return &registry.Registered{Components: c.Components, Slots: c.Slots, Runs: c.Runs, Network: c.Network}
}

// Component returns the component of a name, and whether there is one.
func (c *Config) Component(name string) (registry.Component, bool) {
	i := slices.IndexFunc(c.Components, func(each registry.Component) bool { return each.Name == name })
	if i < 0 {
		return registry.Component{}, false
	}
	return c.Components[i], true
}

// Front is what the front of a stdio server is told.
type Front struct {
	Listen      string // host:port; empty for the default
	Executables []Executable
	HTTP        []HTTPCheck
	Canary      *registry.Canary // nil when none is declared
}

// Executable is a program that a server depends on.
type Executable struct {
	Name       string
	Path       string // a name on PATH, or a path
	Args       []string
	ExitCode   int
	Matches    *regexp.Regexp // nil when nothing is demanded
	MinVersion string         // numbers joined by dots; empty when nothing is demanded
	Optional   bool
}

// HTTPCheck is an address that a server depends on.
type HTTPCheck struct {
	Name     string
	URL      string
	Status   int // 0 for any of 200 to 299
	Optional bool
}

// Find returns the file to read: the named one, else ./countersign.yaml, else
// $XDG_CONFIG_HOME/countersign/countersign.yaml, where ~/.config stands for the
// variable when it is unset or relative. It is empty when nothing is named and
// none of them exists.
func Find(named string, getenv func(string) string) string {
	if named != "" {
		return named
	}
	for _, candidate := range Places(getenv) {
		if _, err := os.Stat(candidate); !errors.Is(err, fs.ErrNotExist) {
			return candidate
		}
	}
	return ""
}

// Places returns where the file is looked for when none is named, in order.
func Places(getenv func(string) string) []string {
	places := []string{"countersign.yaml"}
	if folder, ok := userFolder(getenv); ok {
		places = append(places, filepath.Join(folder, "countersign.yaml"))
	}
	return places
}

// userFolder is where the user keeps what is told to Countersign, by the XDG Base
// Directory Specification; false when nothing says where that is.
func userFolder(getenv func(string) string) (string, bool) {
	folder := getenv("XDG_CONFIG_HOME")
	if home := getenv("HOME"); !filepath.IsAbs(folder) && filepath.IsAbs(home) {
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "countersign"), filepath.IsAbs(folder)
}

// Load reads and validates a file. Faults: NotFound when there is none,
// Unavailable when it cannot be read, TooLarge, and InvalidArgument with every
// problem in its message and its details.
func Load(file string) (*Config, error) {
	loaded, invalid, err := Check(file)
	if err == nil && invalid != nil {
		err = invalid.fault()
	}
	return loaded, err
}

// Check is Load for those who want to know what is wrong: exactly one of its
// results is not nil. Faults: NotFound, Unavailable, TooLarge.
func Check(file string) (*Config, *Invalid, error) {
	content, err := readFile(file, MaxFileBytes)
	if err != nil {
		return nil, nil, err
	}
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, nil, fault.New(fault.Unavailable, "cannot tell the folder of %s: %v", file, err).WithHint("Give an absolute path.")
	}
	loaded, invalid := parse(file, folder, content)
	return loaded, invalid, nil
}

// parse reads the content of a file that is in folder.
func parse(file, folder, content string) (*Config, *Invalid) {
	return parseWith(knownKinds(), file, folder, content)
}

// parseWith is parse where components may be of the given kinds.
func parseWith(of kinds, file, folder, content string) (*Config, *Invalid) {
	digest := sha256.Sum256([]byte(content))
	content = strings.TrimPrefix(content, "\ufeff")
	d := &decoder{file: file, kinds: of, everyKey: of.everyKey(), places: map[path]place{}, broken: map[path]bool{}}
	for line := range strings.SplitSeq(content, "\n") {
		d.lines = append(d.lines, strings.TrimSuffix(line, "\r"))
	}
	if !utf8.ValidString(content) || strings.ContainsRune(content, 0) {
		d.add(position{}, "", "the file is not text in UTF-8", "Save it as UTF-8.")
		return nil, d.invalid()
	}
	var written document
	if root := d.syntax(content); root != nil {
		d.into(root, "", reflect.ValueOf(&written).Elem())
	}
	c := checker{decoder: d, folder: folder}
	loaded := c.config(&written)
	loaded.File, loaded.decoder, loaded.digest = filepath.Join(folder, filepath.Base(file)), d, digest
	if len(d.problems) > 0 {
		return nil, d.invalid()
	}
	return loaded, nil
}

// invalid gives the problems in the order of the file, with their lines.
func (d *decoder) invalid() *Invalid {
	slices.SortStableFunc(d.problems, inFileOrder)
	found := &Invalid{File: d.file, Total: len(d.problems)}
	for _, problem := range d.problems[:min(len(d.problems), MaxProblems)] {
		found.Problems = append(found.Problems, d.finished(problem))
	}
	return found
}

func inFileOrder(a, b Problem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) }

func (d *decoder) finished(problem Problem) Problem {
	problem.Path, problem.Message, problem.Hint = d.cleaned(problem.Path), d.cleaned(problem.Message), d.cleaned(problem.Hint)
	if problem.Line < 1 || problem.Line > len(d.lines) {
		problem.Line, problem.Column = 0, 0
		return problem
	}
	return problem.withExcerpt(d.excerpt(problem.Line))
}

// readFile reads a file of at most limit bytes.
// Faults: NotFound, Unavailable, TooLarge.
func readFile(name string, limit int64) (string, error) {
	file, err := os.Open(filepath.Clean(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fault.New(fault.NotFound, "there is no file %s", name).WithHint("Check the path.").WithCause(err)
	case err != nil:
		return "", unreadable(name, err)
	}
	defer func() { _ = file.Close() }()
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return "", unreadable(name, err)
	case int64(len(content)) > limit:
		return "", fault.New(fault.TooLarge, "%s has more than %d bytes", name, limit).
			With(fault.Limit, limit).
			WithHint("Check that this is the right file.")
	}
	return string(content), nil
}

func unreadable(name string, err error) error {
	return fault.New(fault.Unavailable, "cannot read %s: %v", name, WithoutPath(err)).
		WithHint("Check that it is a file, and its rights.").
		WithCause(err)
}
