use scheduler::{job, scheduled};

#[job(name = "none", each(running = 5))]
fn none(#[payload] _it: u8) {}

#[job(name = "zero", limit(running = 0))]
fn zero() {}

#[job(name = "words", limit(rate = "100 per minute"))]
fn words() {}

#[job(name = "unit", limit(rate = "100/m"))]
fn unit() {}

#[job(name = "number", limit(rate = 100))]
fn number() {}

#[job(name = "never", limit(rate = "0/1m"))]
fn never() {}

#[job(name = "half", limit(rate = "0.5/1s"))]
fn half() {}

#[job(name = "burst", limit(rate = "10/1m", burst = 11))]
fn burst() {}

#[job(name = "alone", limit(burst = 11))]
fn alone() {}

#[job(name = "slow", limit(rate = "1/200y"))]
fn slow() {}

#[job(name = "years", limit(rate = "2/30000d", burst = 2))]
fn years() {}

#[job(name = "empty", limit())]
fn empty() {}

#[job(name = "twice", limit(running = 1, running = 2), limit(running = 3))]
fn twice() {}

#[job(name = "partitions", partition = _it, partition = _it)]
fn partitions(#[payload] _it: u8) {}

#[job(name = "comma", partition = _it limit(running = 1))]
fn comma(#[payload] _it: u8) {}

#[job(name = "outside", running = 5)]
fn outside() {}

#[job(name = "memory", tenant = _it)]
fn memory(#[payload] _it: u8) {}

#[scheduled(fixed_rate = "1s", limit(running = 1))]
fn in_memory() {}

#[scheduled(fixed_rate = "1s", name = "of-each", durable, each(running = 1), partition = "a")]
fn of_each() {}

#[job(name = "beside", each(running = 2, ordered), partition = _it)]
fn beside(#[payload] _it: u8) {}

#[job(name = "unordered", each(running = 1, on_park = "hold"), partition = _it)]
fn unordered(#[payload] _it: u8) {}

#[job(name = "all", limit(running = 1, ordered))]
fn all() {}

#[job(name = "full", limit(waiting = 0))]
fn full() {}

fn main() {}
