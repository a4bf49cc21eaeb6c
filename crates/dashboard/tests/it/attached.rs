//! The dashboard beside a scheduler whose start does not return.

use std::net::TcpListener;
use std::sync::mpsc::channel;

use scheduler::{Schedule, Scheduler};
use scheduler_dashboard::Dashboard;

/// The messages at level `ERROR` about a dashboard at this address, and the number of tasks that run all the same.
fn errors_of(dashboard: Dashboard, address: String) -> (Vec<String>, usize) {
    let (says, said) = channel();
    let builder = Scheduler::builder().tasks(scheduler::tasks![]).environment([("PATH", "")]);
    let builder = builder.messages(move |text| drop(says.send(text.to_owned())));
    let builder = builder.task("purge", Schedule::fixed_rate("1h").initial_delay("1h"), |_| {});
    let scheduler = dashboard.attach(builder, address).spawn().expect("the tasks run");
    let running = scheduler.tasks().list().len();
    scheduler.shutdown().expect("it stops");
    (said.iter().filter(|text| text.starts_with("ERROR ")).collect(), running)
}

#[test]
fn an_address_in_use_is_an_error_in_the_log_and_the_tasks_run() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let (errors, running) = errors_of(Dashboard::new(), address.to_string());
    let [error] = &*errors else { panic!("{errors:?}") };
    let start = format!(
        "ERROR scheduler: an after_start failed: the dashboard cannot be served: {address}: "
    );
    assert!(error.starts_with(&start), "{error}");
    assert!(error.contains("; help: name another port"), "{error}");
    assert_eq!(running, 1);
}

#[test]
fn an_open_address_without_a_token_is_an_error_in_the_log() {
    let (errors, running) = errors_of(Dashboard::new(), "0.0.0.0:0".to_owned());
    let [error] = &*errors else { panic!("{errors:?}") };
    assert!(
        error.contains("the dashboard has no token; help: Dashboard::new().operator("),
        "{error}"
    );
    assert_eq!(running, 1);
}
