package config

import (
	"cmp"
	"math"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/countersign-dev/countersign/internal/registry"
)

// Bounds of how much history is kept, and of how many probes are under way.
const (
	minRaw         = time.Hour
	maxRaw         = 366 * 24 * time.Hour
	minHourly      = 24 * time.Hour
	maxHourly      = 10 * maxRaw
	minHistory     = 10_000_000 // bytes
	maxHistory     = 1 << 40
	maxConcurrency = 1024
)

func (c *checker) retention(written retention, otherwise registry.Retention) registry.Retention {
	const p = path("retention")
	return registry.Retention{
		Raw:      cmp.Or(c.duration(p.child("raw"), written.Raw, minRaw, maxRaw), otherwise.Raw),
		Hourly:   cmp.Or(c.duration(p.child("hourly"), written.Hourly, minHourly, maxHourly), otherwise.Hourly),
		MaxBytes: cmp.Or(c.history(p.child("max_bytes"), written.MaxBytes), otherwise.MaxBytes),
	}
}

func (c *checker) patrol(written patrol, otherwise Patrol) Patrol {
	const p = path("patrol")
	return Patrol{
		Concurrency: cmp.Or(c.number(p.child("concurrency"), written.Concurrency, maxConcurrency), otherwise.Concurrency),
		PerHost:     cmp.Or(c.number(p.child("per_host"), written.PerHost, maxConcurrency), otherwise.PerHost),
	}
}

// sizeForm is a whole number and its unit.
var sizeForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([0-9]+) ?([kMGT]B|[KMGT]iB)$`) })

// history is the size of what is kept; 0 when the key is not there.
func (c *checker) history(p path, text size) int64 {
	if !c.has(p) || c.broken[p] {
		return 0
	}
	number, ok := bytesOf(string(text))
	switch {
	case !ok:
		c.complain(p, "this is not a size with its unit", "Write one such as 500MB or 1GiB.")
	case number < minHistory || number > maxHistory:
		c.complain(p, "this is not between 10MB and 1TiB", "Write a size in between.")
	}
	return number
}

// bytesOf reads a size; one that is too large to count is math.MaxInt64.
func bytesOf(text string) (int64, bool) {
	found := sizeForm().FindStringSubmatch(text)
	if found == nil {
		return 0, false
	}
	unit := map[string]int64{
		"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
		"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
	}[found[2]]
	number, err := strconv.ParseInt(found[1], 10, 64)
	if err != nil || number > math.MaxInt64/unit {
		return math.MaxInt64, true
	}
	return number * unit, true
}
