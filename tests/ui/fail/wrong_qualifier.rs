use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
unsafe fn not_safe() {}

#[scheduled(fixed_rate = "5s")]
extern "C" fn foreign() {}

#[scheduled(fixed_rate = "5s")]
const fn constant() {}

#[scheduled(fixed_rate = "5s")]
const unsafe extern "C" fn all() {}

fn main() {}
