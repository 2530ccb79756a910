//go:build unix

package store

import (
	"os"
	"syscall"
)

// hasSecondName reports whether a file stands in another place too.
func hasSecondName(found os.FileInfo) bool {
	stat, ok := found.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
