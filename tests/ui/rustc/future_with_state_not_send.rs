use std::rc::Rc;

use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
async fn waits(database: &Database) -> Result<(), String> {
    let shared = Rc::new(database);
    std::future::ready(()).await;
    drop(shared);
    Ok(())
}

fn main() {}
