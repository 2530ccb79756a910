package web

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
	"github.com/countersign-dev/countersign/internal/words"
)

// The measures of a row of bars, in its own units.
const (
	sparkHeight = 18
	sparkStep   = 6
	sparkBar    = 4
	sparkLeast  = 2 // the height of the smallest bar
)

// spark is the latest results of a component as bars: the higher, the longer the
// probe took. One that failed is a cross, and one that is undecided a dot, so that
// none is told by its colour alone.
type spark struct {
	Bars  []sparkMark
	Width int
	Alt   string // the same in words; empty when there is nothing to show
	Last  string // how long the newest one took
}

// sparkMark is one result.
type sparkMark struct {
	Outcome registry.Outcome
	X       int // of its left side
	Top     int // of a bar
	Height  int
}

// Passed reports whether it is drawn as a bar, and Failed as a cross.
func (m sparkMark) Passed() bool { return m.Outcome == registry.OutcomePassed }

// Failed reports whether it is drawn as a cross.
func (m sparkMark) Failed() bool { return m.Outcome == registry.OutcomeFailed }

// Right is the right side of the mark.
func (m sparkMark) Right() int { return m.X + sparkBar }

// Middle is the middle of the mark.
func (m sparkMark) Middle() int { return m.X + sparkBar/2 }

// sparkOf draws results, the oldest first.
func sparkOf(recent []registry.RecentResult) spark {
	if len(recent) == 0 {
		return spark{}
	}
	most := slices.MaxFunc(recent, func(a, b registry.RecentResult) int { return int(a.Latency - b.Latency) }).Latency
	made := spark{Width: len(recent)*sparkStep - (sparkStep - sparkBar)}
	counts := map[registry.Outcome]int{}
	for i, result := range recent {
		counts[result.Outcome]++
		height := sparkLeast
		if most > 0 {
			height += int(result.Latency * (sparkHeight - sparkLeast) / most)
		}
		made.Bars = append(made.Bars, sparkMark{result.Outcome, i * sparkStep, sparkHeight - height, height})
	}
	last := recent[len(recent)-1].Latency
	made.Last = words.Took(last)
	made.Alt = fmt.Sprintf("the latest %s: %s; the newest took %s, the longest %s",
		counted(len(recent), "probe"), outcomesInWords(counts), made.Last, words.Took(most))
	return made
}

// outcomesInWords counts outcomes.
func outcomesInWords(counts map[registry.Outcome]int) string {
	var said []string
	for _, outcome := range []registry.Outcome{registry.OutcomePassed, registry.OutcomeFailed, registry.OutcomeUndecided} {
		if counts[outcome] > 0 {
			said = append(said, fmt.Sprintf("%d %s", counts[outcome], outcome))
		}
	}
	return strings.Join(said, ", ")
}

// strip is the hourly sums of a component as a column for each hour, the newest last:
// the share of probes that passed from below, and of those that failed from above.
type strip struct {
	Hours []stripHour
	Width int
	Alt   string
	Anew  bool // a definition began in one of them
}

// stripHour is one hour. It is a dot where no probe passed or failed.
type stripHour struct {
	Start          moment
	X              int
	OK, No         int // heights
	Passed, Failed int
	Undecided      int
	Latency        string // the mean
	Anew           bool   // the component was defined anew
}

// The measures of a strip, and how many hours it covers.
const (
	stripHours  = 48
	stripHeight = 40
	stripStep   = 10
	stripBar    = 8
)

// OKTop is the top of the part that passed.
func (h stripHour) OKTop() int { return stripHeight - h.OK }

// Says is the hour in words.
func (h stripHour) Says() string {
	if h.Passed+h.Failed+h.Undecided == 0 {
		return "no probe"
	}
	said := outcomesInWords(map[registry.Outcome]int{
		registry.OutcomePassed: h.Passed, registry.OutcomeFailed: h.Failed, registry.OutcomeUndecided: h.Undecided,
	})
	if h.Anew {
		said += "; defined anew"
	}
	return said
}

// Told are the hours with probes, the newest first.
func (s strip) Told() []stripHour {
	var told []stripHour
	for _, hour := range slices.Backward(s.Hours) {
		if hour.Passed+hour.Failed+hour.Undecided > 0 {
			told = append(told, hour)
		}
	}
	return told
}

// strip draws hourly sums, the newest first, up to the present hour, and marks those in
// which a definition began.
func (s *site) strip(hours []registry.Hour, defined definitions) strip {
	made := strip{Width: stripHours*stripStep - (stripStep - stripBar)}
	if len(hours) == 0 {
		return made
	}
	newest := s.Now().UTC().Truncate(time.Hour)
	byStart := map[time.Time]*registry.Hour{}
	for i := range hours {
		byStart[hours[i].Start.UTC()] = &hours[i]
	}
	counts := map[registry.Outcome]int{}
	for i := range stripHours {
		start := newest.Add(-time.Duration(stripHours-1-i) * time.Hour)
		one := stripHour{}
		if hour := byStart[start]; hour != nil {
			one = hourOf(hour)
			counts[registry.OutcomePassed] += hour.Passed
			counts[registry.OutcomeFailed] += hour.Failed
			counts[registry.OutcomeUndecided] += hour.Undecided
		}
		one.Start, one.X, one.Anew = s.at(start), i*stripStep, defined.within(start)
		made.Hours = append(made.Hours, one)
	}
	made.Alt = fmt.Sprintf("the last %d hours: %s", stripHours, outcomesInWords(counts))
	if len(counts) == 0 || counts[registry.OutcomePassed]+counts[registry.OutcomeFailed]+counts[registry.OutcomeUndecided] == 0 {
		made.Alt = fmt.Sprintf("the last %d hours: no probe", stripHours)
	}
	made.Anew = slices.ContainsFunc(made.Hours, func(hour stripHour) bool { return hour.Anew })
	return made
}

// hourOf draws one hour. A part that is there is never too small to be seen.
func hourOf(hour *registry.Hour) stripHour {
	drawn := stripHour{Passed: hour.Passed, Failed: hour.Failed, Undecided: hour.Undecided}
	if decided := hour.Passed + hour.Failed; decided > 0 {
		const least, gap = 5, 2
		drawn.OK = stripHeight * hour.Passed / decided
		drawn.No = stripHeight - drawn.OK
		if hour.Failed > 0 && hour.Passed > 0 {
			drawn.No = min(max(drawn.No, least), stripHeight-least)
			drawn.OK = stripHeight - drawn.No - gap
		}
	}
	if all := hour.Passed + hour.Failed + hour.Undecided; all > 0 {
		drawn.Latency = words.Took(time.Duration(hour.LatencyMs.Sum / float64(all) * float64(time.Millisecond)))
	}
	return drawn
}
