package cursor

import (
	"fmt"

	"github.com/google/uuid"
)

// momentLength is the number of bytes of a moment in a place.
const momentLength = 8

// AppendMoment appends a moment, in milliseconds since 1970, to a place: 8 bytes, the
// highest first.
func AppendMoment(place []byte, millis int64) []byte {
	for shift := 8 * (momentLength - 1); shift >= 0; shift -= 8 {
		place = append(place, byte(millis>>shift&0xff))
	}
	return place
}

// CutMoment returns the moment that a place begins with and what follows it, and
// whether it is one, which none before 1970 is.
func CutMoment(place []byte) (millis int64, rest []byte, ok bool) {
	if len(place) < momentLength {
		return 0, nil, false
	}
	for _, each := range place[:momentLength] {
		millis = millis<<8 | int64(each)
	}
	return millis, place[momentLength:], millis >= 0
}

// AppendID appends a UUID to a place: 16 bytes. It refuses what is none.
func AppendID(place []byte, id string) ([]byte, error) {
	parsed, err := uuid.Parse(id)
	if err != nil {
		return nil, fmt.Errorf("make a cursor of the id %q: %w", id, err)
	}
	return append(place, parsed[:]...), nil
}

// ID returns the UUID that a place or the rest of one is, and whether it is one.
func ID(place []byte) (id string, ok bool) {
	if len(place) != len(uuid.UUID{}) {
		return "", false
	}
	return uuid.UUID(place).String(), true
}
