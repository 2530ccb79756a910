package task

import (
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/countersign-dev/countersign/internal/cursor"
)

// uuidLength is the length of a UUID in its usual form; uuid.Parse alone would
// also take braces, a urn prefix and 32 bare digits.
const uuidLength = 36

// ParseID returns the id in its normal form, lower case, and whether the text
// is a UUID at all. A text that is none stands for itself: it names no task.
func ParseID(text string) (ID, bool) {
	if len(text) != uuidLength {
		return ID(text), false
	}
	parsed, err := uuid.Parse(text)
	if err != nil {
		return ID(text), false
	}
	return ID(parsed.String()), true
}

// NewID makes the id of a task created at the moment now, and its creation
// time. Both hold the same millisecond; twelve more bits hold the fraction
// below it (RFC 9562, section 6.2, method 3), so that the ids of one process
// keep the order of its clock within a millisecond too.
func NewID(now time.Time) (ID, Time, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return "", 0, fmt.Errorf("make a task id: %w", err)
	}
	at := At(now)
	for i := range 6 {
		id[i] = byte(int64(at) >> (40 - 8*i) & 0xff)
	}
	fraction := now.Nanosecond() % int(time.Millisecond) * 4096 / int(time.Millisecond)
	id[6] = 0x70 | byte(fraction>>8)
	id[7] = byte(fraction & 0xff)
	return ID(id.String()), at, nil
}

// ParseAgentID returns the normal form of an agent id: white space around it
// cut, A to Z lower-cased. Letters outside ASCII are never folded into it.
// Fault: InvalidAgentID, naming the argument field.
func ParseAgentID(field, text string) (AgentID, error) {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" || len(trimmed) > MaxAgentID {
		return "", InvalidAgentID(field, text)
	}
	normal := []byte(trimmed)
	for i, c := range normal {
		switch {
		case 'A' <= c && c <= 'Z':
			normal[i] = c - 'A' + 'a'
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return "", InvalidAgentID(field, text)
		}
	}
	return AgentID(normal), nil
}

// encodeCursor makes the cursor of the page after the task last, newest first.
func encodeCursor(last ID) (string, error) {
	place, err := cursor.AppendID(nil, string(last))
	if err != nil {
		return "", err
	}
	return cursor.TasksNewest.After("", place), nil
}

// decodeCursor returns the id that a cursor made by encodeCursor holds, and
// whether it is one.
func decodeCursor(text string) (ID, bool) {
	place, ok := cursor.TasksNewest.Place("", text)
	if !ok {
		return "", false
	}
	id, ok := cursor.ID(place)
	return ID(id), ok
}
