use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn owned(_database: Database) {}

#[scheduled(fixed_rate = "5s")]
async fn number(_: &Database, _: u8) {}

fn main() {}
