//! The dispositions of signals before the scheduler handled them (`signal(7)`).

use std::fs;

/// The dispositions of all signals at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SignalStates {
    /// A bit for each signal that is caught or ignored; the lowest is for signal 1.
    changed: u64,
}

impl SignalStates {
    /// Reads `/proc/self/status`, which needs no `unsafe`. Without Linux all are taken as default: a program that no
    /// signal ends would be worse than one whose own handler is cut short.
    pub(super) fn read() -> Self {
        let status = fs::read("/proc/self/status").unwrap_or_default();
        // The program's name is in it, which need not be UTF-8.
        Self::of(&String::from_utf8_lossy(&status))
    }

    fn of(status: &str) -> Self {
        let mask = |line: &str| {
            let digits = line.strip_prefix("SigCgt:").or_else(|| line.strip_prefix("SigIgn:"))?;
            u64::from_str_radix(digits.trim(), 16).ok()
        };
        Self { changed: status.lines().filter_map(mask).fold(0, |all, mask| all | mask) }
    }

    /// Returns true if a signal, by its number, had its default effect.
    pub(super) fn is_default(self, signal: i32) -> bool {
        let bit = u32::try_from(signal - 1).ok().and_then(|number| 1_u64.checked_shl(number));
        bit.is_none_or(|bit| self.changed & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use signal_hook::consts::{SIGINT, SIGTERM};

    use super::SignalStates;

    #[test]
    fn the_file_of_linux_is_parsed_and_unknown_signals_are_default() {
        let text = "Name:\tSigCgt: ffff\nSigPnd:\tffff\nSigIgn:\t0000000000000002\nSigCgt:\t0000000180004000\n";
        let both = SignalStates::of(text);
        assert!(!both.is_default(SIGINT), "ignored");
        assert!(!both.is_default(SIGTERM), "caught");
        assert!(both.is_default(1) && both.is_default(3) && both.is_default(64));
        for text in ["", "SigCgt:", "SigCgt:\tx\nSigIgn:\t-1"] {
            assert!(SignalStates::of(text).is_default(SIGTERM), "{text:?}");
        }
        assert!(both.is_default(0) && both.is_default(i32::MAX) && both.is_default(i32::MIN + 1));
    }
}
