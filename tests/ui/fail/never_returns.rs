use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn serve() -> ! {
    loop {}
}

fn main() {}
