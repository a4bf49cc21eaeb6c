//! Checks the text of a panic.
//!
//! A call fails the test if it does not panic, or panics for another reason.

#[track_caller]
pub(crate) fn panics(expected: &str, act: impl FnOnce()) {
    let payload =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(act)).expect_err("it panics");
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or_default();
    assert!(text.contains(expected), "{text}");
}
