package words_test

import (
	"testing"
	"time"

	"github.com/countersign-dev/countersign/internal/words"
)

func TestTimes_areSaidAlikeButForTheirUnits(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for d, want := range map[time.Duration][5]string{
		-time.Second:                      {"0s", "0 s", "0 seconds", "0.0 s", "0.0 ms"},
		0:                                 {"0s", "0 s", "0 seconds", "0.0 s", "0.0 ms"},
		9949 * time.Microsecond:           {"0s", "0 s", "0 seconds", "0.0 s", "9.9 ms"},
		1500 * time.Millisecond:           {"1s", "1 s", "1 second", "1.5 s", "1.5 s"},
		59900 * time.Millisecond:          {"59s", "59 s", "59 seconds", "59 s", "59.9 s"},
		time.Minute:                       {"1m", "1 min", "1 minute", "1 min", "1 min"},
		time.Hour - time.Second:           {"59m", "59 min", "59 minutes", "59 min 59 s", "59 min 59 s"},
		time.Hour:                         {"1h", "1 h", "1 hour", "1 h", "1 h"},
		2*day - time.Second:               {"47h", "47 h", "47 hours", "1 d 23 h", "1 d 23 h"},
		2 * day:                           {"2d", "2 days", "2 days", "2 d", "2 d"},
		400*day + time.Hour + time.Second: {"400d", "400 days", "400 days", "400 d 1 h", "400 d 1 h"},
	} {
		got := [5]string{words.Column(d), words.Age(d), words.Spoken(d), words.Finely(d), words.Took(d)}
		if got != want {
			t.Errorf("%v: got %q, want %q", d, got, want)
		}
	}
}
