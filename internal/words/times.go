package words

import (
	"fmt"
	"time"
)

// day is a day for those who read how long something took, whatever the clocks do.
const day = 24 * time.Hour

// unit is one in which times are said: its length, and how a column of a terminal, a
// page and a sentence call it.
type unit struct {
	length               time.Duration
	column, page, spoken string
}

// units are all of them, the smallest first.
func units() []unit {
	return []unit{
		{time.Second, "s", "s", "second"}, {time.Minute, "m", "min", "minute"}, {time.Hour, "h", "h", "hour"}, {day, "d", "d", "day"},
	}
}

// largest is how often the largest unit fits into a time, and which one it is. Hours
// go up to two days. A time below 0 is 0.
func largest(d time.Duration) (number int, in unit) {
	d = max(d, 0)
	all := units()
	in = all[0]
	for _, each := range all[1:] {
		if d >= each.length && (each.length != day || d >= 2*day) {
			in = each
		}
	}
	return int(d / in.length), in
}

// Column is a time in its largest unit, for a column of a terminal: "4m", "2d".
func Column(d time.Duration) string {
	number, in := largest(d)
	return fmt.Sprintf("%d%s", number, in.column)
}

// Age is a time in its largest unit, to be read at a glance: "4 min", "2 days".
func Age(d time.Duration) string {
	number, in := largest(d)
	if in.length == day {
		return Counted(number, in.spoken)
	}
	return fmt.Sprintf("%d %s", number, in.page)
}

// Spoken is a time in its largest unit, for a sentence: "4 minutes", "2 days".
func Spoken(d time.Duration) string {
	number, in := largest(d)
	return Counted(number, in.spoken)
}

// Finely is a time in its two largest units: "4 min 3 s", "2 d 1 h"; below ten seconds
// with their tenths.
func Finely(d time.Duration) string {
	d = max(d, 0)
	all := units()
	for i := len(all) - 1; i > 0; i-- {
		whole, part := all[i], all[i-1]
		if d < whole.length {
			continue
		}
		said := fmt.Sprintf("%d %s", d/whole.length, whole.page)
		if rest := d % whole.length / part.length; rest > 0 {
			said += fmt.Sprintf(" %d %s", rest, part.page)
		}
		return said
	}
	if d < 10*time.Second {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return fmt.Sprintf("%d s", d/time.Second)
}

// Took is how long something took that is expected to be short: "3.2 ms", "120 ms",
// "1.4 s"; from a minute on as Finely.
func Took(d time.Duration) string {
	d = max(d, 0)
	switch ms := float64(d) / float64(time.Millisecond); {
	case ms < 10:
		return fmt.Sprintf("%.1f ms", ms)
	case ms < 1000:
		return fmt.Sprintf("%.0f ms", ms)
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", ms/1000)
	}
	return Finely(d)
}
