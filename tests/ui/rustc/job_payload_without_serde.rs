use scheduler::job;

struct Invoice {
    number: u32,
}

#[job(name = "plain")]
fn plain(#[payload] invoice: Invoice) {
    println!("{}", invoice.number);
}

#[job(name = "waits")]
async fn waits(#[payload] invoice: Vec<Invoice>) {
    println!("{}", invoice.len());
}

fn main() {}
