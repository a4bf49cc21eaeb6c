//! Calls user code, and turns its panics into failures with their place.
//!
//! Only a panic hook knows the place of a panic. [`watch_panics`] installs one before the program's, which records the
//! place for [`catch`]. In a build that aborts on panic it prints which run ends the process.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io::Write;
use std::panic::{AssertUnwindSafe, Location, catch_unwind, set_hook, take_hook};
use std::sync::Once;
use std::{io, thread};

use super::{Failure, PanicPlace};
use crate::base::unwind::drop_payload;
use crate::define::settings::word;
use crate::run::Run;

thread_local! {
    /// The number of calls of user code on this thread, to distinguish their panics from earlier ones.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    /// The number of calls at the latest panic of this thread, and its place.
    static PLACE: RefCell<Option<(u64, PanicPlace)>> = const { RefCell::new(None) };
}

/// Records the places of panics from now on, in this process.
///
/// A panic hook that is set later, and does not call the previous one, disables this.
pub(crate) fn watch_panics() {
    static HOOK: Once = Once::new();
    // A panicking thread cannot set a hook.
    if thread::panicking() {
        return;
    }
    HOOK.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            record(panic.location());
            if cfg!(panic = "abort") {
                print_end();
            }
            before(panic);
        }));
    });
}

/// Prints on stderr that the current run of this thread, if any, ends the process.
fn print_end() {
    if let Some(run) = Run::current() {
        // A panic hook must not panic, so ignore a closed stderr.
        let _ = io::stderr().write_all(end_text(run.task_name(), run.number()).as_bytes());
    }
}

fn end_text(task: &str, run: u64) -> String {
    let task = word(task);
    format!(
        "ERROR task {task} panics in its run {run}, and ends the process: this build aborts on panic\n"
    )
}

fn record(location: Option<&Location<'_>>) {
    let place = location.map(|location| PanicPlace {
        file: location.file().into(),
        line: location.line(),
        column: location.column(),
    });
    // The thread-local may be destroyed, and a panic hook must not panic.
    let _ = PLACE.try_with(|latest| {
        if let Ok(mut latest) = latest.try_borrow_mut() {
            *latest = place.map(|place| (CALLS.get(), place));
        }
    });
}

/// The place of a panic in this call, or in one inside it.
fn place_of(call: u64) -> Option<PanicPlace> {
    let latest = PLACE.try_with(|latest| latest.try_borrow_mut().ok()?.take()).ok().flatten();
    latest.filter(|(began_in, _)| *began_in >= call).map(|(_, place)| place)
}

/// Calls user code. A panic becomes a failure, with its place if the hook was called.
///
/// Asserts unwind safety: the author of a task is responsible for state shared between runs.
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
    use super::{catch, end_text, watch_panics};
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
        let place = failure.place().expect("the hook was called").to_string();
        assert!(place.starts_with(&format!("{}:{line}:", file!())), "{place}");
        assert_eq!(catch(|| panic_any(7)).unwrap_err().message(), "non-text panic payload");
        assert_eq!(catch(|| 7), Ok(7));
    }

    /// `cargo run -p programs --bin failing --config 'profile.dev.panic="abort"'` shows it.
    #[test]
    fn a_panic_that_ends_the_process_is_printed_with_task_and_run_on_one_line() {
        let expected = "ERROR task `a\\nb` panics in its run 7, and ends the process: \
                        this build aborts on panic\n";
        assert_eq!(end_text("a\nb", 7), expected);
    }

    #[test]
    fn an_inner_panic_does_not_lend_its_place_to_an_outer_one() {
        watch_panics();
        let outer = catch(|| {
            let inner = catch(|| panic!("inner")).unwrap_err();
            assert!(inner.place().is_some());
            std::panic::resume_unwind(Box::new("resumed, so that no hook is called"));
        });
        assert_eq!(outer.unwrap_err().place(), None);
    }

    #[test]
    fn a_panic_that_the_task_caught_itself_does_not_lend_its_place_to_a_later_run() {
        watch_panics();
        let run = catch(|| drop(std::panic::catch_unwind(|| panic!("caught by the task"))));
        assert_eq!(run, Ok(()));
        let later = catch(|| std::panic::resume_unwind(Box::new("no hook is called")));
        assert_eq!(later.unwrap_err().place(), None);
    }

    #[test]
    fn a_payload_that_panics_when_dropped_is_contained() {
        assert!(catch(|| panic_any(Bomb)).unwrap_err().is_panic());
    }
}
