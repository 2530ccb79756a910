//go:build !unix

package store_test

import "time"

// cpuTime is not told on this system.
func cpuTime() time.Duration { return 0 }
