//! An import that says how far it is, while it runs and at its end.
//!
//! ```sh
//! cargo run -p examples --example import
//! ```
//!
//! It keeps its job in `import-example.db`. The page and `scheduler jobs` show the same.

use std::error::Error;
use std::time::Duration;

use scheduler::store::{JobState, Sqlite};
use scheduler::{NodeOptions, Run, Scheduler, job};

/// The progress goes with the next renewal of the lease, so that it may be reported for each row.
#[job(name = "import")]
async fn import(#[payload] pages: u32, run: Run) {
    for page in 1..=pages {
        run.sleep_async(Duration::from_millis(300)).await; // the work
        run.progress(f64::from(page) / f64::from(pages), format!("page {page} of {pages}"));
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let store = Sqlite::open("import-example.db")?;
    // A short lease is renewed often: here each two thirds of a second.
    let node = NodeOptions::default().lease(Duration::from_secs(2));
    let scheduler = Scheduler::builder().store(store).node(node).spawn()?;
    let jobs = scheduler.jobs()?;
    let id = jobs.enqueue(import::job(7))?.id();
    let mut shown = String::new();
    loop {
        let job = jobs.wait(id, Duration::from_millis(200))?;
        if let Some(progress) = &job.progress {
            let text = format!("{:.0} %: {}", progress.fraction() * 100.0, progress.text());
            if text != shown {
                println!("{text}");
                shown = text;
            }
        }
        if job.state == JobState::Done {
            break;
        }
    }
    scheduler.shutdown()?;
    Ok(())
}
