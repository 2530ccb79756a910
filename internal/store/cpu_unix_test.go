//go:build unix

package store_test

import (
	"syscall"
	"time"
)

// cpuTime is how long the processor has worked for this process, system included.
func cpuTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
