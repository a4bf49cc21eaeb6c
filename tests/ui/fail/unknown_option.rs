use scheduler::scheduled;

#[scheduled(fixedRate = "5s")]
fn camel_case() {}

#[scheduled(fixedDelayString = "5s")]
fn longer_name_of_spring() {}

#[scheduled(fixed_rte = "5s")]
fn misspelt() {}

#[scheduled(every = "5s")]
fn other_word() {}

#[scheduled(fixed_rate = "5s", colour = "red")]
fn nothing_like_it() {}

fn main() {}
