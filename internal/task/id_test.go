package task

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/fault"
)

const someID = "0193a1b2-c3d4-7e5f-8a6b-0123456789ab"

func TestParseID_takesUUIDsInTheirUsualFormOnly(t *testing.T) {
	for text, want := range map[string]ID{
		someID:                                someID,
		strings.ToUpper(someID):               someID,
		"":                                    "",
		"17":                                  "",
		"{" + someID + "}":                    "",
		"urn:uuid:" + someID:                  "",
		strings.ReplaceAll(someID, "-", ""):   "",
		someID + " ":                          "",
		" " + someID:                          "",
		strings.Replace(someID, "a", "g", 1):  "",
		strings.Replace(someID, "-", "_", 1):  "",
		strings.Replace(someID, "a1", "à", 1): "",
	} {
		got, ok := ParseID(text)
		if ok != (want != "") || ok && got != want {
			t.Errorf("ParseID(%q) = %q, %v, want %q", text, got, ok, want)
		}
		if !ok && string(got) != text {
			t.Errorf("ParseID(%q) = %q: a text that is no UUID must stand for itself", text, got)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add(someID)
	f.Add(strings.ToUpper(someID))
	f.Add("urn:uuid:" + someID)
	form := regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := ParseID(text)
		if ok != form.MatchString(text) {
			t.Errorf("ParseID(%q) says %v", text, ok)
		}
		if ok && string(id) != strings.ToLower(text) {
			t.Errorf("ParseID(%q) = %q", text, id)
		}
	})
}

func TestNewID_holdsTheMillisecondOfCreation(t *testing.T) {
	for _, now := range []time.Time{
		time.UnixMilli(0),
		time.Date(2026, 11, 30, 12, 0, 0, 999_999_999, time.UTC),
		time.Date(2026, 11, 30, 12, 0, 0, 0, time.FixedZone("", 3600)),
		time.UnixMilli(1<<48 - 1),
	} {
		id, at, err := NewID(now)
		if err != nil {
			t.Fatal(err)
		}
		parsed := uuid.MustParse(string(id))
		if parsed.Version() != 7 || parsed.Variant() != uuid.RFC4122 {
			t.Errorf("%s has version %d, variant %s", id, parsed.Version(), parsed.Variant())
		}
		millisecond := int64(0)
		for _, b := range parsed[:6] {
			millisecond = millisecond<<8 | int64(b)
		}
		if millisecond != now.UnixMilli() || int64(at) != now.UnixMilli() {
			t.Errorf("id %d, created_at %d, want %d", millisecond, at, now.UnixMilli())
		}
	}
}

func TestNewID_keepsTheOrderOfTheClock(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	last, _, _ := NewID(now)
	for range 10_000 {
		now = now.Add(250 * time.Nanosecond)
		next, _, _ := NewID(now)
		if next <= last {
			t.Fatalf("id %s of %v is not above %s", next, now, last)
		}
		last = next
	}
}

func TestParseAgentID_normalisesAndRefuses(t *testing.T) {
	for text, want := range map[string]AgentID{
		"dev":                    "dev",
		" \t\u00a0Dev-1.a_b\r\n": "dev-1.a_b",
		"0":                      "0",
		strings.Repeat("a", 64):  AgentID(strings.Repeat("a", 64)),
		strings.Repeat("a", 65):  "",
		"":                       "",
		" ":                      "",
		"-dev":                   "",
		".dev":                   "",
		"_dev":                   "",
		"a b":                    "",
		"dev/1":                  "",
		"dév":                    "",
		"\u212aate":              "", // KELVIN SIGN lower-cases to k in Unicode
		"de\u0131":               "",
		"\ufeffdev":              "",
		"dev\x00":                "",
		"dev\xff":                "",
		"d\u200bev":              "",
		"dev\nrev":               "",
	} {
		got, err := ParseAgentID("agent_id", text)
		if want == "" {
			if !errors.Is(err, fault.InvalidAgentID) {
				t.Errorf("ParseAgentID(%q) = %q, %v, want it refused", text, got, err)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("ParseAgentID(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzParseAgentID(f *testing.F) {
	f.Add("dev")
	f.Add(" Dev-1.a_b ")
	f.Add("\u212aate")
	form := regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseAgentID("agent_id", text)
		if err != nil {
			if form.MatchString(text) {
				t.Errorf("%q is refused: %v", text, err)
			}
			return
		}
		if !form.MatchString(string(id)) {
			t.Errorf("ParseAgentID(%q) = %q", text, id)
		}
		if again, err := ParseAgentID("agent_id", string(id)); err != nil || again != id {
			t.Errorf("the normal form %q is not stable: %q, %v", id, again, err)
		}
	})
}

func TestDecodeCursor_takesWhatEncodeCursorMadeOnly(t *testing.T) {
	cursor, err := encodeCursor(someID)
	if err != nil {
		t.Fatal(err)
	}
	if id, ok := decodeCursor(cursor); !ok || id != someID {
		t.Errorf("the cursor comes back as %q, %v", id, ok)
	}
	for _, bad := range []string{
		"", "x", cursor[1:], cursor + "A", cursor + "=", "B" + cursor[1:], "-" + cursor[1:], cursor[:22] + "!",
		cursor[:22] + "\n", someID, strings.Repeat("A", 1<<20),
	} {
		if id, ok := decodeCursor(bad); ok {
			t.Errorf("the cursor %.40q is taken as %q", bad, id)
		}
	}
	if _, err := encodeCursor("no id"); err == nil {
		t.Error("a cursor is made of no id")
	}
}

func FuzzDecodeCursor(f *testing.F) {
	cursor, err := encodeCursor(someID)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(cursor)
	f.Add(cursor[1:] + "A")
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := decodeCursor(text)
		if !ok {
			return
		}
		if again, err := encodeCursor(id); err != nil || again != text {
			t.Errorf("cursor %q holds %q, whose cursor is %q (%v)", text, id, again, err)
		}
	})
}

func TestTime_isMillisecondsInUTC(t *testing.T) {
	at := At(time.Date(2026, 11, 30, 13, 0, 0, 1_999_999, time.FixedZone("", 3600)))
	if at.String() != "2026-11-30T12:00:00.001Z" {
		t.Errorf("got %s", at)
	}
	var back Time
	if err := back.UnmarshalText([]byte(at.String())); err != nil || back != at {
		t.Errorf("read back as %s, %v", back, err)
	}
	if back.UnmarshalText([]byte("yesterday")) == nil {
		t.Error("yesterday is taken for a time")
	}
}
