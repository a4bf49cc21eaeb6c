use std::cell::Cell;

use scheduler::{State, scheduled};

trait Mail {}

#[scheduled(fixed_rate = "5s")]
fn counts(_count: &Cell<u8>) {}

#[scheduled(fixed_rate = "5s")]
async fn sends(_mail: Option<&dyn Mail>) {}

#[scheduled(fixed_rate = "5s")]
fn keeps(_count: State<std::rc::Rc<u8>>) {}

struct Counter {
    count: Cell<u8>,
}

#[scheduled]
impl Counter {
    #[scheduled(fixed_rate = "5s")]
    fn count(&self) {
        self.count.set(1);
    }
}

fn main() {}
