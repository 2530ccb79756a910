package config

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/countersign-dev/countersign/internal/fault"
)

const (
	signingKeyName  = "signing.key"
	maxSigningKey   = 4096          // bytes of its file
	pemPrivateKey   = "PRIVATE KEY" // of PKCS #8 (RFC 7468, section 10)
	rightsOfOthers  = 0o077         // to a file, of its group and of everybody
	writableByOther = 0o002         // a folder in which everybody can put another key
)

// SigningKey returns the Ed25519 key of this user with which tickets are signed:
// signing.key below the folder countersign of $XDG_CONFIG_HOME, where ~/.config
// stands for the variable when it is unset or relative. It is PEM of PKCS #8, as
// openssl genpkey -algorithm ed25519 writes it. Where there is none, it is made
// with the mode 0600 in a folder with the mode 0700; of many processes that do so
// at once, all return the same key. A symbolic link is followed, since mounted
// secrets are links: what it leads to is held to the same rules.
//
// No fault holds any of the key. Faults: Unavailable when it cannot be had or
// made, InvalidArgument when the file is no such key or others have rights to it.
func SigningKey(getenv func(string) string) (ed25519.PrivateKey, error) {
	folder, ok := userFolder(getenv)
	if !ok {
		return nil, fault.New(fault.Unavailable, "there is no place for the signing key: neither XDG_CONFIG_HOME nor HOME is an absolute path").
			WithHint("Set one of them.")
	}
	name := filepath.Join(folder, signingKeyName)
	key, err := readSigningKey(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := makeSigningKey(folder, name); err != nil {
		return nil, fault.New(fault.Unavailable, "cannot make the signing key %s: %v", name, WithoutPath(err)).
			WithHint("Check the rights to its folder, or set XDG_CONFIG_HOME to one in which this user may write.").
			WithCause(err)
	}
	key, err = readSigningKey(name)
	if errors.Is(err, fs.ErrNotExist) { // though the name is taken
		return nil, fault.New(fault.Unavailable, "the signing key %s is a link that leads nowhere", name).
			WithHint("Correct the link, or remove it: the key is made when it is needed.").
			WithCause(err)
	}
	return key, err
}

// readSigningKey reads the key. The error is fs.ErrNotExist when there is none,
// and a fault otherwise.
func readSigningKey(name string) (ed25519.PrivateKey, error) {
	content, err := readPrivate(name)
	if err != nil {
		return nil, err
	}
	refused := fault.New(fault.InvalidArgument, "%s is no Ed25519 private key in PEM of PKCS #8", name).
		WithHint("Put the right key there, or move this file away: a new key is made, and tickets signed with the old one no longer hold.")
	block, rest := pem.Decode(content)
	if block == nil || block.Type != pemPrivateKey || strings.TrimSpace(string(rest)) != "" {
		return nil, refused
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, refused
	}
	return key, nil
}

// readPrivate reads a regular file to which nobody else has rights.
func readPrivate(name string) ([]byte, error) {
	found, err := os.Stat(name) // before it is opened, since opening a pipe waits
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fs.ErrNotExist
	case err == nil && !found.Mode().IsRegular():
		return nil, fault.New(fault.InvalidArgument, "the signing key %s is not a regular file", name).WithHint("Move it away: the key is made when it is needed.")
	case err != nil:
		return nil, unreadable(name, err)
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, unreadable(name, err)
	}
	defer func() { _ = file.Close() }()
	if err := refuseShared(name, file); err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, maxSigningKey)) // a longer one is cut, and so no key
	if err != nil {
		return nil, unreadable(name, err)
	}
	return content, nil
}

// refuseShared refuses a key that another user can read, or replace. Windows has
// other rights than these bits.
func refuseShared(name string, file *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	found, err := file.Stat()
	if err != nil {
		return unreadable(name, err)
	}
	if found.Mode().Perm()&rightsOfOthers != 0 {
		return fault.New(fault.InvalidArgument, "other users have rights to the signing key %s: its mode is %04o", name, found.Mode().Perm()).
			WithHint("If nobody can have read it, take the rights away: chmod 600. Else remove it: a new key is made, and tickets signed with the old one no longer hold.")
	}
	folder, err := os.Stat(filepath.Dir(name))
	if err != nil {
		return unreadable(name, err)
	}
	if folder.Mode().Perm()&writableByOther != 0 {
		return fault.New(fault.InvalidArgument, "every user of this machine can put another signing key into %s", filepath.Dir(name)).
			WithHint("Take the right away: chmod o-w.")
	}
	return nil
}

// makeSigningKey puts a new key in place, whole and at once, unless there is one.
func makeSigningKey(folder, name string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	draft, err := os.CreateTemp(folder, "."+signingKeyName+"-*") // with the mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(draft.Name()) }()
	_, err = draft.Write(pem.EncodeToMemory(&pem.Block{Type: pemPrivateKey, Bytes: encoded}))
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return err
	}
	if err := os.Link(draft.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}
