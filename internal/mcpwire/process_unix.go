//go:build unix

package mcpwire

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// reapLimit is how long killed processes may take to be gone, reapEvery how
// often they are looked for.
const (
	reapLimit = 250 * time.Millisecond
	reapEvery = 5 * time.Millisecond
)

// ownGroup makes the command the leader of a process group of its own.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// terminateGroup asks the process and everything that it started to end.
func terminateGroup(leader *os.Process) { _ = syscall.Kill(-leader.Pid, syscall.SIGTERM) }

// killGroup kills the process and everything that it started.
func killGroup(leader *os.Process) error { return syscall.Kill(-leader.Pid, syscall.SIGKILL) }

// sweepGroup kills what a process that has ended left behind in its group, and
// reaps it where this process adopts orphans (as process 1 of a container).
func sweepGroup(leader *os.Process) {
	if killGroup(leader) != nil {
		return
	}
	for end := time.Now().Add(reapLimit); time.Now().Before(end); {
		pid, err := syscall.Wait4(-leader.Pid, nil, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR), pid > 0:
		case err != nil:
			return
		default:
			<-time.After(reapEvery)
		}
	}
}

// signalOf names the signal that ended the process.
func signalOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return status.Signal().String()
	}
	return ""
}
