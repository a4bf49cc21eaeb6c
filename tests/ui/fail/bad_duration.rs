use scheduler::scheduled;

#[scheduled(fixed_rate = "5x")]
fn unit() {}

#[scheduled(fixed_delay = "1s 1h")]
fn order() {}

#[scheduled(initial_delay = "P1Y")]
fn iso() {}

#[scheduled(fixed_rate = "99999999999999999999d")]
fn too_long() {}

#[scheduled(initial_delay = "99999999999d")]
fn long_delay() {}

#[scheduled(fixed_rate = "1s", timeout = "36526d")]
fn long_timeout() {}

#[scheduled(fixed_rate = "-5s")]
fn negative_rate() {}

#[scheduled(fixed_rate = "5s", initial_delay = "-1s")]
fn negative_delay() {}

#[scheduled(fixed_delay = -1)]
fn negative_number() {}

#[scheduled(fixed_rate = "0s")]
fn zero_rate() {}

#[scheduled(fixed_delay = 0, time_unit = "seconds")]
fn zero_delay() {}

#[scheduled(fixed_rate = "5s", timeout = "0s", jitter = "0s")]
fn zero_timeout() {}

#[scheduled(fixed_rate = "1000")]
fn text_without_unit() {}

#[scheduled(fixed_delay = 1000)]
fn number_without_unit() {}

#[scheduled(fixed_rate = "5s", timeout = 30)]
fn timeout_without_unit() {}

fn main() {}
