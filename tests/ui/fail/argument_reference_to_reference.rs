use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn twice(_database: &&Database) {}

#[scheduled(fixed_rate = "5s")]
fn text(_greeting: &&str) {}

#[scheduled(fixed_rate = "5s")]
fn optional(_database: Option<&&Database>) {}

fn main() {}
