#![deny(warnings)]

use scheduler::scheduled;

#[cfg(any())]
#[scheduled(fixed_rate = "1s")]
fn condition_before() {}

#[scheduled(fixed_rate = "1s")]
#[cfg(any())]
fn condition_after() {}

#[scheduled(fixed_rate = "1s")]
#[cfg_attr(all(), cfg(any()))]
fn condition_hidden() {}

#[scheduled(fixed_rate = "1s")]
#[deprecated]
fn old() {}

#[scheduled(fixed_rate = "1s")]
#[must_use]
#[track_caller]
fn result() -> Result<(), String> {
    Err(std::panic::Location::caller().line().to_string())
}

#[scheduled(fixed_rate = "1s")]
#[allow(unused_variables)]
fn allowance() {
    #![allow(unused_mut)]
    let mut unused = 1;
}

fn main() {
    let names: Vec<&str> = scheduler::__private::entries().iter().map(|entry| entry.name.rsplit("::").next().unwrap()).collect();
    assert_eq!(names, ["old", "result", "allowance"]);
    assert_eq!(result(), Err((line!()).to_string()));
}
