package cursor_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/countersign-dev/countersign/internal/cursor"
)

func TestPlace_isOfTheListOnlyThatMadeIt(t *testing.T) {
	t.Parallel()
	const last = cursor.Preflights
	for made := cursor.TasksNewest; made <= last; made++ {
		for _, of := range []string{"", "asm", "asm-eu"} {
			text := made.After(of, []byte("place"))
			for asked := cursor.TasksNewest; asked <= last; asked++ {
				for _, about := range []string{"", "asm", "asm-eu", "as"} {
					if asked == made && about == "" {
						continue // a list is of something always or never
					}
					place, ok := asked.Place(about, text)
					if want := asked == made && about == of; ok != want || want && string(place) != "place" {
						t.Errorf("the cursor of list %d of %q is taken by list %d of %q: %v, with the place %q", made, of, asked, about, ok, place)
					}
				}
			}
		}
	}
}

func TestPlace_takesNothingButWhatWasMade(t *testing.T) {
	t.Parallel()
	text := cursor.Runs.After("", []byte("nightly"))
	if place, ok := cursor.Runs.Place("", text); !ok || string(place) != "nightly" {
		t.Fatalf("the cursor comes back as %q, %v", place, ok)
	}
	for _, bad := range []string{
		"", "null", "undefined", "nightly", text + "\n", "\r\n" + text, text[:4] + "\n" + text[4:], text + "=", text + "==", " " + text, text + "\x00",
		base64.RawStdEncoding.EncodeToString([]byte("\x09\xff\xff\xff")), strings.Repeat("A", cursor.MaxLength+1),
		cursor.Runs.After("", make([]byte, cursor.MaxLength)), "CR", // the last bits of CR are not zero
	} {
		if place, ok := cursor.Runs.Place("", bad); ok {
			t.Errorf("the cursor %q is taken, with the place %q", bad, place)
		}
	}
}

func FuzzPlace(f *testing.F) {
	f.Add(cursor.Results.After("asm", make([]byte, 16)))
	f.Add("Cg\n")
	f.Fuzz(func(t *testing.T, text string) {
		if place, ok := cursor.Results.Place("asm", text); ok && cursor.Results.After("asm", place) != text {
			t.Errorf("the cursor %q holds the place %q, whose cursor is another", text, place)
		}
	})
}
