use scheduler::scheduled;

struct Silent;

#[scheduled(fixed_rate = "5s")]
fn fails() -> Result<(), Silent> {
    Err(Silent)
}

fn main() {}
