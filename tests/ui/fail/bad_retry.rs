use scheduler::scheduled;

#[scheduled(fixed_rate = "5s", retry)]
fn nothing() {}

#[scheduled(fixed_rate = "5s", retry())]
fn empty() {}

#[scheduled(fixed_rate = "5s", retry = 3)]
fn number() {}

#[scheduled(fixed_rate = "5s", retry(3))]
fn nameless() {}

#[scheduled(fixed_rate = "5s", retry(max_attempts = 3, wait = "1s", colour = "red"))]
fn unknown() {}

#[scheduled(fixed_rate = "5s", retry(max = "many", max = 3, base = "0s", cap))]
fn values() {}

#[scheduled(fixed_rate = "5s", retry(max = -1))]
fn negative() {}

#[scheduled(fixed_rate = "5s", retry(max = 3), retry(max = 4))]
fn twice() {}

fn main() {}
