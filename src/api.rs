//! Tests of the public names, and of the traits of public types.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Debug;

/// Checks the bounds of types, and returns their names.
macro_rules! names {
    ($check:ident: $($name:ident)*) => {{
        $($check::<crate::$name>();)*
        BTreeSet::from([$(stringify!($name)),*])
    }};
}

fn error<T: Error + Clone + Eq + Send + Sync + 'static>() {}
fn data<T: Debug + Clone + Send + Sync + 'static>() {}
fn unique<T: Debug + Send + Sync + 'static>() {}

/// The names that `lib.rs` exports.
fn exported(source: &'static str) -> BTreeSet<&'static str> {
    let exports = source.split("\npub use ").skip(1);
    let lists = exports.map(|rest| rest.split_once(';').expect("an end").0);
    let names = lists.flat_map(|list| match list.split_once('{') {
        Some((_, names)) => names.trim_end_matches('}').split(',').map(str::trim).collect(),
        None => list.rsplit("::").take(1).collect::<Vec<_>>(),
    });
    names.filter(|name| !name.is_empty()).collect()
}

#[test]
fn every_exported_type_implements_the_common_traits() {
    data::<crate::State<String>>();
    let errors = names!(error: AddError ControlError StartError StopError Stopped);
    let data = names!(data: Attribute Calendar Cause Counters DryRun DstGap DstOverlap Event EventKind Failure GateContext JobInfo
        Location Longest ManualClock Misfire OnError Outcome Overlap PanicPlace ParkedJob Pause Pool PoolSnapshot Preview RuleKind Run RunInfo RunRecord
        Schedule Shutdown SkipReason StopReason StoreEvent Tagged TaskControl TaskFacts TaskList TaskSnapshot TaskState Tasks
        TriggerContext Until Zone);
    let unique = names!(unique: ManualRun Scheduler SystemClock);
    fn sendable<T: Debug + Send + 'static>() {}
    let sendable = names!(sendable: Admission Builder Registrar);
    let others = BTreeSet::from([
        "State",
        "Resolver", // generic
        "AsyncGate",
        "Clock",
        "Extract",
        "Gate",
        "IntoInstant",
        "IntoDuration",
        "Listener",
        "Managed",
        "Permit",
        "TaskReturn",
        "Trigger", // traits
        "GateError",
        "GateFuture",
        "NextFireTime", // aliases
        "chrono",
        "Payload",
        "job",
        "scheduled",
        "start",
        "start_async",
    ]);
    let durable = durable();
    let listed = [errors, data, unique, sendable, others, durable].into_iter().flatten().collect();
    assert_eq!(exported(include_str!("lib.rs")), listed);
}

/// The names that come with the feature `durable`.
#[cfg(feature = "durable")]
fn durable() -> BTreeSet<&'static str> {
    let errors = names!(error: EnqueueError JobsError);
    let data =
        names!(data: Job JobError Jobs Limit NodeOptions OnLost OnPark Priority Schedules Unsent);
    // No error itself, so that every error can become one.
    errors.into_iter().chain(data).collect()
}

/// They stand in the source all the same.
#[cfg(not(feature = "durable"))]
fn durable() -> BTreeSet<&'static str> {
    let names = "EnqueueError Job JobError Jobs JobsError Limit NodeOptions OnLost OnPark Priority Schedules Unsent";
    names.split(' ').collect()
}

/// The engine may repeat a name of the facade only for the same type.
#[test]
fn no_name_of_the_engine_means_something_else_in_the_facade() {
    let engine = include_str!("engine.rs");
    let (engine, _) = engine.split_once("\npub mod ").expect("the modules come last");
    let facade = exported(include_str!("lib.rs"));
    let shared: Vec<&str> =
        exported(engine).into_iter().filter(|name| facade.contains(name)).collect();
    assert_eq!(
        shared,
        [
            "Clock",
            "DstGap",
            "DstOverlap",
            "ManualClock",
            "NextFireTime",
            "SystemClock",
            "Trigger",
            "TriggerContext",
            "Zone"
        ]
    );
}

#[test]
fn debug_output_is_never_empty() {
    let builder = crate::Scheduler::builder().environment([("PATH", "")]).settings("none.toml", "");
    let error = builder.expect_tasks(["none"]).spawn().expect_err("a fault");
    assert!(format!("{error:?}").contains("no task named `none`"), "{error:?}");
    let values: [&dyn Debug; 5] = [
        &crate::Schedule::default(),
        &crate::TaskList::default(),
        &crate::Pool::new(),
        &crate::Pause::new(),
        &crate::Stopped,
    ];
    assert!(values.iter().all(|value| !format!("{value:?}").is_empty()));
}
