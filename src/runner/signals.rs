//! Ctrl-C and SIGTERM: the first asks the scheduler to stop, the second ends the process.
//!
//! A signal that comes while no scheduler waits for it does what it did before the first one took it. The
//! handler cannot be taken out again: other handlers of the process, Tokio's for example, hang on it by then.

#[cfg(unix)]
use std::io;
use std::process;
use std::sync::LazyLock;
use std::sync::PoisonError;
#[cfg(unix)]
use std::sync::mpsc;
#[cfg(any(unix, test))]
use std::thread;

use scheduler_core::Clock;
use scheduler_core::SystemClock;
#[cfg(unix)]
use signal_hook::consts::SIGINT;
#[cfg(unix)]
use signal_hook::consts::SIGTERM;
#[cfg(unix)]
use signal_hook::low_level::emulate_default_handler;

use crate::sync::Mutex;
use crate::sync::MutexGuard;

#[cfg(unix)]
use super::disposition::Dispositions;
use super::impatience::Impatience;
use super::impatience::Wish;
use crate::error::StartError;
use crate::notice::Notice;

/// The exit code of a process that was ended by Ctrl-C, as shells have it: 128 + SIGINT.
const EXIT_INTERRUPTED: i32 = 130;

static SHARED: Mutex<Shared> = Mutex::new(Shared {
    is_installed: false,
    is_held: false,
    waiting: None,
    impatience: Impatience::new(),
});

/// Signals are sent in real time, whatever clock the tasks go by.
static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::new);

/// What the handler and the schedulers of the process share.
struct Shared {
    /// Whether the handler is there; it stays for the life of the process.
    is_installed: bool,
    /// Whether a scheduler has the signals, or is about to.
    is_held: bool,
    /// What is to be given at the first signal.
    waiting: Option<Notice<()>>,
    /// What was wished until now, of whichever scheduler: the echo of a signal may come when the
    /// scheduler has already stopped.
    impatience: Impatience,
}

/// The process's signals, held by the one scheduler that ends with them.
#[derive(Debug)]
pub(super) struct Signals {
    notice: Notice<()>,
}

impl Signals {
    /// Keeps other schedulers from the signals, which do what they did before until [`take`](Self::take).
    pub(super) fn reserve() -> Result<Self, StartError> {
        let mut shared = shared();
        if std::mem::replace(&mut shared.is_held, true) {
            return Err(StartError::already_running());
        }
        Ok(Self { notice: Notice::new() })
    }

    /// Has the next signal heard by this scheduler.
    pub(super) fn take(&self) -> Result<(), StartError> {
        let mut shared = shared();
        if !shared.is_installed {
            install().map_err(StartError::signals)?;
            shared.is_installed = true;
        }
        shared.waiting = Some(self.notice.clone());
        Ok(())
    }

    /// What is given at the first signal.
    pub(super) fn first(&self) -> Notice<()> {
        self.notice.clone()
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
    SHARED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds to the handlers that there are. Also where a signal is ignored, as a shell has it for
/// `program &` in a script: one that is sent nevertheless is meant. Hang-up is left alone, for the sake
/// of `nohup`.
#[cfg(unix)]
fn install() -> io::Result<()> {
    let before = Dispositions::read();
    let (give, given) = mpsc::channel::<signal_hook::iterator::Signals>();
    let hear = move || {
        let Ok(mut signals) = given.recv() else { return };
        for signal in signals.forever() {
            on_signal(|| {
                // A handler of the program's has been called already, and an ignored signal does nothing.
                if before.are_default(signal) {
                    let _ = emulate_default_handler(signal);
                }
            });
        }
    };
    // The thread first: without it a handler would swallow the signals.
    thread::Builder::new().name("scheduler-signals".to_owned()).spawn(hear)?;
    let signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    give.send(signals).map_err(io::Error::other)
}

#[cfg(not(unix))]
fn install() -> Result<(), ctrlc::Error> {
    ctrlc::try_set_handler(|| on_signal(|| process::exit(EXIT_INTERRUPTED)))
}

/// Runs on a thread of its own, so that the second signal works even if every worker is stuck.
fn on_signal(do_as_before: impl FnOnce()) {
    let waiting = shared().waiting.clone();
    let now = CLOCK.now();
    let is_news = waiting.as_ref().is_some_and(|notice| notice.give(()));
    let wish = shared().impatience.hear(now, is_news);
    match wish {
        Wish::Quit if waiting.is_none() => do_as_before(),
        Wish::Quit => process::exit(EXIT_INTERRUPTED),
        Wish::Stop | Wish::Echo => {}
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
