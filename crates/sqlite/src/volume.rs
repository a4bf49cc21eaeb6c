//! The file systems that a database may be on.
//!
//! SQLite's write-ahead log needs shared memory and locks that all processes see at once. Network file systems have neither,
//! and 9p (drives of Windows under WSL) has no locks at all. File systems behind FUSE cannot be distinguished: they are
//! taken as local.

use std::path::Path;

/// The identity of a file among others of the same name.
pub(crate) type FileId = (u64, u64);

/// The file behind a name, and how many names it has; none if there is no file, or the system does not tell.
#[cfg(unix)]
pub(crate) fn file(path: &Path) -> Option<(FileId, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(path).ok()?;
    Some(((found.dev(), found.ino()), found.nlink()))
}

#[cfg(not(unix))]
pub(crate) fn file(path: &Path) -> Option<(FileId, u64)> {
    path.metadata().ok().map(|_| ((0, 0), 1))
}

/// The file systems of other hosts, by the number that Linux gives them.
#[cfg(target_os = "linux")]
const NETWORK: [(u32, &str); 13] = [
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB"),
    (0x0102_1997, "9p"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x564C, "NCP"),
    (0x00C3_6400, "Ceph"),
    (0x0BD0_0BD0, "Lustre"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
];

/// The name of the network file system that the file is on, or will be.
#[cfg(target_os = "linux")]
pub(crate) fn network(path: &Path) -> Option<&'static str> {
    use std::os::unix::ffi::OsStrExt as _;
    let folder = path.parent().map(Path::as_os_str).filter(|folder| !folder.is_empty());
    let folder = folder.unwrap_or_else(|| ".".as_ref());
    let found = rustix::fs::statfs(path.as_os_str().as_bytes())
        .or_else(|_| rustix::fs::statfs(folder.as_bytes()))
        .ok()?;
    name_of(found.f_type as u32)
}

#[cfg(target_os = "linux")]
fn name_of(number: u32) -> Option<&'static str> {
    NETWORK.iter().find(|(each, _)| *each == number).map(|(_, name)| *name)
}

/// Elsewhere this is not known.
#[cfg(not(target_os = "linux"))]
pub(crate) fn network(_: &Path) -> Option<&'static str> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_another_host_is_told_by_its_name_and_a_local_one_is_not() {
        assert_eq!(name_of(0x6969), Some("NFS"));
        assert_eq!(name_of(0xFF53_4D42), Some("CIFS"));
        assert_eq!(name_of(0xEF53), None);
        assert_eq!(network(&std::env::temp_dir().join("not there yet")), None);
    }
}
