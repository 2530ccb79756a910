package registry_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"

	"github.com/countersign-dev/countersign/internal/registry"
)

// issued is when the tickets of these tests are issued.
func issued() time.Time { return time.Date(2026, 11, 30, 12, 0, 0, 250e6, time.UTC) }

// key is a key made of a seed.
func key(seed byte) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{seed}, ed25519.SeedSize))
}

func public(key ed25519.PrivateKey) ed25519.PublicKey { return ed25519.PublicKey(key[32:]) }

// server is a component of the kind mcp_server.
func server(name string) *registry.Component {
	return &registry.Component{Name: name, Spec: &registry.MCPServer{URL: "http://127.0.0.1:8080"}}
}

// probed is a pass that brought everything home that a ticket can pin.
func probed(id string) registry.Probed {
	return registry.Probed{ResultID: id, Summary: registry.Summary{
		ProbedAt: issued(), Outcome: registry.OutcomePassed, Causes: []registry.Cause{},
		Tools: []string{"nmap_scan"}, ServerVersion: "1.2.3",
		ToolsDigest: "sha256:aa", ImageDigest: "sha256:bb", ContentVersion: "2026.1",
	}}
}

// allowed is the preflight of a run of which one slot is on a fallback, one is
// optional and empty, and one is on its primary.
func allowed() registry.Preflight {
	run := &registry.Run{Name: "nightly", Slots: []registry.RunSlot{{"recon", true}, {"spare", false}, {"author", true}}}
	bad := probed("r1")
	bad.Summary.Outcome, bad.Summary.Causes = registry.OutcomeFailed, []registry.Cause{registry.Refused}
	recon := &registry.Slot{Name: "recon", Primary: "asm", Fallbacks: []string{"asm-eu"}}
	spare := &registry.Slot{Name: "spare", Primary: "asm"}
	author := &registry.Slot{Name: "author", Primary: "writer"}
	return registry.NewPreflight(run, []registry.SlotResult{
		recon.Fill(true, []registry.Attempt{recon.Judge(server("asm"), bad), recon.Judge(server("asm-eu"), probed("r2"))}),
		spare.Fill(false, []registry.Attempt{spare.Judge(server("asm"), bad)}),
		author.Fill(true, []registry.Attempt{author.Judge(server("writer"), probed("r3"))}),
	})
}

func ticket(t *testing.T) *registry.Ticket {
	t.Helper()
	preflight := allowed()
	made, err := registry.NewTicket(&preflight, server, issued(), key(1))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func ticketFile(t *testing.T) []byte {
	t.Helper()
	written, err := json.MarshalIndent(ticket(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return written
}

func TestNewTicket_hasTheShapeOfTheContract(t *testing.T) {
	t.Parallel()
	golden(t, "ticket", ticket(t))
}

func TestTicket_isSignedByItsKeyOnly(t *testing.T) {
	t.Parallel()
	read, err := registry.ParseTicket(ticketFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ticket(t), read); diff != "" {
		t.Errorf("read (-written +read):\n%s", diff)
	}
	if !read.Signed(public(key(1))) {
		t.Error("the ticket is not signed by the key that signed it")
	}
	for name, other := range map[string]ed25519.PublicKey{"another": public(key(2)), "no": nil, "half a": public(key(1))[:16]} {
		if read.Signed(other) {
			t.Errorf("the ticket is signed by %s key", name)
		}
	}
	read.KeyID = registry.KeyID(public(key(2)))
	if read.Signed(public(key(1))) || read.Signed(public(key(2))) {
		t.Error("a ticket that names another key is signed")
	}
}

func TestNewTicket_refusesWhatItCannotVouchFor(t *testing.T) {
	t.Parallel()
	refused := allowed()
	refused.Allowed = false
	stored, unread := allowed(), registry.Preflight{}
	stored.Slots[0].Attempts = nil
	raw, err := json.Marshal(allowed())
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &unread); err != nil {
		t.Fatal(err)
	}
	sound := allowed()
	for name, row := range map[string]struct {
		preflight  *registry.Preflight
		components func(string) *registry.Component
		key        ed25519.PrivateKey
	}{
		"a refused preflight":  {&refused, server, key(1)},
		"no attempt":           {&stored, server, key(1)},
		"an unknown component": {&sound, func(string) *registry.Component { return nil }, key(1)},
		"no key":               {&sound, server, nil},
		"half a key":           {&sound, server, key(1)[:32]},
		"a stored preflight":   {&unread, server, key(1)},
	} {
		if got, err := registry.NewTicket(row.preflight, row.components, issued(), row.key); err == nil {
			t.Errorf("%s: got %+v, want an error", name, got)
		}
	}
}

// TestTicket_showsEveryChangeOfAByte flips each byte of a ticket's file in eight
// ways: what can still be read and is signed says the same as before.
func TestTicket_showsEveryChangeOfAByte(t *testing.T) {
	t.Parallel()
	sound := ticketFile(t)
	want := canonical(t, sound)
	alike := 0
	for at := range sound {
		for _, mask := range []byte{1, 2, 4, 8, 16, 32, 64, 128} {
			forged := bytes.Clone(sound)
			forged[at] ^= mask
			read, err := registry.ParseTicket(forged)
			switch {
			case err != nil && !errors.Is(err, registry.ErrNotTicket):
				t.Fatalf("byte %d: %v is not ErrNotTicket", at, err)
			case err != nil || !read.Signed(public(key(1))):
			case canonical(t, forged) != want:
				t.Fatalf("byte %d: the forged ticket is signed: %s", at, forged)
			default:
				alike++ // white space for white space
			}
		}
	}
	if whitespace := bytes.Count(sound, []byte(" ")) + bytes.Count(sound, []byte("\n")); alike > 8*whitespace {
		t.Errorf("%d changes went unnoticed in a ticket with %d blanks", alike, whitespace)
	}
}

func canonical(t *testing.T, document []byte) string {
	t.Helper()
	form, err := jcs.Transform(document)
	if err != nil {
		t.Fatalf("%s has no canonical form: %v", document, err)
	}
	return string(form)
}

func TestParseTicket_isStrict(t *testing.T) {
	t.Parallel()
	sound := string(ticketFile(t))
	for name, swap := range map[string][2]string{
		"a doubled member":         {`"run": "nightly",`, `"run": "nightly", "run": "nightly",`},
		"a doubled member inside":  {`"slot": "recon",`, `"slot": "recon", "slot": "recon",`},
		"an unknown member":        {`"run": "nightly",`, `"run": "nightly", "note": "",`},
		"an unknown member inside": {`"slot": "recon",`, `"slot": "recon", "note": 1,`},
		"a missing member":         {`"run": "nightly",`, ``},
		"a missing member inside":  {`"slot": "recon",`, ``},
		"a member in capitals":     {`"run"`, `"Run"`},
		"another version":          {`"version": 1`, `"version": 2`},
		"a version as a text":      {`"version": 1`, `"version": "1"`},
		"a version with a point":   {`"version": 1`, `"version": 1.0`},
		"null":                     {`"nightly"`, `null`},
		"an empty text":            {`"nightly"`, `""`},
		"an empty pin":             {`"sha256:aa"`, `""`},
		"a pin that is null":       {`"sha256:aa"`, `null`},
		"a number for a text":      {`"nightly"`, `1`},
		"a text for a truth":       {`"fallback": true`, `"fallback": "true"`},
		"an unknown kind":          {`"mcp_server"`, `"toaster"`},
		"no list":                  {`"slots": [`, `"slots": null, "x": [`},
		"a slot that is none":      {`"slots": [`, `"slots": [1,`},
		"another form of the time": {`12:00:00.250Z`, `12:00:00.25Z`},
		"another zone of the time": {`12:00:00.250Z`, `12:00:00.250+00:00`},
		"a signature with a break": {`==`, `=\n=`},
		"a short signature":        {`"signature": "`, `"signature": "AAAA`},
		"something in front":       {`{`, `x{`},
		"something behind":         {"==\"\n}", "==\"\n} {}"},
		"no UTF-8":                 {`nightly`, "night\xffly"},
	} {
		forged := strings.Replace(sound, swap[0], swap[1], 1)
		if forged == sound {
			t.Fatalf("%s: %q is not in %s", name, swap[0], sound)
		}
		if got, err := registry.ParseTicket([]byte(forged)); !errors.Is(err, registry.ErrNotTicket) || got != nil {
			t.Errorf("%s: got %+v, %v, want ErrNotTicket", name, got, err)
		}
	}
	padded := append(ticketFile(t), bytes.Repeat([]byte(" "), registry.MaxTicketBytes)...)
	if _, err := registry.ParseTicket(padded); !errors.Is(err, registry.ErrNotTicket) {
		t.Errorf("a ticket that is too large: got %v, want ErrNotTicket", err)
	}
}

// FuzzParseTicket shows that what is read as a ticket writes and reads as the same
// one, and that nothing but the ticket itself bears the signature.
func FuzzParseTicket(f *testing.F) {
	preflight := allowed()
	made, err := registry.NewTicket(&preflight, server, issued(), key(1))
	if err != nil {
		f.Fatal(err)
	}
	sound, err := json.Marshal(made)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	f.Add(bytes.Replace(sound, []byte("nightly"), []byte(`\u006eightly`), 1))
	f.Fuzz(func(t *testing.T, document []byte) {
		read, err := registry.ParseTicket(document)
		if err != nil {
			if !errors.Is(err, registry.ErrNotTicket) {
				t.Fatalf("%v is not ErrNotTicket", err)
			}
			return
		}
		if signed, same := read.Signed(public(key(1))), cmp.Equal(made, read); signed != same {
			t.Fatalf("signed %v, the ticket itself %v: %s", signed, same, document)
		}
		again, err := json.Marshal(read)
		if err != nil {
			t.Fatal(err)
		}
		second, err := registry.ParseTicket(again)
		if err != nil || !cmp.Equal(read, second) {
			t.Fatalf("read again: %v\n%s", err, cmp.Diff(read, second))
		}
	})
}
