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
use std::mem::drop as alias;

#[scheduled(fixed_rate = "5s")]
unsafe extern "C" {}

fn main() {}
