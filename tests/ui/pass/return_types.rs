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
fn counted() -> Result<(), Arc<dyn Error>> {
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
fn anything_shown() -> Result<(), impl std::fmt::Display> {
    Err::<(), _>(5)
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

fn main() {
    assert_eq!(scheduler::entries().len(), 9);
}
