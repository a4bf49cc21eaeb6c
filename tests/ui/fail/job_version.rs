use scheduler::job;

#[job(name = "zero", version = 0)]
fn zero(#[payload] _it: u8) {}

#[job(name = "none", version = 2)]
fn none() {}

#[job(name = "first", upgrade = from_v1)]
fn first(#[payload] _it: u8) {}

#[job(name = "text", version = 2, upgrade = "from_v1")]
fn text(#[payload] _it: u8) {}

#[job(name = "other", version = 2, upgrade = from_text)]
fn other(#[payload] _it: u8) {}

fn from_text(old: &str) -> Result<u8, String> {
    old.parse().map_err(|_| "no number".to_owned())
}

#[job(name = "blank", alias = " blank")]
fn blank(#[payload] _it: u8) {}

fn main() {}
