//go:build !linux

package storetest

import "syscall"

// ordinary returns the attributes of a child: those of its parent.
func ordinary(int, int) *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
