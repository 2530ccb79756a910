//go:build unix

package config

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
)

func TestSigningKey_refusesOneToWhichOthersHaveRights(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o602, 0o620, 0o601, 0o777} {
		getenv, _ := userWith(t, pemOf(t, key), mode)
		if got, err := SigningKey(getenv); got != nil || !errors.Is(err, fault.InvalidArgument) || !strings.Contains(err.Error(), "other users have rights") {
			t.Errorf("mode %04o: got %v", mode, err)
		}
	}
	getenv, name := userWith(t, pemOf(t, key), 0o600)
	if err := os.Chmod(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if got, err := SigningKey(getenv); got != nil || !errors.Is(err, fault.InvalidArgument) || !strings.Contains(err.Error(), "put another signing key") {
		t.Errorf("in a folder of all: got %v", err)
	}
}

func TestSigningKey_followsALinkToAKey(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, elsewhere := userWith(t, pemOf(t, key), 0o600)
	getenv, name := userWith(t, []byte("x"), 0o600)
	link := func(to string) {
		t.Helper()
		if err := errors.Join(os.Remove(name), os.Symlink(to, name)); err != nil {
			t.Fatal(err)
		}
	}
	link(elsewhere)
	if got, err := SigningKey(getenv); err != nil || !got.Equal(key) {
		t.Errorf("a link to a key: %v", err)
	}
	if err := os.Chmod(elsewhere, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := SigningKey(getenv); !errors.Is(err, fault.InvalidArgument) {
		t.Errorf("a link to a key that others can read: %v", err)
	}
	link(elsewhere + ".absent")
	if _, err := SigningKey(getenv); !errors.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "a link that leads nowhere") {
		t.Errorf("a link that leads nowhere: %v", err)
	}
	if _, err := os.Stat(elsewhere + ".absent"); err == nil {
		t.Error("a key was made where the link leads")
	}
}
