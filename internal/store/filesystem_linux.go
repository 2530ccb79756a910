package store

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxMountTable bounds how much of the mount table is read.
const maxMountTable = 4 << 20

// fileSystem returns the type of the file system that holds a directory. The
// kernel's number tells the common network file systems; for the rest, FUSE
// above all, the mount table knows the name.
func fileSystem(directory string) (string, error) {
	var found unix.Statfs_t
	if err := unix.Statfs(directory, &found); err != nil {
		return "", fmt.Errorf("examine the file system of %s: %w", directory, err)
	}
	switch uint32(found.Type) { //nolint:gosec // G115: magic numbers have 32 bits, whatever the field has
	case unix.NFS_SUPER_MAGIC:
		return "nfs", nil
	case unix.SMB_SUPER_MAGIC:
		return "smbfs", nil
	case unix.CIFS_SUPER_MAGIC:
		return "cifs", nil
	case unix.SMB2_SUPER_MAGIC:
		return "smb2", nil
	case unix.V9FS_MAGIC:
		return "9p", nil
	case unix.AFS_SUPER_MAGIC:
		return "afs", nil
	}
	table, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", nil // Without a mount table only the numbers above are known.
	}
	defer table.Close()
	return mountedAt(io.LimitReader(table, maxMountTable), directory), nil
}

// mountedAt finds the type of the mount that holds a directory in a table of the
// form of proc(5), mountinfo: the longest mount point above it, the last one of
// those that are equal.
func mountedAt(table io.Reader, directory string) string {
	longest, kind := -1, ""
	for lines := bufio.NewScanner(table); lines.Scan(); {
		before, after, ok := strings.Cut(lines.Text(), " - ")
		fields, rest := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(rest) < 1 {
			continue
		}
		point := unescapeMount(fields[4])
		if len(point) >= longest && holds(point, directory) {
			longest, kind = len(point), rest[0]
		}
	}
	return kind
}

func holds(point, directory string) bool {
	return point == "/" || directory == point || strings.HasPrefix(directory, point+"/")
}

// unescapeMount undoes the octal escapes of a mount point.
func unescapeMount(point string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(point)
}
