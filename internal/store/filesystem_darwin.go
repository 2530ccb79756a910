package store

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileSystem returns the type of the file system that holds a directory.
func fileSystem(directory string) (string, error) {
	var found unix.Statfs_t
	if err := unix.Statfs(directory, &found); err != nil {
		return "", fmt.Errorf("examine the file system of %s: %w", directory, err)
	}
	return unix.ByteSliceToString(found.Fstypename[:]), nil
}
