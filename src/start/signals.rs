//! Ctrl-C and SIGTERM: a stop, and after a second one an exit.
//!
//! The second one ends the process with exit code 130: this is the only place in the library that calls
//! `process::exit`. A signal that comes while no scheduler waits for it does what it did before the first scheduler. The
//! handler is never removed, because other handlers of the process, such as Tokio's, are chained to it by then.

#[cfg(unix)]
use std::io;
use std::process;
use std::sync::LazyLock;
#[cfg(unix)]
use std::sync::mpsc;
#[cfg(any(unix, test))]
use std::thread;

use scheduler_core::{Clock, SystemClock};
#[cfg(unix)]
use signal_hook::consts::SIGINT;
#[cfg(unix)]
use signal_hook::consts::SIGTERM;
#[cfg(unix)]
use signal_hook::low_level::emulate_default_handler;

use crate::base::sync::{Mutex, MutexGuard};

use super::error::StartError;
use super::repeated_signal::{FirstSignal, Request};
#[cfg(unix)]
use super::signal_state::SignalStates;
use crate::base::set_once::SetOnce;

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
}
