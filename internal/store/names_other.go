//go:build !unix

package store

import "os"

// hasSecondName is not known on this system.
func hasSecondName(os.FileInfo) bool { return false }
