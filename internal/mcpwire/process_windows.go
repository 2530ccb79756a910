package mcpwire

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// ownGroup detaches the command from the console's signals.
func ownGroup(command *exec.Cmd) {
	command.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// terminateGroup does nothing: there is no signal that a process could answer.
func terminateGroup(*os.Process) {}

// killGroup ends the process and its descendants, which taskkill finds as long
// as the process itself has not ended.
func killGroup(leader *os.Process) error {
	if exec.Command("taskkill", "/T", "/F", "/PID", strconv.Itoa(leader.Pid)).Run() == nil {
		return nil
	}
	return leader.Kill()
}

// sweepGroup does nothing: the tree of a process that has ended is not known any
// more, and its number may already be another's.
func sweepGroup(*os.Process) {}

// signalOf is empty: processes are not ended by signals.
func signalOf(*os.ProcessState) string { return "" }
