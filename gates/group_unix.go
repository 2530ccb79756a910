//go:build unix

package gates

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

// killGroup kills the process and everything that it started.
func killGroup(leader *os.Process) error {
	err := syscall.Kill(-leader.Pid, syscall.SIGKILL)
	if errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	}
	return err
}

// sweepGroup kills what a process that has ended left behind in its group, and
// reaps it. Only where this process adopts orphans (as process 1 of a container)
// is there anything to reap; elsewhere there is no such child.
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
