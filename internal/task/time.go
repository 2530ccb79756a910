package task

import "time"

// timeFormat is RFC 3339 in UTC with milliseconds.
const timeFormat = "2006-01-02T15:04:05.000Z"

// Time is a moment as the record keeps it: milliseconds since the Unix epoch.
type Time int64

// At returns the moment t, cut to milliseconds.
func At(t time.Time) Time { return Time(t.UnixMilli()) }

// Time returns the moment as a time.Time in UTC.
func (t Time) Time() time.Time { return time.UnixMilli(int64(t)).UTC() }

// String gives RFC 3339 in UTC with milliseconds.
func (t Time) String() string { return t.Time().Format(timeFormat) }

// MarshalText gives the same form as String.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads RFC 3339.
func (t *Time) UnmarshalText(text []byte) error {
	parsed, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return err
	}
	*t = At(parsed)
	return nil
}
