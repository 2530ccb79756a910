//go:build !linux && !darwin && !windows

package store

// fileSystem is not known on this system; every directory is taken.
func fileSystem(string) (string, error) { return "", nil }
