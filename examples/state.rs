//! The parameters of a task are values that the builder manages.
//!
//! ```sh
//! cargo run -p examples --example state
//! ```
//!
//! The first start fails on purpose: one error names all that is missing, before
//! anything has run. The second one gives the values, runs three orders through, and stops.
#![expect(clippy::needless_pass_by_value, reason = "that is how a task takes `Run` and the like")]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use scheduler::{Run, Scheduler, Until, scheduled};

/// Shared by all tasks, so what changes in it stands in a `Mutex`.
struct Orders(Mutex<VecDeque<&'static str>>);

impl Orders {
    fn next(&self) -> Option<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// A service behind a trait: a test manages a fake in its place.
trait Mail: Send + Sync {
    fn send(&self, text: &str);
}

struct PrintedMail;

impl Mail for PrintedMail {
    fn send(&self, text: &str) {
        println!("mail: {text}");
    }
}

struct Signature(&'static str);

/// `&T` is a managed value, `&dyn Trait` a managed service; `Option<&T>` may be missing; `Run` is
/// this run.
#[scheduled(fixed_delay = "20ms")]
fn confirm(orders: &Orders, mail: &dyn Mail, signature: Option<&Signature>, run: Run) {
    let Some(order) = orders.next() else { return };
    let signature = signature.map_or("thank you", |signature| signature.0);
    mail.send(&format!("{}. {order} is on its way, {signature}", run.number()));
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Err(error) = Scheduler::builder().spawn() {
        println!("{error}");
    }
    let mail: Arc<dyn Mail> = Arc::new(PrintedMail);
    let scheduler = Scheduler::builder()
        .manage(Orders(Mutex::new(VecDeque::from(["tea", "jam", "bread"]))))
        .manage_shared(mail)
        .manage(Signature("yours faithfully"))
        .spawn()?;
    scheduler.wait_for("confirm", Until::runs(3), Duration::from_secs(60))?;
    scheduler.shutdown()?;
    Ok(())
}
