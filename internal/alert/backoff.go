package alert

import (
	"fmt"
	"hash/fnv"
	"time"
)

// When what could not be delivered is tried again.
const (
	firstPause = time.Second      // after the first attempt; each later one is twice as long
	maxPause   = 15 * time.Minute // but no longer than this
	// maxAsked bounds what a receiver may ask for with Retry-After.
	maxAsked = time.Hour
	// GiveUpAfter is how long something is tried to be delivered.
	GiveUpAfter = 24 * time.Hour
	// leastAttempts are made whatever the clock says: a machine may have slept for days.
	leastAttempts = 10
)

// clamped is when something is due that was put off on a clock that may have been set
// back since: nothing is put off for longer than maxAsked.
func clamped(at, now time.Time) time.Time {
	if at.After(now.Add(maxAsked)) {
		return now
	}
	return at
}

// pauseAfter is how long nothing is tried after so many attempts in a row that
// failed: a part of the doubled pause between a half and the whole, which the seed
// decides, so that receivers and processes do not try in step.
func pauseAfter(attempts int, asked time.Duration, seed string) time.Duration {
	pause := maxPause
	if shift := max(attempts-1, 0); shift < 10 {
		pause = min(firstPause<<shift, maxPause)
	}
	sum := fnv.New32a()
	_, _ = fmt.Fprintf(sum, "%s %d", seed, attempts)
	pause = pause/2 + time.Duration(float64(pause/2)*float64(sum.Sum32())/(1<<32))
	return max(pause, min(asked, maxAsked))
}
