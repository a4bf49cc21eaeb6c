use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn unfinished() {
    let x = ;
}

fn main() {}
