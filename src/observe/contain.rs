//! The door to user code: its panics become failures, with the place where they began.
//!
//! A caught panic does not say where it began; only a panic hook is told. [`watch_panics`] puts one in
//! front of the program's, which notes the place for [`catch`]. In a build that aborts on panic nothing is caught,
//! and it says whose panic ends the process.

use std::any::Any;
use std::cell::Cell;
use std::cell::RefCell;
use std::io;
use std::io::Write;
use std::panic::AssertUnwindSafe;
use std::panic::Location;
use std::panic::catch_unwind;
use std::panic::set_hook;
use std::panic::take_hook;
use std::sync::Once;
use std::thread;

use super::Failure;
use super::PanicPlace;
use crate::run::Run;
use crate::settings::word;
use crate::unwind::drop_payload;

thread_local! {
    /// How many calls of user code began on this thread: it tells their panics from earlier ones.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// Where the latest panic of this thread began, and after how many calls.
    static PLACE: RefCell<Option<(u64, PanicPlace)>> = const { RefCell::new(None) };
}

/// Has the places of panics noted from now on, in this process.
///
/// A program that sets a panic hook of its own later, and does not call the one before, loses them.
pub(crate) fn watch_panics() {
    static HOOK: Once = Once::new();
    // A panicking thread cannot set a hook.
    if thread::panicking() {
        return;
    }
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            note(panic.location());
            if cfg!(panic = "abort") {
                tell_end();
            }
            before(panic);
        }));
    });
}

/// Tells on stderr that the run of this thread ends the process, if it executes one.
fn tell_end() {
    if let Some(run) = Run::current() {
        // A panic hook must not panic: the line is lost where stderr is closed.
        let _ = io::stderr().write_all(words_at_end(run.task_name(), run.number()).as_bytes());
    }
}

fn words_at_end(task: &str, run: u64) -> String {
    let task = word(task);
    format!(
        "ERROR task {task} panics in its run {run}, and ends the process: this build aborts on panic\n"
    )
}

fn note(location: Option<&Location<'_>>) {
    let place = location.map(|location| PanicPlace {
        file: location.file().into(),
        line: location.line(),
        column: location.column(),
    });
    // The thread's own data may be gone already while it ends, and a panic hook must not panic.
    let _ = PLACE.try_with(|latest| {
        if let Ok(mut latest) = latest.try_borrow_mut() {
            *latest = place.map(|place| (CALLS.get(), place));
        }
    });
}

/// The place of a panic that began in this call, or in one inside it.
fn place_of(call: u64) -> Option<PanicPlace> {
    let latest = PLACE.try_with(|latest| latest.try_borrow_mut().ok()?.take()).ok().flatten();
    latest.filter(|(began_in, _)| *began_in >= call).map(|(_, place)| place)
}

/// Calls user code; a panic becomes a failure that knows its place, where the hook was told.
///
/// Unwind safety is asserted: a task's own state is shared between its runs by its author.
pub(crate) fn catch<R>(call: impl FnOnce() -> R) -> Result<R, Failure> {
    let number = CALLS.get().wrapping_add(1);
    CALLS.set(number);
    catch_unwind(AssertUnwindSafe(call)).map_err(|payload| {
        let place = place_of(number);
        let failure = Failure::from_panic(text(payload.as_ref()), place);
        drop_payload(payload);
        failure
    })
}

fn text(payload: &(dyn Any + Send)) -> &str {
    let literal = payload.downcast_ref::<&str>().copied();
    let text = literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    text.unwrap_or("non-text panic payload")
}

#[cfg(test)]
mod tests {
    use super::catch;
    use super::watch_panics;
    use super::words_at_end;
    use std::panic::panic_any;

    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            panic_any(Bomb);
        }
    }

    #[test]
    fn a_caught_panic_knows_its_text_and_its_place() {
        watch_panics();
        watch_panics();
        let line = line!() + 1;
        let failure = catch(|| panic!("no {}", 1)).unwrap_err();
        assert_eq!(failure.message(), "no 1");
        assert!(failure.is_panic());
        let place = failure.place().expect("the hook was told").to_string();
        assert!(place.starts_with(&format!("{}:{line}:", file!())), "{place}");
        assert_eq!(catch(|| panic_any(7)).unwrap_err().message(), "non-text panic payload");
        assert_eq!(catch(|| 7), Ok(7));
    }

    /// `cargo run -p programs --bin failing --config 'profile.dev.panic="abort"'` shows it.
    #[test]
    fn a_panic_that_ends_the_process_is_told_with_task_and_run_on_one_line() {
        let expected = "ERROR task `a\\nb` panics in its run 7, and ends the process: \
                        this build aborts on panic\n";
        assert_eq!(words_at_end("a\nb", 7), expected);
    }

    #[test]
    fn an_inner_panic_does_not_lend_its_place_to_an_outer_one() {
        watch_panics();
        let outer = catch(|| {
            let inner = catch(|| panic!("inner")).unwrap_err();
            assert!(inner.place().is_some());
            std::panic::resume_unwind(Box::new("resumed, so that no hook is told"));
        });
        assert_eq!(outer.unwrap_err().place(), None);
    }

    #[test]
    fn a_panic_that_the_task_caught_itself_does_not_lend_its_place_to_a_later_run() {
        watch_panics();
        let run = catch(|| drop(std::panic::catch_unwind(|| panic!("caught by the task"))));
        assert_eq!(run, Ok(()));
        let later = catch(|| std::panic::resume_unwind(Box::new("no hook is told")));
        assert_eq!(later.unwrap_err().place(), None);
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        assert!(catch(|| panic_any(Bomb)).unwrap_err().is_panic());
    }
}
