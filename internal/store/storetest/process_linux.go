package storetest

import "syscall"

// ordinary returns the attributes of a child that runs as this user (0: as its
// parent) and is told to stop when its parent dies.
func ordinary(uid, gid int) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	if uid != 0 {
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)} //nolint:gosec // G115: ids from the user database
	}
	return attributes
}
