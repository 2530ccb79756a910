package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/countersign-dev/countersign/internal/fault"
)

// watched is a file that Watch follows, in a bubble of testing/synctest.
type watched struct {
	t       *testing.T
	file    string
	signals chan os.Signal

	mu      sync.Mutex
	refuse  bool     // what is offered is not taken
	offered []string // the listen address of a configuration, or the code of a fault
}

// following runs a test while the file is followed; it begins as listen: 127.0.0.1:1.
func following(t *testing.T, test func(w *watched)) {
	t.Helper()
	file := write(t, listening(1))
	synctest.Test(t, func(t *testing.T) {
		w := &watched{t: t, file: file, signals: make(chan os.Signal)}
		running, err := Load(file)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			Watch(ctx, running, w.signals, w.take)
		}()
		<-time.After(lookEvery / 2) // what the test does falls between two looks
		test(w)
		cancel()
		<-ended
	})
}

func listening(port int) string { return fmt.Sprintf("listen: 127.0.0.1:%d\n", port) }

func (w *watched) take(next *Config, refused error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if coded, ok := fault.Of(refused); ok {
		w.offered = append(w.offered, string(coded.Code))
		return true // which counts for nothing
	}
	w.offered = append(w.offered, next.Listen)
	return !w.refuse
}

// put replaces the content of the file.
func (w *watched) put(content string) {
	w.t.Helper()
	if err := os.WriteFile(w.file, []byte(content), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// wants lets looks go by and compares what was offered since the last time.
func (w *watched) wants(looks int, want ...string) {
	w.t.Helper()
	<-time.After(time.Duration(looks) * lookEvery)
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if diff := cmp.Diff(append([]string(nil), want...), w.offered); diff != "" {
		w.t.Errorf("offered (-want +got):\n%s", diff)
	}
	w.offered = nil
}

func (w *watched) refuses(refuse bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}

func (w *watched) signal() {
	w.signals <- os.Interrupt
	synctest.Wait()
}

const refusedFile = string(fault.InvalidArgument)

func TestWatch_offersAChangeOnceItHasComeToRest(t *testing.T) {
	t.Parallel()
	following(t, func(w *watched) {
		w.wants(5)
		w.put(listening(2))
		w.wants(1)
		w.wants(1, "127.0.0.1:2")
		w.wants(5)
		for i := range 5 { // written slowly
			w.put(strings.Repeat("# comment\n", i+1))
			w.wants(1)
		}
		w.put(listening(3))
		w.wants(2, "127.0.0.1:3")
		w.put("listen: 1\n")
		w.wants(2, refusedFile)
		w.put(listening(3)) // what runs; the refusal is to be taken back
		w.wants(2, "127.0.0.1:3")
	})
}

func TestWatch_tellsAVanishedFileAndGoesOn(t *testing.T) {
	t.Parallel()
	following(t, func(w *watched) {
		if err := os.Remove(w.file); err != nil {
			t.Fatal(err)
		}
		w.wants(3, string(fault.NotFound))
		w.signal()
		w.wants(1, string(fault.NotFound))
		w.put(listening(1))
		w.wants(3, "127.0.0.1:1")
		w.put(strings.Repeat("#", MaxFileBytes+1))
		w.wants(3, string(fault.TooLarge))
	})
}

// TestWatch_tellsAFileThatIsNoFileAnyMore puts a directory and a link to itself in
// the place of the file.
func TestWatch_tellsAFileThatIsNoFileAnyMore(t *testing.T) {
	t.Parallel()
	following(t, func(w *watched) {
		if err := errors.Join(os.Remove(w.file), os.Mkdir(w.file, 0o700)); err != nil {
			t.Fatal(err)
		}
		w.wants(3, string(fault.Unavailable))
		if err := errors.Join(os.Remove(w.file), os.Symlink(w.file, w.file)); err != nil {
			t.Fatal(err)
		}
		w.wants(3, string(fault.Unavailable))
		if err := os.Remove(w.file); err != nil {
			t.Fatal(err)
		}
		w.put(listening(2))
		w.wants(3, "127.0.0.1:2")
	})
}

func TestWatch_readsAtOnceForASignal(t *testing.T) {
	t.Parallel()
	following(t, func(w *watched) {
		w.signal()
		w.wants(1)
		w.put(listening(2))
		w.signal()
		w.wants(0, "127.0.0.1:2")
		w.put("listen: 1\n")
		w.signal()
		w.signal()
		w.wants(3, refusedFile, refusedFile)
		w.refuses(true)
		w.put(listening(3))
		w.wants(5, "127.0.0.1:3")
		w.wants(2*offerAgain, "127.0.0.1:3", "127.0.0.1:3")
		w.refuses(false)
		w.signal()
		w.wants(0, "127.0.0.1:3")
		w.signal()
		w.wants(5)
	})
}

// TestWatch_followsFilesThatAreReplaced replaces the file as editors and as
// Kubernetes do.
func TestWatch_followsFilesThatAreReplaced(t *testing.T) {
	t.Parallel()
	following(t, func(w *watched) {
		folder := filepath.Dir(w.file)
		mounted := func(version int) {
			t.Helper()
			to := filepath.Join(folder, fmt.Sprintf("v%d", version))
			draft := filepath.Join(folder, "..data_tmp")
			err := errors.Join(os.Mkdir(to, 0o700), os.WriteFile(filepath.Join(to, "countersign.yaml"), []byte(listening(version)), 0o600),
				os.Symlink(to, draft), os.Rename(draft, filepath.Join(folder, "..data")))
			if err != nil {
				t.Fatal(err)
			}
		}
		draft := w.file + ".draft"
		if err := errors.Join(os.WriteFile(draft, []byte(listening(2)), 0o600), os.Rename(draft, w.file)); err != nil {
			t.Fatal(err)
		}
		w.wants(2, "127.0.0.1:2")
		mounted(3)
		if err := errors.Join(os.Remove(w.file), os.Symlink(filepath.Join("..data", "countersign.yaml"), w.file)); err != nil {
			t.Fatal(err)
		}
		w.wants(2, "127.0.0.1:3")
		mounted(4)
		w.wants(2, "127.0.0.1:4")
	})
}

func TestWatch_withoutARegularFileAnswersSignalsOnly(t *testing.T) {
	t.Parallel()
	for want, running := range map[fault.Code]*Config{fault.NotFound: Default(), fault.Unavailable: {File: os.DevNull}} {
		synctest.Test(t, func(t *testing.T) {
			w := &watched{t: t, signals: make(chan os.Signal)}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			go Watch(ctx, running, w.signals, w.take)
			w.wants(5)
			w.signal()
			w.wants(5, string(want))
			<-ctx.Done()
		})
	}
}

func TestNeedsRestart_tellsWhatServeCannotChange(t *testing.T) {
	t.Parallel()
	parsed := func(text string) *Config {
		t.Helper()
		loaded, invalid := parse("file.yaml", "/srv", text)
		if invalid != nil {
			t.Fatal(invalid)
		}
		return loaded
	}
	started := parsed("listen: 127.0.0.1:1\ndb: gate.db\n")
	for text, want := range map[string][]string{
		"db: ./gate.db\nlisten: 127.0.0.1:1\ncomponents: {}\n": nil,
		"db: other.db\nlisten: 127.0.0.1:2\n":                  {"file.yaml:2:9: listen has changed, which needs a restart", "file.yaml:1:5: db has changed, which needs a restart"},
		"db: env:DB\nlisten: 127.0.0.1:1\n":                    {"file.yaml:1:5: db has changed, which needs a restart"},
		"db: gate.db\n":                                        {"file.yaml: listen has changed, which needs a restart"},
	} {
		var got []string
		for _, each := range started.NeedsRestart(parsed(text)) {
			got = append(got, each.Error())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s(-want +got):\n%s", text, diff)
		}
	}
	if got := started.NeedsRestart(parsed("db: other.db\nlisten: 127.0.0.1:2\n"), "listen", "db"); len(got) != 0 {
		t.Errorf("where flags beat the file: %v", got)
	}
	if got := Default().NeedsRestart(parsed("components: {}")); len(got) != 0 {
		t.Errorf("without a file: %v", got)
	}
}
