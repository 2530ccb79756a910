package store

import (
	"fmt"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// fileSystem returns remote for a directory on a network drive or share, and
// local for any other.
func fileSystem(directory string) (string, error) {
	root, err := windows.UTF16PtrFromString(filepath.VolumeName(directory) + `\`)
	if err != nil {
		return "", fmt.Errorf("examine the drive of %s: %w", directory, err)
	}
	if windows.GetDriveType(root) == windows.DRIVE_REMOTE {
		return "remote", nil
	}
	return "local", nil
}
