use scheduler::job;

#[job(name = "text")]
fn text(#[payload] _text: &str) {}

#[job(name = "list")]
fn list(#[payload] _list: &'static [u8]) {}

#[job(name = "anything")]
fn anything(#[payload] _it: impl Into<String>) {}

#[job(name = "with-options")]
fn with_options(#[payload(json)] _it: String) {}

fn main() {}
