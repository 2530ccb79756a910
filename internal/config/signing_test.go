package config

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/countersign-dev/countersign/internal/fault"
)

// asksForKey makes the test binary a process that prints the public part of the
// signing key and ends.
const asksForKey = "COUNTERSIGN_TEST_ASKS_FOR_KEY"

func TestMain(m *testing.M) {
	if os.Getenv(asksForKey) == "" {
		os.Exit(m.Run())
	}
	key, err := SigningKey(os.Getenv)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stdout, publicPart(key))
}

func publicPart(key ed25519.PrivateKey) string {
	public, _ := key.Public().(ed25519.PublicKey)
	return hex.EncodeToString(public)
}

// userWith returns the environment of a user whose signing key has a content and
// a mode, and the name of its file.
func userWith(t *testing.T, content []byte, mode os.FileMode) (getenv func(string) string, name string) {
	t.Helper()
	folder := t.TempDir()
	name = filepath.Join(folder, "countersign", "signing.key")
	if content != nil {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
	}
	return environment("XDG_CONFIG_HOME", folder), name
}

func environment(name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}

// pemOf is a private key in PEM of PKCS #8.
func pemOf(t *testing.T, key any) []byte {
	t.Helper()
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

func TestSigningKey_isMadeAtFirstNeedAndKept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	getenv := environment("HOME", home)
	first, err := SigningKey(getenv)
	if err != nil {
		t.Fatal(err)
	}
	again, err := SigningKey(getenv)
	if err != nil || !first.Equal(again) {
		t.Errorf("the second time it is another key, or %v", err)
	}
	folder := filepath.Join(home, ".config", "countersign")
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 1 || left[0].Name() != "signing.key" {
		t.Errorf("the folder holds %v, %v", left, err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	for name, want := range map[string]os.FileMode{folder: 0o700 | os.ModeDir, filepath.Join(folder, "signing.key"): 0o600} {
		if found, err := os.Stat(name); err != nil || found.Mode() != want {
			t.Errorf("%s has the mode %v, %v; want %v", name, found.Mode(), err, want)
		}
	}
}

func TestSigningKey_isTheSameForAllWhoMakeItAtOnce(t *testing.T) {
	t.Parallel()
	const processes, goroutines = 12, 8
	getenv, _ := userWith(t, nil, 0)
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	got := make([]string, processes+goroutines)
	for i := range got {
		group.Go(func() {
			if i >= processes {
				key, err := SigningKey(getenv)
				if got[i] = publicPart(key); err != nil {
					t.Error(err)
				}
				return
			}
			process := exec.CommandContext(t.Context(), program)
			process.Env = append(os.Environ(), asksForKey+"=yes", "XDG_CONFIG_HOME="+getenv("XDG_CONFIG_HOME"))
			out, err := process.CombinedOutput()
			if got[i] = strings.TrimSpace(string(out)); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	group.Wait()
	for _, each := range got {
		if each != got[0] || len(each) != 2*ed25519.PublicKeySize {
			t.Fatalf("there are several keys: %s", strings.Join(got, "\n"))
		}
	}
}

func TestSigningKey_refusesWhatIsNoSuchKey(t *testing.T) {
	t.Parallel()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	sound := pemOf(t, key)
	for name, content := range map[string][]byte{
		"empty":            {},
		"bare":             key,
		"half":             sound[:len(sound)/2],
		"another kind":     pemOf(t, other),
		"another type":     bytes.ReplaceAll(sound, []byte("PRIVATE"), []byte("PUBLIC")),
		"two":              append(bytes.Clone(sound), sound...),
		"text after it":    append(bytes.Clone(sound), "more\n"...),
		"after much space": append(bytes.Repeat([]byte(" "), maxSigningKey), sound...),
	} {
		getenv, file := userWith(t, content, 0o600)
		got, err := SigningKey(getenv)
		if got != nil || !errors.Is(err, fault.InvalidArgument) || !strings.Contains(err.Error(), file+" is no Ed25519 private key") {
			t.Errorf("%s: got %v", name, err)
		}
		line := bytes.Split(sound, []byte("\n"))[1]
		if text := fmt.Sprintf("%+v", err); strings.Contains(text, string(line)) || strings.Contains(text, hex.EncodeToString(key.Seed())) {
			t.Errorf("%s: the fault repeats the key: %s", name, text)
		}
		if left, err := os.ReadFile(file); err != nil || !bytes.Equal(left, content) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
	getenv, _ := userWith(t, append([]byte("\n"), append(sound, "\n\n"...)...), 0o400)
	if got, err := SigningKey(getenv); err != nil || !got.Equal(key) {
		t.Errorf("with space around it: %v", err)
	}
}

func TestSigningKey_saysWhyItCannotBeHad(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(folder, "countersign", "signing.key")
	if err := os.MkdirAll(directory, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, each := range []struct {
		getenv func(string) string
		code   fault.Code
		want   string
	}{
		{environment("HOME", "relative"), fault.Unavailable, "there is no place for the signing key"},
		{environment("XDG_CONFIG_HOME", file), fault.Unavailable, "not a directory"},
		{environment("XDG_CONFIG_HOME", folder), fault.InvalidArgument, "is not a regular file"},
	} {
		key, err := SigningKey(each.getenv)
		coded, ok := fault.Of(err)
		if key != nil || !ok || coded.Code != each.code || !strings.Contains(coded.Message, each.want) || coded.Hint == "" {
			t.Errorf("got %v, want %s: %s", err, each.code, each.want)
		}
	}
}
