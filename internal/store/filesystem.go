package store

import (
	"slices"
	"strings"
)

// networkFileSystems are types of file systems that other machines write to as
// well, or that keep locks or mapped memory for themselves: SQLite's log and the
// queue of writers rely on both.
func networkFileSystems() []string {
	return []string{
		"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "coda", "ncpfs", "afpfs",
		"webdav", "vboxsf", "prl_fs", "glusterfs", "beegfs", "gpfs", "pvfs2", "orangefs", "remote",
	}
}

// networkFUSE are programs behind FUSE that do the same.
func networkFUSE() []string {
	return []string{
		"sshfs", "s3fs", "s3ql", "goofys", "mountpoint-s3", "rclone", "gcsfuse", "blobfuse", "glusterfs", "ceph-fuse",
		"ceph", "davfs", "curlftpfs", "smbnetfs", "juicefs", "seaweedfs", "weed", "mfs", "moosefs", "lizardfs", "vmhgfs-fuse",
		"grpcfuse", "osxfs", "gvfsd-fuse", "hdfs", "gdrive", "google-drive-ocamlfuse", "onedriver", "dropbox", "acd_cli",
	}
}

// unsafeFileSystem reports whether SQLite is refused on a file system of this
// type, in the words of the system's mount table. An unknown type is taken.
func unsafeFileSystem(kind string) bool {
	kind = strings.ToLower(kind)
	if program, ok := strings.CutPrefix(kind, "fuse."); ok {
		return slices.Contains(networkFUSE(), program)
	}
	return slices.Contains(networkFileSystems(), kind)
}
