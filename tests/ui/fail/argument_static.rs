use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn kept(_database: &'static Database) {}

#[scheduled(fixed_rate = "5s")]
async fn maybe(_database: Option<&'static Database>) {}

fn main() {}
