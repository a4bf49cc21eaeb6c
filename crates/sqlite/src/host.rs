//! Clocks and files of the machine.
//!
//! Times of jobs and ticks are by the wall clock, which all processes of a host share. Leases are by the other: it cannot be
//! set, runs on while the machine sleeps, and its identity changes when the machine starts again, so that all leases
//! from before have run out (R8).
//!
//! SQLite's write-ahead log needs shared memory and locks that all processes see at once. Network file systems have neither,
//! and 9p (drives of Windows under WSL) has no locks at all. File systems behind FUSE cannot be distinguished: they are
//! taken as local.

use std::fmt;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use scheduler_store::StoreTime;

/// Where a store reads the time; tests have one that they move.
pub trait SqliteClock: Send + Sync + fmt::Debug + 'static {
    /// The wall clock.
    fn now(&self) -> StoreTime;

    /// The time since the start of the machine, sleep included. The processes of the machine agree about it.
    fn since_boot(&self) -> Duration;

    /// An identity that differs after each start of the machine.
    fn boot_id(&self) -> String;
}

/// The clocks of the system.
///
/// Elsewhere than on Linux, leases are by the wall clock: a clock that is set forward by more than a lease ends sessions,
/// and one that is set back lets dead ones live longer.
#[derive(Debug)]
pub(crate) struct HostClock;

impl SqliteClock for HostClock {
    fn now(&self) -> StoreTime {
        wall()
    }

    #[cfg(target_os = "linux")]
    fn since_boot(&self) -> Duration {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
        Duration::new(seconds.unwrap_or(0), nanos.unwrap_or(0))
    }

    #[cfg(not(target_os = "linux"))]
    fn since_boot(&self) -> Duration {
        wall().since(StoreTime::from_micros(0))
    }

    /// Without `/proc`, the clock alone shows a restart: it starts from zero.
    #[cfg(target_os = "linux")]
    fn boot_id(&self) -> String {
        let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        text.trim().to_owned()
    }

    #[cfg(not(target_os = "linux"))]
    fn boot_id(&self) -> String {
        "wall clock".to_owned()
    }
}

#[expect(clippy::disallowed_methods, reason = "the clock of a store, which is not the engine's")]
fn wall() -> StoreTime {
    let micros = match SystemTime::now().duration_since(SystemTime::UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_micros()).unwrap_or(i64::MAX),
        Err(before) => {
            i64::try_from(before.duration().as_micros()).map_or(i64::MIN, |micros| -micros)
        }
    };
    StoreTime::from_micros(micros)
}

/// The instant until which a call may wait for other connections. It is no time of the contract.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    #[expect(clippy::disallowed_methods, reason = "how long other connections are waited for")]
    pub(crate) fn after(limit: Duration) -> Self {
        Self(Instant::now().checked_add(limit))
    }

    #[expect(clippy::disallowed_methods, reason = "how long other connections are waited for")]
    pub(crate) fn left(self) -> Duration {
        self.0.map_or(Duration::MAX, |end| end.saturating_duration_since(Instant::now()))
    }
}

/// The waits between two tries for the lock of another process: short at first, and never the same in two threads.
#[derive(Debug)]
pub(crate) struct Backoff {
    wait: Duration,
    draw: u64,
}

impl Backoff {
    const FIRST: Duration = Duration::from_micros(100);
    const LONGEST: Duration = Duration::from_millis(4);

    pub(crate) fn new() -> Self {
        let draw = u64::from(std::process::id()) ^ u64::try_from(wall().as_micros()).unwrap_or(0);
        Self { wait: Self::FIRST, draw: draw | 1 }
    }

    /// Waits. Returns false at the deadline.
    pub(crate) fn wait(&mut self, deadline: Deadline) -> bool {
        let left = deadline.left();
        self.draw =
            self.draw.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let wait =
            self.wait.mul_f64(0.5 + f64::from((self.draw >> 33) as u32) / f64::from(u32::MAX));
        sleep(wait.min(left));
        self.wait = (self.wait * 2).min(Self::LONGEST);
        !left.is_zero()
    }
}

#[expect(clippy::disallowed_methods, reason = "other processes give no notice of their locks")]
pub(crate) fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// The identity of a file among others of the same name.
pub(crate) type FileId = (u64, u64);

/// The file behind a name, and how many names it has; none if there is no file, or the system does not tell.
#[cfg(unix)]
pub(crate) fn file_of(path: &Path) -> Option<(FileId, u64)> {
    use std::os::unix::fs::MetadataExt as _;
    let found = std::fs::metadata(path).ok()?;
    Some(((found.dev(), found.ino()), found.nlink()))
}

#[cfg(not(unix))]
pub(crate) fn file_of(path: &Path) -> Option<(FileId, u64)> {
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
pub(crate) fn network_of(path: &Path) -> Option<&'static str> {
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
pub(crate) fn network_of(_: &Path) -> Option<&'static str> {
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
        assert_eq!(network_of(&std::env::temp_dir().join("not there yet")), None);
    }
}
