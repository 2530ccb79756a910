//go:build unix && !linux

package e2e

import "errors"

// runIsolated says that there are no network namespaces here.
func runIsolated() error { return errors.New("this system has none") }

func raiseLoopback() error { return nil }
