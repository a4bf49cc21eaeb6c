use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
pub struct Struct;

#[scheduled(fixed_rate = "5s")]
#[derive(Clone)]
enum Enum {}

#[scheduled(fixed_rate = "5s")]
trait Trait {}

#[scheduled(fixed_rate = "5s")]
impl Struct {}

#[scheduled(fixed_rate = "5s")]
pub(crate) mod module {}

#[scheduled(fixed_rate = "5s")]
const CONSTANT: fn() = || {};

#[scheduled(fixed_rate = "5s")]
static STATIC: fn() = || {};

#[scheduled(fixed_rate = "5s")]
type Alias = fn();

#[scheduled(fixed_rate = "5s")]
pub use std::mem::drop as alias;

#[scheduled(fixed_rate = "5s")]
unsafe extern "C" {}

macro_rules! nothing {
    () => {};
}

#[scheduled(fixed_rate = "5s")]
nothing! {}

#[scheduled(fixed_rate = "5s")]
macro_rules! anything {
    () => {};
}

fn main() {}
