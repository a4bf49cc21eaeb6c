//! The `#[scheduled]` attribute of the [`scheduler`] crate, which re-exports it.
//!
//! # What this crate is for
//!
//! To read an annotation, to judge it, and to leave an entry in the binary that the `scheduler` crate
//! finds when the program starts. It works in the compiler only:
//!
//! | layer | does |
//! |---|---|
//! | `diagnostic` | collects faults and words them |
//! | `args` | reads the options, by one table |
//! | `item` | reads the function, as far as its signature |
//! | `repeat` | numbers several annotations of one function |
//! | `check` | the rules |
//! | `expand` | the code that is generated |
//!
//! # What it must never do
//!
//! Change the function, name anything that the user's crate could have redefined, stop at the first
//! fault, or depend on the engine, which would be compiled for the compiler.
//!
//! [`scheduler`]: https://docs.rs/scheduler

mod args;
mod check;
mod diagnostic;
mod expand;
mod item;
mod repeat;

use proc_macro2::{Span, TokenStream};
use quote::quote;

use crate::args::Args;
use crate::check::Owner;
use crate::diagnostic::Faults;
use crate::expand::Task;
use crate::item::{Annotation, Block, Function, Member};

/// Schedules a function: at a fixed rate, with a fixed delay, by a cron expression, or once.
///
/// ```
/// use scheduler::scheduled;
///
/// #[scheduled(fixed_rate = "1s")]
/// fn tick() {
///     println!("tick");
/// }
///
/// #[scheduled(cron = "0 0 9 * * MON-FRI", zone = "Europe/Berlin")]
/// async fn report() -> Result<(), std::io::Error> {
///     println!("good morning");
///     Ok(())
/// }
/// ```
///
/// The attribute only leaves an entry in the binary; the tasks run once the scheduler is started. The
/// function stays what it is and can still be called.
///
/// This is Spring's `@Scheduled`, with the same names and meanings. What is wrong with an annotation
/// is said at compile time, all of it at once.
///
/// # The function
///
/// A free function, in any module or inside another function, of any visibility, plain or `async`,
/// without arguments. Methods and generic, `unsafe`, `extern` and `const` functions are refused. For
/// a function without `self` in an `impl` block this cannot be seen by a macro, and rustc says
/// "`const` items in this context need a name".
///
/// It returns `()`, or `Result<(), E>` where `E` is [`Display`](std::fmt::Display). An `Err` is a
/// failed run: it is reported with the text of the error and, if it is an
/// [`Error`](std::error::Error) or a box of one, its causes. The future of an `async fn` has to be
/// `Send`, because several threads may poll it in turn.
///
/// ```
/// use scheduler::scheduled;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// static PASSES: AtomicU64 = AtomicU64::new(0);
///
/// #[scheduled(fixed_delay = "30s")]
/// fn sweep() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
///     PASSES.fetch_add(1, Ordering::Relaxed);
///     std::fs::remove_file("cache/stale")?;
///     Ok(())
/// }
/// ```
///
/// # The trigger
///
/// Every annotation has exactly one trigger: `fixed_rate`, `fixed_delay`, `cron`, or `initial_delay`
/// alone.
///
/// ## `fixed_rate = "…"`
///
/// From one fire time to the next, however long the runs take. Runs of one task never overlap: one
/// that takes longer than the period delays the next. The first fire time is the start of the
/// scheduler, or `initial_delay` later. It must be longer than zero.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(fixed_rate = "500ms")]
/// fn sample() {}
/// ```
///
/// ## `fixed_delay = "…"`
///
/// From the end of a run to the start of the next. With a delay of 5 s, a run that starts at 0 s and
/// takes 2 s is followed by one at 7 s. It must be longer than zero.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(fixed_delay = "5s")]
/// fn poll() {}
/// ```
///
/// ## `cron = "…"`
///
/// Spring's six fields: second, minute, hour, day of month, month, day of week. Lists `1,15`, ranges
/// `MON-FRI`, steps `*/10`, names, `L`, `W`, `#`, and the macros `@yearly` `@monthly` `@weekly`
/// `@daily` `@hourly`. A task fires at the instants whose wall-clock time matches all six fields.
/// An expression that can never match, such as the 30th of February, is refused.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(cron = "0 */10 8-17 * * MON-FRI")]
/// fn during_office_hours() {}
///
/// #[scheduled(cron = "@hourly")]
/// fn on_the_hour() {}
/// ```
///
/// ## `initial_delay = "…"` alone
///
/// Runs the function once, that long after the start.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(initial_delay = "10s")]
/// fn warm_up() {}
/// ```
///
/// # Other options
///
/// ## `initial_delay = "…"`
///
/// Beside `fixed_rate` or `fixed_delay`: from the start of the scheduler to the first fire time. Zero
/// if it is not given. A cron expression has none, as in Spring.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(fixed_rate = "1m", initial_delay = "10s")]
/// fn later() {}
/// ```
///
/// ## `zone = "…"`
///
/// Beside `cron`: the time zone whose wall clock is read, by its name in the IANA database. Without
/// it, it is that of the scheduler.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(cron = "0 30 16 * * MON-FRI", zone = "America/New_York")]
/// fn closing_bell() {}
/// ```
///
/// ## `name = "…"`
///
/// What the task is called in messages and settings. Without it, it is called by the path of the
/// function, such as `shop::jobs::report`, and by its second annotation `shop::jobs::report-2`. Names
/// have to be unique in a program, which is checked when it starts.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(fixed_rate = "1h", name = "sales-report")]
/// fn report() {}
/// ```
///
/// ## `time_unit = "…"`
///
/// The unit of durations that are written as bare numbers, one of `nanoseconds`, `microseconds`,
/// `milliseconds`, `seconds`, `minutes`, `hours` and `days`. A bare number without it is refused:
/// Spring would count it in milliseconds.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(fixed_rate = 5, initial_delay = 1, time_unit = "minutes")]
/// fn seldom() {}
/// ```
///
/// ## `crate = path`
///
/// Where the `scheduler` crate is to be found, if it was renamed in `Cargo.toml` or is re-exported by
/// another crate. Without it, `::scheduler`.
///
/// ```
/// mod facade {
///     pub use scheduler;
/// }
///
/// #[facade::scheduler::scheduled(fixed_rate = "1s", crate = facade::scheduler)]
/// fn tick() {}
/// ```
///
/// # Durations
///
/// A number with a unit (`"250ms"`; the units are `ns us ms s m h d`), several of them from large to
/// small (`"1h30m"`, `"1h 30m"`), or ISO-8601 (`"PT1M30S"`). A number without quotes or without a unit
/// needs `time_unit`.
///
/// # Several annotations
///
/// A function may have several, which are tasks of their own and may run at the same time.
///
/// ```
/// # use scheduler::scheduled;
/// #[scheduled(cron = "0 0 9 * * MON-FRI")]
/// #[scheduled(cron = "0 0 11 * * SAT,SUN", name = "weekend-report")]
/// fn report() {}
/// ```
///
/// If the attribute was imported under another name (`use scheduler::scheduled as every;`), the
/// second and further ones need a `name`.
///
/// # Conditions
///
/// `#[cfg(…)]` and `#[cfg_attr(…)]` apply to the task as to the function, before or after the
/// attribute.
///
/// ```
/// # use scheduler::scheduled;
/// #[cfg(unix)]
/// #[cfg_attr(debug_assertions, scheduled(fixed_rate = "10s"))]
/// #[cfg_attr(not(debug_assertions), scheduled(fixed_rate = "1h"))]
/// fn rotate() {}
/// ```
#[doc(alias = "Scheduled")]
#[doc(alias = "cron")]
#[doc(alias = "fixedRate")]
#[doc(alias = "fixedDelay")]
#[doc(alias = "initialDelay")]
#[proc_macro_attribute]
pub fn scheduled(
    options: proc_macro::TokenStream,
    item: proc_macro::TokenStream,
) -> proc_macro::TokenStream {
    annotate(options.into(), &item.into()).into()
}

/// The item as it was written, and after it its entries or else the faults.
fn annotate(options: TokenStream, item: &TokenStream) -> TokenStream {
    if let Ok(function) = syn::parse2::<Function>(item.clone()) {
        return annotate_function(options, function);
    }
    match syn::parse2::<Block>(item.clone()) {
        Ok(block) => annotate_block(options, block),
        Err(_) => check::not_a_function(item),
    }
}

/// One annotation of a function. The function itself is judged, and its faults reported, with its
/// first annotation only.
fn annotate_function(options: TokenStream, mut function: Function) -> TokenStream {
    let mut faults = Faults::default();
    let args = Args::parse(options, &mut faults);
    let mut of_function = Faults::default();
    let arguments = check::function(&function, None, &mut of_function);
    let plan = check::annotation(&args, &function, None, &mut faults);
    if !check::is_repeated(&args) {
        faults.append(of_function);
        repeat::number(&mut function.attrs);
    }
    let added = match (plan, arguments) {
        (Some(plan), Some(arguments)) if faults.is_empty() => expand::entry(&Task {
            function: &function,
            arguments: &arguments,
            plan: &plan,
            owner: None,
            conditions: &[],
            span: Span::call_site(),
        }),
        _ => faults.to_tokens(),
    };
    quote!(#function #added)
}

/// All annotations of the methods in an `impl` block. A fault in one method does not keep the others
/// from their entries.
fn annotate_block(options: TokenStream, mut block: Block) -> TokenStream {
    let mut faults = Faults::default();
    let args = Args::parse(options, &mut faults);
    let owner = check::block(&args, &block, &mut faults);
    let mut entries = TokenStream::new();
    let mut is_annotated = false;
    for member in &mut block.members {
        let Member::Function(function) = member else { continue };
        let annotations = item::take_annotations(&mut function.attrs);
        is_annotated |= !annotations.is_empty();
        if let (Some(owner), false) = (&owner, annotations.is_empty()) {
            entries.extend(annotate_method(&annotations, function, owner, &mut faults));
        }
    }
    if owner.is_some() && !is_annotated {
        check::nothing_annotated(&block, &mut faults);
    }
    let faults = faults.to_tokens();
    quote!(#block #entries #faults)
}

/// The entries of a method.
fn annotate_method(
    annotations: &[Annotation],
    method: &Function,
    owner: &Owner,
    faults: &mut Faults,
) -> TokenStream {
    let arguments = check::function(method, Some(owner), faults);
    let mut entries = TokenStream::new();
    for (index, annotation) in annotations.iter().enumerate() {
        let mut of_annotation = Faults::default();
        let options = repeat::numbered(&annotation.options, index + 1);
        let args = Args::parse(options, &mut of_annotation);
        let plan = check::annotation(&args, method, Some(owner), &mut of_annotation);
        if let (Some(plan), Some(arguments), true) = (&plan, &arguments, of_annotation.is_empty()) {
            entries.extend(expand::entry(&Task {
                function: method,
                arguments,
                plan,
                owner: Some(owner),
                conditions: &annotation.conditions,
                span: annotation.span,
            }));
        }
        faults.append(of_annotation);
    }
    entries
}

#[cfg(test)]
mod tests;
