//! Async tasks use Tokio, and hold no thread while they wait.
//!
//! ```sh
//! cargo run -p examples --example alongside_tokio
//! ```
//!
//! The scheduler has one thread. Look at the order: the consumer waits for messages all the time, and
//! still the producer finds the thread free. At the end the consumer is asked to stop.
#![expect(clippy::needless_pass_by_value, reason = "that is how a task takes `Run` and the like")]

use std::time::Duration;

use scheduler::{Run, Scheduler, Shutdown, Until, scheduled};
use tokio::sync::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// A future: waits for a message or for the end, then for a timer of Tokio.
#[scheduled(initial_delay = "0s")]
async fn consume(inbox: &Mutex<UnboundedReceiver<String>>, shutdown: Shutdown) {
    let mut inbox = inbox.lock().await;
    println!("waiting for messages");
    loop {
        tokio::select! {
            biased; // What was sent before the end is read.
            Some(message) = inbox.recv() => {
                tokio::time::sleep(Duration::from_millis(10)).await;
                println!("got {message}");
            }
            () = shutdown.requested() => break,
        }
    }
    println!("no further message");
}

/// A plain function: runs on the scheduler's thread.
#[scheduled(fixed_rate = "200ms", initial_delay = "200ms")]
fn produce(outbox: &UnboundedSender<String>, run: Run) -> Result<(), &'static str> {
    println!("sending message {}", run.number());
    outbox.send(format!("message {}", run.number())).map_err(|_| "the receiver is gone")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (outbox, inbox) = unbounded_channel::<String>();
    let scheduler =
        Scheduler::builder().pool_size(1).manage(outbox).manage(Mutex::new(inbox)).spawn()?;
    scheduler.tasks().get("produce")?.wait_for_async(Until::runs(3)).await?;
    scheduler.shutdown_async().await?;
    Ok(())
}
