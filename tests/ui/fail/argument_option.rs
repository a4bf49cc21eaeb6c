use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn owned(_database: Option<Database>) {}

#[scheduled(fixed_rate = "5s")]
fn boxed(_database: Option<Box<dyn Send>>) {}

fn main() {}
