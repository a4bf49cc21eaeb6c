use scheduler::{Clock, Run, Tasks, scheduled};

struct Database;

#[scheduled(fixed_rate = "5s")]
fn owned(_database: Option<Database>) {}

#[scheduled(fixed_rate = "5s")]
fn boxed(_database: Option<Box<dyn Send>>) {}

#[scheduled(fixed_rate = "5s")]
fn shared(_database: Option<std::sync::Arc<Database>>) {}

#[scheduled(fixed_rate = "5s")]
fn objects(_mail: Option<std::sync::Arc<dyn Mail + Send>>) {}

trait Mail: Send + Sync {}

#[scheduled(fixed_rate = "5s")]
fn own(_: Option<Run>, _: Option<scheduler::Shutdown>, _: Option<Tasks>, _: Option<std::sync::Arc<dyn Clock>>) {}

#[scheduled(fixed_rate = "5s")]
fn text(_greeting: Option<std::sync::Arc<str>>) {}

#[scheduled(fixed_rate = "5s")]
fn pointer(_pointer: Option<*const Database>) {}

fn main() {}
