//! Whatever the scheduler can hand to a function.

#![deny(warnings)]

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use scheduler::{Clock, Run, Shutdown, State, scheduled};

struct Database;
struct Cache<T>(Mutex<Vec<T>>);

trait Mail: Send + Sync {
    fn send(&self);
}

trait Plain {
    fn name(&self) -> String;
}

#[scheduled(fixed_rate = "1s")]
fn state(_database: &Database, cache: &Cache<u8>) {
    cache.0.lock().unwrap().clear();
}

#[scheduled(fixed_rate = "1s")]
fn optional(database: Option<&Database>, _: std::option::Option<&'_ Cache<String>>) -> Result<(), String> {
    database.map(|_| ()).ok_or_else(|| "no database".to_owned())
}

#[scheduled(fixed_rate = "1s")]
fn objects(mail: &dyn Mail, plain: &(dyn Plain + Send + Sync), other: Option<&dyn Mail>) {
    mail.send();
    let _ = plain.name();
    if let Some(other) = other {
        other.send();
    }
}

#[scheduled(fixed_rate = "1s")]
fn by_value(run: Run, shutdown: Shutdown, clock: Arc<dyn Clock>, database: State<Database>, mail: Option<State<dyn Mail>>) {
    drop((run, shutdown, clock, database, mail));
}

#[scheduled(fixed_rate = "1s")]
fn lent(run: &Run, database: &Database) {
    let _ = (run.number(), database);
}

#[scheduled(fixed_rate = "1s")]
async fn lent_for_a_while(run: &scheduler::Run) {
    std::future::ready(run).await;
}

mod race {
    pub struct Run;
}

#[scheduled(fixed_rate = "1s")]
fn own_type(_: &race::Run) {}

#[scheduled(fixed_rate = "1s")]
async fn own_type_for_a_while(run: &race::Run, _: &Run) {
    std::future::ready(run).await;
}

#[scheduled(fixed_rate = "1s")]
async fn waits(database: &Database, mut run: Run, cache: Option<&Cache<u8>>, mail: &dyn Mail) -> Result<(), Box<dyn std::error::Error>> {
    std::future::ready(database).await;
    run = run.clone();
    std::future::ready((run, cache)).await;
    mail.send();
    Ok(())
}

#[scheduled(fixed_rate = "1s")]
async fn borrows(text: &String) -> Result<(), &str> {
    Err::<(), _>(text)
}

#[scheduled(fixed_rate = "1s")]
fn patterns(&Pair(_a, _b): &Pair, _: &Mutex<HashMap<String, u8>>) {}

struct Pair(u8, u8);

#[scheduled(fixed_rate = "1s")]
#[rustfmt::skip]
fn twelve(_: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8, _: &u8) {}

fn main() {
    assert_eq!(scheduler::__private::entries().len(), 12);
}
