//! Ctrl-C and SIGTERM: the first asks the scheduler to stop, the second ends the process.

#[cfg(unix)]
use std::io;
use std::process;
use std::sync::LazyLock;
use std::sync::OnceLock;
use std::sync::PoisonError;
#[cfg(any(unix, test))]
use std::thread;

use scheduler_core::Clock;
use scheduler_core::SystemClock;
#[cfg(unix)]
use signal_hook::consts::SIGINT;
#[cfg(unix)]
use signal_hook::consts::SIGTERM;

use crate::sync::Mutex;

use super::impatience::Impatience;
use super::impatience::Wish;
use crate::error::StartError;
use crate::notice::Notice;

/// The exit code of a process that was ended by Ctrl-C, as shells have it: 128 + SIGINT.
const EXIT_INTERRUPTED: i32 = 130;

/// Who is to be told of the first signal.
static WAITING: Mutex<Option<Notice<()>>> = Mutex::new(None);

/// What was wished until now, by whichever scheduler it was heard: the echo of a signal may come
/// when the scheduler has already stopped.
static IMPATIENCE: Mutex<Impatience> = Mutex::new(Impatience::new());

/// Signals are sent in real time, whatever clock the tasks go by.
static CLOCK: LazyLock<SystemClock> = LazyLock::new(SystemClock::new);

/// Whether the handler could be installed; it stays for the life of the process.
static INSTALLED: OnceLock<Result<(), String>> = OnceLock::new();

/// The process's signals, held by the one scheduler that ends with them.
#[derive(Debug)]
pub(super) struct Signals {
    notice: Notice<()>,
}

impl Signals {
    /// Takes the signals, if no other scheduler holds them.
    pub(super) fn take() -> Result<Self, StartError> {
        let notice = Notice::new();
        {
            let mut waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner);
            if waiting.is_some() {
                return Err(StartError::already_running());
            }
            *waiting = Some(notice.clone());
        }
        let signals = Self { notice };
        match INSTALLED.get_or_init(|| install().map_err(|error| error.to_string())) {
            Ok(()) => Ok(signals),
            Err(reason) => Err(StartError::signals(reason)),
        }
    }

    /// What is given at the first signal.
    pub(super) fn first(&self) -> Notice<()> {
        self.notice.clone()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        *WAITING.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Adds to the handlers that there are. Also where a signal is ignored, as a shell has it for
/// `program &` in a script: whoever sends it nevertheless wants the program to end. Hang-up is left
/// alone, for the sake of `nohup`.
#[cfg(unix)]
fn install() -> io::Result<()> {
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    let thread = thread::Builder::new().name("scheduler-signals".to_owned());
    thread.spawn(move || signals.forever().for_each(|_| on_signal())).map(drop)
}

#[cfg(not(unix))]
fn install() -> Result<(), ctrlc::Error> {
    ctrlc::try_set_handler(on_signal)
}

/// Runs on a thread of its own, so that the second signal works even if every worker is stuck.
fn on_signal() {
    let waiting = WAITING.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let now = CLOCK.now();
    let is_news = waiting.is_some_and(|notice| notice.give(()));
    let mut impatience = IMPATIENCE.lock().unwrap_or_else(PoisonError::into_inner);
    let wish = impatience.hear(now, is_news);
    drop(impatience);
    if wish == Wish::Quit {
        process::exit(EXIT_INTERRUPTED);
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
            let taken: Vec<Result<Signals, StartError>> = thread::scope(|scope| {
                let take = || {
                    barrier.wait();
                    Signals::take()
                };
                let threads = [(); 4].map(|()| scope.spawn(take));
                threads.map(|thread| thread.join().expect("no panic")).into_iter().collect()
            });
            assert_eq!(taken.iter().filter(|taken| taken.is_ok()).count(), 1);
            let refused = taken.iter().filter_map(|taken| taken.as_ref().err());
            assert!(refused.into_iter().all(StartError::is_already_running));
        }
    }
}
