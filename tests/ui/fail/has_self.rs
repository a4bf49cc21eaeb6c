use scheduler::scheduled;

struct Reports;

impl Reports {
    #[scheduled(fixed_rate = "5s")]
    fn borrowed(&self) {}

    #[scheduled(fixed_rate = "5s")]
    async fn owned(self) {}
}

trait Sweep {
    #[scheduled(fixed_rate = "5s")]
    fn provided(&mut self) {}
}

fn main() {}
