package registry

import "time"

const (
	// MaxTimeout is the longest time-out that a component may be given.
	MaxTimeout = 10 * time.Minute
	// QuickTimeout is the default time-out of a gate of a server that runs already.
	QuickTimeout = 10 * time.Second
	// SlowTimeout is that of what may take longer: a process that has to be started
	// first, a harness, a model.
	SlowTimeout = 30 * time.Second
	// MaxProbeWait is how long whoever asks for a probe or a preflight is served, by
	// pages and programs alike, the wait for its turn included. It is above
	// MaxTimeout, so that a gate ends by its own time-out, which its result tells.
	// What takes longer in all is answered with Unavailable.
	MaxProbeWait = 12 * time.Minute
)

// PartTime is what one part of a probe found, and when: a gate, or what a component
// of another kind has instead.
type PartTime struct {
	Part  string // one of Parts
	OK    bool
	Cause Cause     // empty when it holds
	Began time.Time // zero where it is not known
	Took  time.Duration
}

// partTime is what a part found, under its name.
func partTime(name string, got *GateResult) PartTime {
	return PartTime{Part: name, OK: got.OK, Cause: got.Cause, Began: got.Began, Took: got.Took()}
}

// Opened counts what a probe opened with a server, sessions and processes, and
// what of it was ended. When the two differ, something was left behind.
type Opened struct{ Opened, Ended int }

// invoke is the name of the one part of a model's probe.
const invoke = "invoke"

// Parts returns the names of the parts of every kind, in the order in which they
// are documented.
func Parts() []string {
	var names []string
	for _, gate := range Gates() {
		names = append(names, string(gate))
	}
	names = append(names, retrieve, invoke)
	for _, part := range HarnessParts() {
		names = append(names, string(part))
	}
	return names
}

// timed are parts as their times.
func timed(parts []part) []PartTime {
	var times []PartTime
	for i := range parts {
		times = append(times, partTime(parts[i].name, &parts[i].got))
	}
	return times
}

// Took is the latency as a duration.
func (g GateResult) Took() time.Duration {
	return time.Duration(g.LatencyMs * float64(time.Millisecond))
}
