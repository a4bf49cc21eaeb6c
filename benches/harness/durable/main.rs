//! Our durable jobs as a peer: PostgreSQL or SQLite, as the address of the database says.

use std::time::Duration;

use common::{Error, Payload, Spec, fast, url};
use scheduler::store::{Postgres, Priority, Sqlite};
use scheduler::{Builder, Jobs, NodeOptions, Run, Scheduler, job, tasks};

#[job(name = "noop")]
async fn noop(#[payload] (i, sleep): (u64, u64), run: Run) {
    common::body(Payload { i, sleep: 0 }).await;
    if sleep > 0 {
        run.sleep_async(Duration::from_millis(sleep)).await;
    }
}

/// Every verb but `work` is a process that only enqueues, as a web server beside its workers.
struct Ours {
    client: Option<(Scheduler, Jobs)>,
}

fn builder() -> Result<Builder, Error> {
    let builder = Scheduler::builder().tasks(tasks![noop]);
    Ok(match url().strip_prefix("sqlite://") {
        Some(path) => builder.store(Sqlite::open(path)?),
        None => builder.store(Postgres::connect(&url())?),
    })
}

impl common::Peer for Ours {
    async fn open() -> Result<Self, Error> {
        if std::env::args().nth(1).is_some_and(|verb| verb == "work") {
            return Ok(Self { client: None });
        }
        let scheduler = builder()?.enqueue_only().spawn()?;
        let jobs = scheduler.jobs()?;
        Ok(Self { client: Some((scheduler, jobs)) })
    }

    /// The tables are made when the store is opened.
    async fn setup(&self) -> Result<(), Error> {
        Ok(())
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
        let (_, client) = self.client.as_ref().ok_or("this process runs jobs")?;
        match jobs.len() {
            1 => client.enqueue(jobs.remove(0)).map(drop)?,
            _ => client.enqueue_all(jobs).map(drop)?,
        }
        Ok(())
    }

    async fn work(&self) -> Result<(), Error> {
        let options = NodeOptions::default();
        let options = if fast() { options.concurrency(500) } else { options };
        let _kept = builder()?.node(options).spawn()?;
        std::future::pending().await
    }
}

fn main() {
    common::run::<Ours>();
}
