use std::borrow::Cow;
use std::error::Error;
use std::sync::Arc;

use scheduler::scheduled;

type Alias = std::io::Result<()>;
type Unit = ();

#[scheduled(fixed_rate = "1s")]
fn unit() -> () {}

#[scheduled(fixed_rate = "1s")]
fn unit_alias() -> Unit {}

#[scheduled(fixed_rate = "1s")]
fn alias() -> Alias {
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
fn text() -> Result<(), Cow<'static, str>> {
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
fn not_send() -> Result<(), Box<dyn Error>> {
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
fn counted() -> Result<(), Arc<dyn Error + Send + Sync>> {
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
fn some_error() -> Result<(), impl Error + Send + Sync> {
    Err::<(), _>(std::fmt::Error)
}

#[scheduled(fixed_rate = "1s")]
fn boxed() -> Result<(), Box<std::io::Error>> {
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
async fn async_not_send() -> Result<(), Box<dyn Error>> {
    std::future::ready(()).await;
    Err("late".into())
}

#[scheduled(fixed_rate = "1s")]
async fn with_where_clause() -> Result<(), String>
where
    String: Send,
{
    Ok(())
}

/// Closures, futures and async closures return the same types.
fn closures() -> scheduler::Builder {
    let daily = || scheduler::Schedule::cron("@daily");
    scheduler::Scheduler::builder()
        .task("unit", daily(), |_| {})
        .task("alias", daily(), |_| alias())
        .task("text", daily(), |_| text())
        .task("not_send", daily(), |_| not_send())
        .task("counted", daily(), |_| counted())
        .task("boxed", daily(), |_| boxed())
        .task("panic", daily(), |_| panic!("no luck"))
        .task("loop", daily(), |_| {
            loop {
                std::thread::park();
            }
        })
        .task_async("async panic", daily(), async |_| panic!("no luck"))
        .task_async("future", daily(), |_| async_not_send())
        .task_async("async closure", daily(), async |_| text())
}

fn main() {
    let plan = closures().tasks(scheduler::tasks![]).dry_run().unwrap().to_string();
    assert!(plan.contains("async closure"), "{plan}");
    assert_eq!(scheduler::__private::entries().len(), 10);
}
