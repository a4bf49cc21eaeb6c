//! Ctrl-C and SIGTERM: a stop, and after a second one an exit.
//!
//! The second one ends the process with exit code 130: this is the only place in the library that calls
//! `process::exit`. A signal that comes while no scheduler waits for it does what it did before the first scheduler. The
//! handler is never removed, because other handlers of the process, such as Tokio's, are chained to it by then.

use std::process;
use std::sync::LazyLock;
use std::time::Duration;

use scheduler_core::{Clock, SystemClock, Tick};

use crate::base::set_once::SetOnce;
use crate::base::sync::{Mutex, MutexGuard};
use crate::start::error::StartError;

#[cfg(unix)]
use std::sync::mpsc;
#[cfg(any(unix, test))]
use std::thread;
#[cfg(unix)]
use std::{fs, io};

#[cfg(unix)]
use signal_hook::consts::SIGINT;
#[cfg(unix)]
use signal_hook::consts::SIGTERM;
#[cfg(unix)]
use signal_hook::low_level::emulate_default_handler;

/// The exit code that shells give a process that Ctrl-C ended: 128 + SIGINT.
const EXIT_INTERRUPTED: i32 = 130;

static SHARED: Mutex<Shared> = Mutex::new(Shared {
    is_installed: false,
    is_held: false,
    waiting: None,
    first: FirstSignal::new(),
});

/// Signals come in real time, whatever the clock of the tasks.
static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::new);

/// Shared by the handler and the schedulers of the process.
struct Shared {
    /// True once the handler is installed, for the life of the process.
    is_installed: bool,
    /// True if a scheduler has the signals, or is about to.
    is_held: bool,
    /// Set at the first signal.
    waiting: Option<SetOnce<()>>,
    /// Of any scheduler: a signal may be repeated when the scheduler has stopped already.
    first: FirstSignal,
}

/// The process's signals, held by the one scheduler that ends with them.
#[derive(Debug)]
pub(super) struct Signals {
    first: SetOnce<()>,
}

impl Signals {
    /// Reserves the signals. They do what they did before until [`take`](Self::take).
    pub(super) fn reserve() -> Result<Self, StartError> {
        let mut shared = shared();
        if std::mem::replace(&mut shared.is_held, true) {
            return Err(StartError::already_running());
        }
        Ok(Self { first: SetOnce::new() })
    }

    /// Receives signals from now on.
    pub(super) fn take(&self) -> Result<(), StartError> {
        let mut shared = shared();
        if !shared.is_installed {
            install().map_err(StartError::signals)?;
            shared.is_installed = true;
        }
        shared.waiting = Some(self.first.clone());
        Ok(())
    }

    /// The value that is set at the first signal.
    pub(super) fn first(&self) -> SetOnce<()> {
        self.first.clone()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        let mut shared = shared();
        shared.is_held = false;
        shared.waiting = None;
    }
}

fn shared() -> MutexGuard<'static, Shared> {
    SHARED.lock()
}

/// Adds a handler. Also for an ignored signal, such as the SIGINT of `program &` in a script: one that is sent is meant.
/// SIGHUP is left alone, for `nohup`.
#[cfg(unix)]
fn install() -> io::Result<()> {
    let before = SignalStates::read();
    let (hand, handed) = mpsc::channel::<signal_hook::iterator::Signals>();
    let handle_signals = move || {
        let Ok(mut signals) = handed.recv() else { return };
        for signal in signals.forever() {
            on_signal(|| {
                // A handler of the program has been called already, and an ignored signal does nothing.
                if before.is_default(signal) {
                    let _ = emulate_default_handler(signal);
                }
            });
        }
    };
    // Start the thread first: without it the handler would swallow the signals.
    thread::Builder::new().name("scheduler-signals".to_owned()).spawn(handle_signals)?;
    let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    hand.send(signals).map_err(io::Error::other)
}

#[cfg(not(unix))]
fn install() -> Result<(), ctrlc::Error> {
    ctrlc::try_set_handler(|| on_signal(|| process::exit(EXIT_INTERRUPTED)))
}

/// Runs on a thread of its own, so that the second signal works even if every worker is stuck.
fn on_signal(do_as_before: impl FnOnce()) {
    let waiting = shared().waiting.clone();
    let now = CLOCK.now();
    let has_stopped = waiting.as_ref().is_some_and(|notice| notice.set(()));
    let request = shared().first.classify(now, has_stopped);
    match request {
        Request::Quit if waiting.is_none() => do_as_before(),
        Request::Quit => process::exit(EXIT_INTERRUPTED),
        Request::Stop | Request::Repeated => {}
    }
}

/// Signals this soon after the first count as the same one. One Ctrl-C can reach a process twice: `timeout` signals its
/// child and then the group, and so do some shells and supervisors.
const REPETITION: Duration = Duration::from_millis(250);

/// The request of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    /// Stop, and let running tasks finish.
    Stop,
    /// Nothing new.
    Repeated,
    /// End the process at once.
    Quit,
}

/// The time of the first signal.
#[derive(Debug, Default)]
struct FirstSignal {
    at: Option<Tick>,
}

impl FirstSignal {
    pub(super) const fn new() -> Self {
        Self { at: None }
    }

    /// Returns the request of a signal at `now`. `has_stopped` is true if it made a scheduler stop.
    fn classify(&mut self, now: Tick, has_stopped: bool) -> Request {
        if has_stopped {
            self.at = Some(now);
            return Request::Stop;
        }
        match self.at {
            Some(first) if now.since(first) < REPETITION => Request::Repeated,
            _ => Request::Quit,
        }
    }
}

/// The dispositions of all signals at one moment.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
struct SignalStates {
    /// A bit for each signal that is caught or ignored; the lowest is for signal 1.
    changed: u64,
}

#[cfg(unix)]
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
    fn is_default(self, signal: i32) -> bool {
        let bit = u32::try_from(signal - 1).ok().and_then(|number| 1_u64.checked_shl(number));
        bit.is_none_or(|bit| self.changed & bit == 0)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn f_rg1_of_starts_at_once_one_wins_and_the_next_comes_after_its_end() {
        for _ in 0..2 {
            let barrier = Barrier::new(4);
            let held: Vec<Result<Signals, StartError>> = thread::scope(|scope| {
                let reserve = || {
                    barrier.wait();
                    Signals::reserve()
                };
                let threads = [(); 4].map(|()| scope.spawn(reserve));
                threads.map(|thread| thread.join().expect("no panic")).into_iter().collect()
            });
            assert_eq!(held.iter().filter(|held| held.is_ok()).count(), 1);
            let refused = held.iter().filter_map(|held| held.as_ref().err());
            assert!(refused.into_iter().all(StartError::is_already_running));
        }
    }

    fn at(milliseconds: u64) -> Tick {
        Tick::from_nanos(milliseconds * 1_000_000)
    }

    #[test]
    fn two_signals_in_one_instant_are_one_request() {
        let mut first = FirstSignal::new();
        assert_eq!(first.classify(at(1_000), true), Request::Stop);
        for repeated in [1_000, 1_001, 1_249] {
            assert_eq!(first.classify(at(repeated), false), Request::Repeated, "{repeated} ms");
        }
    }

    #[test]
    fn a_later_signal_is_a_second_request_after_any_number_of_repetitions() {
        let mut first = FirstSignal::new();
        assert_eq!(first.classify(at(1_000), true), Request::Stop);
        assert_eq!(first.classify(at(1_200), false), Request::Repeated);
        assert_eq!(first.classify(at(1_250), false), Request::Quit);
    }

    #[test]
    fn a_signal_that_stops_no_scheduler_ends_the_process() {
        assert_eq!(FirstSignal::new().classify(at(0), false), Request::Quit);
    }

    #[test]
    fn each_scheduler_is_stopped_even_soon_after_the_one_before() {
        let mut first = FirstSignal::new();
        assert_eq!(first.classify(at(1_000), true), Request::Stop);
        assert_eq!(first.classify(at(1_100), true), Request::Stop);
        assert_eq!(first.classify(at(1_300), false), Request::Repeated);
        assert_eq!(first.classify(at(1_350), false), Request::Quit);
    }

    #[cfg(unix)]
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
