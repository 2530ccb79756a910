package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// sampleEvery is how often the memory of a process is looked at. The peak that
// the kernel tells never falls, so only what comes in the last moment is missed;
// the peak in the usage of a child that has ended would hold that of this process.
const sampleEvery = time.Millisecond

// measured is a probe that has ended, how long it took, and the peak of its
// resident memory in KiB.
type measured struct {
	outcome

	took time.Duration
	peak int
}

// measure runs a probe whose gates have the time given.
func measure(t *testing.T, env []string, timeout time.Duration, asked ...string) measured {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary(), append([]string{"probe", "--json", "--timeout", timeout.String()}, asked...)...)
	var stdout, stderr bytes.Buffer
	command.Env, command.Stdout, command.Stderr = env, &stdout, &stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	began := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait() // how it ended is in its state
	}()
	status := filepath.Join("/proc", strconv.Itoa(command.Process.Pid), "status")
	ticks := time.NewTicker(sampleEvery)
	defer ticks.Stop()
	peak := 0
	for {
		text, err := os.ReadFile(status)
		if found := highWater.FindSubmatch(text); err == nil && found != nil {
			peak, _ = strconv.Atoi(string(found[1]))
		}
		select {
		case <-ended:
			return measured{outcome{command.ProcessState.ExitCode(), stdout.String(), stderr.String()}, time.Since(began), peak}
		case <-ticks.C:
		}
	}
}
