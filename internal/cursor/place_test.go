package cursor_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/countersign-dev/countersign/internal/cursor"
)

func TestMoment_comesBackWithWhatFollows(t *testing.T) {
	t.Parallel()
	if got, want := cursor.AppendMoment([]byte("x"), 0x0102030405060708), []byte("x\x01\x02\x03\x04\x05\x06\x07\x08"); !bytes.Equal(got, want) {
		t.Errorf("the moment is appended as %q, want %q", got, want)
	}
	for _, millis := range []int64{0, 1, 255, 256, 1_796_000_000_123, math.MaxInt64} {
		got, rest, ok := cursor.CutMoment(append(cursor.AppendMoment(nil, millis), "rest"...))
		if got != millis || string(rest) != "rest" || !ok {
			t.Errorf("%d comes back as %d, %q, %v", millis, got, rest, ok)
		}
	}
	for _, bad := range [][]byte{nil, make([]byte, 7), cursor.AppendMoment(nil, -1), cursor.AppendMoment(nil, math.MinInt64)} {
		if got, _, ok := cursor.CutMoment(bad); ok {
			t.Errorf("%q is taken for the moment %d", bad, got)
		}
	}
}

func TestID_isOfAPlaceThatIsOne(t *testing.T) {
	t.Parallel()
	const some = "01937b5c-0000-7000-8000-00000000abcd"
	place, err := cursor.AppendID([]byte("x"), some)
	if err != nil || len(place) != 17 || place[0] != 'x' {
		t.Fatalf("the id is appended as %q, %v", place, err)
	}
	if id, ok := cursor.ID(place[1:]); !ok || id != some {
		t.Errorf("the id comes back as %q, %v", id, ok)
	}
	for _, bad := range [][]byte{nil, place, place[2:]} {
		if id, ok := cursor.ID(bad); ok {
			t.Errorf("%q is taken for the id %s", bad, id)
		}
	}
	if _, err := cursor.AppendID(nil, "no id"); err == nil {
		t.Error("a place is made of no id")
	}
}
