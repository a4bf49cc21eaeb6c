use std::sync::Arc;

use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn shared(_database: Arc<Database>) {}

#[scheduled(fixed_rate = "5s")]
fn nested(_database: std::sync::Arc<std::collections::HashMap<String, Database>>) {}

fn main() {}
