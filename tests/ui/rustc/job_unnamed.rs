#![deny(warnings)]

use scheduler::job;

#[job]
fn send_invoice() {}

fn main() {
    let _ = send_invoice::job();
}
