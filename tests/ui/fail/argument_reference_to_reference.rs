use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn twice(_database: &&Database) {}

fn main() {}
