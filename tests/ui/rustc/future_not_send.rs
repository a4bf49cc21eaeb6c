use scheduler::scheduled;

use std::rc::Rc;

#[scheduled(fixed_rate = "5s")]
async fn waits() -> Result<(), String> {
    let shared = Rc::new(1);
    std::future::ready(()).await;
    drop(shared);
    Ok(())
}

fn main() {}
