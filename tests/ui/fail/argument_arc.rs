use std::sync::Arc;

use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn shared(_database: Arc<Database>) {}

#[scheduled(fixed_rate = "5s")]
fn nested(_database: std::sync::Arc<std::collections::HashMap<String, Database>>) {}

#[scheduled(fixed_rate = "5s")]
fn lasting(_database: Arc<Borrowed<'static>>) {}

struct Borrowed<'a>(&'a str);

#[scheduled(fixed_rate = "5s")]
fn text(_greeting: Arc<str>) {}

#[scheduled(fixed_rate = "5s")]
fn slice(_hosts: Arc<[u8]>) {}

#[scheduled(fixed_rate = "5s")]
fn twice(_database: Arc<Arc<Database>>) {}

#[scheduled(fixed_rate = "5s")]
fn run(_run: Arc<scheduler::Run>) {}

fn main() {}
