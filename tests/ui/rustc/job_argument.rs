use scheduler::job;

struct Invoice;

#[job(name = "send-invoice")]
fn send_invoice(_invoice: Invoice) {}

fn main() {}
