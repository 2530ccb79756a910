package store

import "testing"

func TestUnsafeFileSystem_refusesWhatOtherMachinesWrite(t *testing.T) {
	for kind, want := range map[string]bool{
		"ext4": false, "xfs": false, "btrfs": false, "overlay": false, "tmpfs": false, "zfs": false, "apfs": false, "local": false,
		"": false, "virtiofs": false, "fuseblk": false, "fuse.fuse-overlayfs": false, "fuse.gocryptfs": false,
		"nfs": true, "nfs4": true, "cifs": true, "SMB3": true, "9p": true, "ceph": true, "remote": true,
		"fuse.sshfs": true, "fuse.rclone": true, "fuse.glusterfs": true,
	} {
		if got := unsafeFileSystem(kind); got != want {
			t.Errorf("%q: got %v, want %v", kind, got, want)
		}
	}
}
