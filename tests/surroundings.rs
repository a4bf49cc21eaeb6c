//! Finds and runs the functions of the crate `hostile`, in three editions.

use std::future::Future as _;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use hostile as _;
use hostile_2021 as _;
use hostile_2024 as _;
use scheduler::__private::{Call, Entry, TaskResult, entries, resolve_for_test};

/// The functions of a crate, by their names in it.
fn functions(krate: &str) -> Vec<(&'static str, &'static Entry)> {
    let inside = entries().into_iter().filter(|entry| entry.module_path == krate);
    inside.map(|entry| (entry.function, entry)).collect()
}

/// The result of a run; `None` for a function that needs managed values.
fn run(entry: &Entry) -> Option<TaskResult> {
    let (call, run) = resolve_for_test(entry);
    Some(match call? {
        Call::Sync(call) => call(&run),
        Call::Async(call) => {
            let mut future = pin!(call(&run));
            match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(result) => result,
                Poll::Pending => panic!("`{}` waits for something", entry.name),
            }
        }
    })
}

#[test]
fn f_ma2_functions_in_hostile_surroundings_run_in_every_edition() {
    let names = |krate| functions(krate).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    let expected = names("hostile");
    assert!(expected.len() > 10 && expected.contains(&"type"), "{expected:?}");
    for krate in ["hostile", "hostile_2021", "hostile_2024"] {
        assert_eq!(names(krate), expected, "{krate}");
        for (name, entry) in functions(krate) {
            let failure = run(entry).and_then(Result::err).map(|error| error.to_string());
            let expected = (name == "settle").then(|| "no prelude here".to_owned());
            assert_eq!(failure, expected, "{krate}::{name}");
        }
    }
}
