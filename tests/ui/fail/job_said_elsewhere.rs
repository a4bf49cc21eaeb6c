use scheduler::job;

#[job(name = "unique", unique = true)]
fn unique() {}

#[job(name = "backoff", backoff = "5s")]
fn backoff() {}

#[job(name = "delay", delay = "5s")]
fn delay() {}

fn main() {}
