package config

import (
	"context"
	"crypto/sha256"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/countersign-dev/countersign/internal/fault"
)

// lookEvery is how often a watched file is looked at. A change counts when two
// looks in a row see the same, so that a file half written is not judged.
const lookEvery = time.Second

// offerAgain is after how many looks a valid configuration that was not taken is
// offered again.
const offerAgain = 10

// Watch reads the file of a running configuration again whenever its content has
// changed, and at once when a signal comes. It returns when ctx ends, and starts
// no goroutine.
//
// What it finds is offered, from one goroutine: a configuration that is valid as a
// whole, or else the fault that Load would have given, such as NotFound for a
// file that has vanished; the running configuration goes on then. A content is
// offered once. It is offered again when the file returns to it, for a signal when
// it was a fault or was not taken, and ten seconds later when it was not taken,
// since what kept it from being taken may have passed. Without a file, each signal is answered
// with NotFound; so is, with Unavailable, each signal for a file that was not
// regular from the beginning, since a pipe cannot be read twice.
func Watch(ctx context.Context, running *Config, signals <-chan os.Signal, offer func(next *Config, refused error) (taken bool)) {
	w := watch{running: running, offer: offer, judged: look{digest: running.digest}, taken: true}
	w.seen, w.special = w.judged, running.File != "" && isSpecial(running.File)
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			w.asked()
		case <-ticker.C:
			w.passing()
		}
	}
}

// look is what the file was like when it was looked at.
type look struct {
	digest [sha256.Size]byte
	fault  string // why it could not be read; the digest is zero then
}

type watch struct {
	running *Config
	offer   func(*Config, error) bool
	special bool // the file was not regular from the beginning
	seen    look // the last time
	judged  look // when something was offered last
	taken   bool // what was offered is what runs
	valid   bool // what was offered is a configuration
	looks   int  // since something was offered
}

// asked judges the file unless it is what runs.
func (w *watch) asked() {
	if w.running.File == "" {
		w.offer(nil, fault.New(fault.NotFound, "there is no configuration file that could be read again").
			WithHint("Start with --config FILE."))
		return
	}
	now, content, err := w.look()
	w.seen = now
	if now != w.judged || !w.taken {
		w.judge(now, content, err)
	}
}

// passing judges the file when it has changed and come to rest.
func (w *watch) passing() {
	if w.running.File == "" || w.special {
		return
	}
	now, content, err := w.look()
	w.looks++
	isNews := now != w.judged || w.valid && !w.taken && w.looks >= offerAgain
	if isNews && now == w.seen {
		w.judge(now, content, err)
	}
	w.seen = now
}

func (w *watch) look() (look, string, error) {
	var content string
	var err error
	if isSpecial(w.running.File) {
		err = fault.New(fault.Unavailable, "%s is not a regular file, so it cannot be read again", w.running.File).
			WithHint("Put the configuration into a file.")
	} else {
		content, err = readFile(w.running.File, MaxFileBytes)
	}
	if err != nil {
		return look{fault: err.Error()}, "", err
	}
	return look{digest: sha256.Sum256([]byte(content))}, content, nil
}

// isSpecial reports whether there is something else than a regular file.
func isSpecial(name string) bool {
	found, err := os.Stat(name)
	return err == nil && !found.Mode().IsRegular()
}

func (w *watch) judge(now look, content string, err error) {
	var next *Config
	if err == nil {
		var invalid *Invalid
		if next, invalid = parse(w.running.decoder.file, filepath.Dir(w.running.File), content); invalid != nil {
			err = invalid.fault()
		}
	}
	w.judged, w.looks, w.valid = now, 0, err == nil
	w.taken = w.offer(next, err) && w.valid
}

// NeedsRestart returns a warning for each thing in which the next configuration
// differs from the one with which serve was started and which serve takes up only
// when it is started again. The keys that flags have overruled are none of them.
func (c *Config) NeedsRestart(next *Config, overruled ...string) []Problem {
	var warnings []Problem
	for _, each := range []struct {
		key     path
		changed bool
	}{
		{"listen", c.Listen != next.Listen},
		{"db", !c.DB.Equal(next.DB)},
	} {
		if each.changed && !slices.Contains(overruled, string(each.key)) {
			warnings = append(warnings, next.doubt(each.key,
				string(each.key)+" has changed, which needs a restart", "Until then serve goes on as it was started."))
		}
	}
	return warnings
}
