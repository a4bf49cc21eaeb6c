//! Our durable jobs as a peer: PostgreSQL or SQLite, as the address of the database says.

use std::time::Duration;

use common::{Error, Payload, Spec, fast, url};
use scheduler::store::{Postgres, Priority, Sqlite};
use scheduler::{Jobs, NodeOptions, Run, Scheduler, job, tasks};

#[job(name = "noop")]
async fn noop(#[payload] (i, sleep): (u64, u64), run: Run) {
    common::body(Payload { i, sleep: 0 }).await;
    if sleep > 0 {
        run.sleep_async(Duration::from_millis(sleep)).await;
    }
}

/// Begun at the first use, so that a worker has one node, and each other verb one that claims nothing.
struct Ours;

fn begin(options: NodeOptions) -> Result<(Scheduler, Jobs), Error> {
    let builder = Scheduler::builder().tasks(tasks![noop]).node(options);
    let builder = match url().strip_prefix("sqlite://") {
        Some(path) => builder.store(Sqlite::open(path)?),
        None => builder.store(Postgres::connect(&url())?),
    };
    let scheduler = builder.spawn()?;
    let jobs = scheduler.jobs()?;
    Ok((scheduler, jobs))
}

thread_local! {
    static CLIENT: std::cell::OnceCell<(Scheduler, Jobs)> = const { std::cell::OnceCell::new() };
}

fn client() -> Result<Jobs, Error> {
    CLIENT.with(|client| {
        if client.get().is_none() {
            drop(client.set(begin(NodeOptions::default().queues(["none"]))?));
        }
        let known = client.get().map(|(_, jobs)| jobs.clone());
        known.ok_or_else(|| "no client".into())
    })
}

impl common::Peer for Ours {
    async fn open() -> Result<Self, Error> {
        Ok(Self)
    }

    async fn setup(&self) -> Result<(), Error> {
        let (scheduler, _) = begin(NodeOptions::default().queues(["none"]))?;
        Ok(scheduler.shutdown()?)
    }

    async fn add(&self, payloads: Vec<Payload>, spec: &Spec) -> Result<(), Error> {
        let job = |Payload { i, sleep }| {
            let job = noop::job((i, sleep));
            let job = if spec.high { job.priority(Priority::High) } else { job };
            match spec.future {
                Some(seconds) => job.after(Duration::from_secs(seconds)),
                None => job,
            }
        };
        let mut jobs: Vec<_> = payloads.into_iter().map(job).collect();
        let client = client()?;
        match jobs.len() {
            1 => client.enqueue(jobs.remove(0)).map(drop)?,
            _ => client.enqueue_all(jobs).map(drop)?,
        }
        Ok(())
    }

    async fn work(&self) -> Result<(), Error> {
        let options = NodeOptions::default();
        let _kept = begin(if fast() { options.concurrency(500) } else { options })?;
        std::future::pending().await
    }
}

fn main() {
    common::run::<Ours>();
}
