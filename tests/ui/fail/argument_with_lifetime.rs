use scheduler::scheduled;

struct Database;

#[scheduled(fixed_rate = "5s")]
async fn lent<'a>(_database: Option<&Database>) {}

#[scheduled(fixed_rate = "5s")]
fn named<'a, 'b: 'a>() {}

fn main() {}
