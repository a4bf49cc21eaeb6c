use scheduler::scheduled;

#[scheduled(fixed_rate = 5u64)]
fn number_of_a_type() {}

#[scheduled(fixed_rate = 5usize, time_unit = "minutes")]
fn beside_a_unit() {}

#[scheduled(fixed_rate = 5sec)]
fn unit_in_full() {}

#[scheduled(fixed_rate = 5parsecs)]
fn unit_of_length() {}

#[scheduled(fixed_rate = "5s", retry(max = 3u32))]
fn attempts() {}

fn main() {}
