use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
fn kept(_database: &'static Database) {}

#[scheduled(fixed_rate = "5s")]
async fn maybe(_database: Option<&'static Database>) {}

#[scheduled(fixed_rate = "5s")]
fn text(_greeting: &'static str) {}

#[scheduled(fixed_rate = "5s")]
fn object(_mail: &'static (dyn Mail + Send)) {}

trait Mail {}

fn main() {}
