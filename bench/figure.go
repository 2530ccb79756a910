package main

import (
	"fmt"
	"math"
	"slices"
)

// series is one value for each round of an experiment.
type series []float64

// median is the middle of the series, the mean of the middle two of an even one.
func (s series) median() float64 {
	if len(s) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(s))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// over is the series of quotients, round by round.
func (s series) over(other series) series {
	quotients := make(series, min(len(s), len(other)))
	for i := range quotients {
		quotients[i] = s[i] / other[i]
	}
	return quotients
}

// text shows the median and, of more than one round, the spread.
func (s series) text(unit string) string {
	switch len(s) {
	case 0:
		return "–"
	case 1:
		return number(s[0]) + unit
	}
	return fmt.Sprintf("%s%s (%s–%s)", number(s.median()), unit, number(slices.Min(s)), number(slices.Max(s)))
}

// number shows three digits of a value, and all of a large one.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "–"
	case size >= 100 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	case size >= 10:
		return fmt.Sprintf("%.1f", v)
	case size >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}

// percentile is the value that a share p of the sorted samples does not exceed,
// by nearest rank. It is NaN for no samples.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	rank := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(rank, 0), len(sorted)-1)]
}

// jain is Jain's fairness index: 1 when all shares are equal, 1/n when one has
// everything.
func jain(shares []float64) float64 {
	var sum, squares float64
	for _, share := range shares {
		sum += share
		squares += share * share
	}
	if squares == 0 {
		return math.NaN()
	}
	return sum * sum / (float64(len(shares)) * squares)
}

// direction says on which side of its limit a value has to be.
type direction string

const (
	atLeast direction = "at least"
	atMost  direction = "at most"
)

// target is what a figure is held against.
type target struct {
	direction direction
	limit     float64
	unit      string
}

func (t target) text() string { return fmt.Sprintf("%s %s%s", t.direction, number(t.limit), t.unit) }

func (t target) met(value float64) bool {
	if t.direction == atLeast {
		return value >= t.limit
	}
	return value <= t.limit
}

// figure is one line of the results. Value is what the target is held against: a
// ratio of ours to beside, round by round, or a size by itself. A figure without
// target is shown for what it tells about the others.
type figure struct {
	name   string
	unit   string // of ours and beside
	ours   series
	beside series
	value  series
	target *target
	cause  string // why the target is known to be missed, shown when it is
}

// verdict tells whether the median of the value meets the target.
func (f figure) verdict() string {
	switch {
	case f.target == nil:
		return "–"
	case f.target.met(f.value.median()):
		return "met"
	}
	return "**missed**"
}

// section is what one experiment found.
type section struct {
	title   string
	method  string
	ours    string // what the column of ours holds
	beside  string // what the column beside it holds
	figures []figure
	listing string // output shown as it came, if any
}
