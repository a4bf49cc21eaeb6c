use scheduler::scheduled;

trait Mail {}

#[scheduled]
impl dyn Mail {
    #[scheduled(fixed_rate = "5s")]
    fn send(&self) {}
}

fn main() {}
