//! The speed of the store, measured by hand on one machine.
//!
//! ```sh
//! cargo test --release -p scheduler-sqlite --test sqlite speed -- --ignored --nocapture
//! ```

use std::time::Instant;

use crate::common::{Folder, jobs, open, poll_of};
use scheduler_sqlite::{Sqlite, Synchronous};
use scheduler_store::{End, Enqueue, Finish, NewJob, Payload, Poll, Priority, Store, When};

fn enqueue(store: &Sqlite, count: u128, batch: u128) -> f64 {
    let requests: Vec<Enqueue> = (0..count / batch)
        .map(|number| {
            let mut request = jobs(number * batch..(number + 1) * batch, "noop");
            for job in &mut request.jobs {
                job.payload = Payload { version: 1, bytes: b"{\"i\":12345,\"sleep\":0}".to_vec() };
            }
            request
        })
        .collect();
    timed(count, || requests.iter().for_each(|request| drop(store.enqueue(request).unwrap())))
}

fn burn_down(store: &Sqlite, count: u128, batch: u32) -> f64 {
    let session = open(store, 1);
    let mut done = 0;
    timed(count, || {
        while done < count {
            let polled = store.poll(&poll_of(session, "noop", batch)).unwrap();
            let finish = |held| Finish { progress: None, session, held, end: End::Done };
            let requests: Vec<_> = polled.jobs.iter().map(|job| finish(job.held())).collect();
            store.finish(&requests).unwrap();
            done += requests.len() as u128;
        }
    })
}

#[expect(clippy::disallowed_methods, reason = "a measurement")]
fn timed(count: u128, step: impl FnOnce()) -> f64 {
    let start = Instant::now();
    step();
    count as f64 / start.elapsed().as_secs_f64()
}

#[test]
#[ignore = "a measurement"]
fn jobs_a_second() {
    for synchronous in [Synchronous::Normal, Synchronous::Full] {
        for (batch, count) in [(500, 100_000), (50, 50_000), (1, 2_000)] {
            let folder = Folder::new();
            let store = Sqlite::builder(folder.file()).synchronous(synchronous).open().unwrap();
            let enqueued = enqueue(&store, count, batch.into());
            let done = burn_down(&store, count, batch);
            println!(
                "{synchronous:?} by {batch}: enqueue {enqueued:.0}/s, poll and finish {done:.0}/s"
            );
        }
    }
}

/// The same work each time, for a profiler.
#[test]
#[ignore = "a measurement"]
fn one_burn_down() {
    let folder = Folder::new();
    let store = Sqlite::builder(folder.file()).synchronous(Synchronous::Normal).open().unwrap();
    enqueue(&store, 50_000, 500);
    println!("{:.0}/s", burn_down(&store, 50_000, 50));
}

/// Future jobs of a higher priority and jobs of unknown tasks cost nothing.
#[test]
#[ignore = "a measurement"]
fn jobs_a_second_beside_many_that_are_not_due() {
    let mut rates = Vec::new();
    for others in [0, 300_000] {
        let folder = Folder::new();
        let store = Sqlite::builder(folder.file()).synchronous(Synchronous::Normal).open().unwrap();
        for start in (0..others).step_by(10_000) {
            let start = 1_000_000 + start;
            let mut request = jobs(start..start + 10_000, "noop");
            for (number, job) in request.jobs.iter_mut().enumerate() {
                job.priority = Priority::Urgent;
                match number % 2 {
                    0 => job.when = When::After(std::time::Duration::from_secs(86_400)),
                    _ => {
                        *job =
                            NewJob { priority: Priority::Urgent, ..NewJob::new(job.id, "unknown") }
                    }
                }
            }
            store.enqueue(&request).unwrap();
        }
        enqueue(&store, 50_000, 500);
        rates.push(burn_down(&store, 50_000, 50));
        let session = open(&store, 2);
        let idle = timed(10_000, || {
            for _ in 0..10_000 {
                store.poll(&Poll { limit: 0, ..poll_of(session, "noop", 8) }).unwrap();
            }
        });
        println!("beside {others}: {:.0}/s; {idle:.0} idle polls a second", rates.last().unwrap());
    }
    println!("{:.2} of the rate without", rates[1] / rates[0]);
}
