use std::rc::Rc;

use scheduler::scheduled;

struct Database;

struct Cache {
    _entries: Rc<Vec<u8>>,
}

#[scheduled(fixed_rate = "5s")]
fn by_value(_database: Rc<Database>) {}

#[scheduled(fixed_rate = "5s")]
fn by_reference(_database: &Rc<Database>) {}

#[scheduled(fixed_rate = "5s")]
fn inside(_cache: &Cache) {}

fn main() {}
