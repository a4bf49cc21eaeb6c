use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn count() -> u32 {
    0
}

#[scheduled(fixed_rate = "5s")]
fn value_in_result() -> Result<u32, std::fmt::Error> {
    Ok(0)
}

#[scheduled(fixed_rate = "5s")]
async fn names() -> Vec<String> {
    Vec::new()
}

fn main() {}
