//! What signals did to the process before the scheduler took them: their dispositions, as `signal(7)` has it.

use std::fs;

/// Those of all signals, at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dispositions {
    /// A bit for each signal that is caught or ignored; the lowest is that of signal 1.
    changed: u64,
}

impl Dispositions {
    /// Asks Linux, whose `/proc/self/status` tells them without `unsafe`. Elsewhere they pass for the
    /// default ones: a program that no signal ends would be worse than one whose own handler is cut short.
    pub(super) fn read() -> Self {
        let status = fs::read("/proc/self/status").unwrap_or_default();
        // The name of the program is in it, which need not be UTF-8.
        Self::of(&String::from_utf8_lossy(&status))
    }

    fn of(status: &str) -> Self {
        let mask = |line: &str| {
            let digits = line.strip_prefix("SigCgt:").or_else(|| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(digits.trim(), 16).ok()
        };
        Self { changed: status.lines().filter_map(mask).fold(0, |all, mask| all | mask) }
    }

    /// Whether this signal, by its number, did what it does to any process.
    pub(super) fn are_default(self, signal: i32) -> bool {
        let bit = u32::try_from(signal - 1).ok().and_then(|number| 1_u64.checked_shl(number));
        bit.is_none_or(|bit| self.changed & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::SIGINT;
    use signal_hook::consts::SIGTERM;

    use super::Dispositions;

    #[test]
    fn what_linux_tells_is_understood_and_nothing_passes_for_the_default() {
        let text = "Name:\tSigCgt: ffff\nSigPnd:\tffff\nSigIgn:\t0000000000000002\nSigCgt:\t0000000180004000\n";
        let both = Dispositions::of(text);
        assert!(!both.are_default(SIGINT), "ignored");
        assert!(!both.are_default(SIGTERM), "caught");
        assert!(both.are_default(1) && both.are_default(3) && both.are_default(64));
        for text in ["", "SigCgt:", "SigCgt:\tx\nSigIgn:\t-1"] {
            assert!(Dispositions::of(text).are_default(SIGTERM), "{text:?}");
        }
        assert!(
            both.are_default(0) && both.are_default(i32::MAX) && both.are_default(i32::MIN + 1)
        );
    }
}
