//! Two applications in the same tables.

use std::error::Error;
use std::sync::mpsc::{Receiver, channel};

use scheduler::store::{Model, Store as _};
use scheduler::{NodeOptions, Scheduler, TaskList, job, tasks};

#[job(name = "sell", timeout = "10m")]
fn sell() {}

#[job(name = "pay", timeout = "10m")]
fn pay() {}

/// A process of an application, and what it says.
fn process_of(application: &str, store: &Model, tasks: TaskList) -> (Scheduler, Receiver<String>) {
    let (sender, messages) = channel();
    let node = NodeOptions::default().application(application).label("one");
    let builder = Scheduler::builder().environment([("PATH", "")]).store(store.clone()).node(node);
    let builder = builder.tasks(tasks).messages(move |message| {
        // The receiver is dropped after the first ones.
        drop(sender.send(message.to_string()));
    });
    (builder.spawn().expect("a right scheduler"), messages)
}

#[test]
fn an_application_that_shares_its_tables_with_another_warns_at_its_start()
-> Result<(), Box<dyn Error>> {
    let model = Model::new();
    let (shop, _) = process_of("shop", &model, tasks![sell]);
    while model.sessions()?.is_empty() {
        std::thread::yield_now();
    }
    let (bank, second) = process_of("bank", &model, tasks![pay]);
    let warning = second.iter().find(|message| message.starts_with("WARN")).expect("a warning");
    assert_eq!(
        warning,
        "WARN  scheduler: `bank` and `shop` (process one) have no task in common and use the same tables, so that each \
         runs ticks of both: memory\n      help: open another store; or, if `bank` and `shop` are one application, \
         .application(\"shop\") in the NodeOptions of both"
    );
    shop.shutdown()?;
    bank.shutdown()?;
    Ok(())
}
