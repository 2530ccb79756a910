package store

import (
	"strings"
	"testing"
)

const mountTable = `21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
22 21 0:20 / /proc rw - proc proc rw
30 21 0:40 / /home/ada rw,nosuid shared:9 master:1 - nfs4 server:/home rw
31 30 0:41 / /home/ada/far rw - fuse.sshfs ada@far:/ rw
32 21 0:42 / /mnt/with\040space rw - 9p share rw
33 21 0:43 / /data rw - ext4 /dev/sdb1 rw
34 33 0:44 / /data rw - cifs //server/data rw
malformed line
`

func TestMountedAt_findsTheNearestMount(t *testing.T) {
	for directory, want := range map[string]string{
		"/": "ext4", "/srv/db": "ext4", "/home": "ext4", "/home/adam": "ext4", "/home/ada": "nfs4", "/home/ada/x": "nfs4",
		"/home/ada/far/x": "fuse.sshfs", "/mnt/with space": "9p", "/data/x": "cifs", "/datax": "ext4",
	} {
		if got := mountedAt(strings.NewReader(mountTable), directory); got != want {
			t.Errorf("%s: got %q, want %q", directory, got, want)
		}
	}
}

func TestFileSystem_knowsThatOfThisTest(t *testing.T) {
	kind, err := fileSystem(t.TempDir())
	if err != nil || kind == "" {
		t.Errorf("got %q, %v", kind, err)
	}
}
