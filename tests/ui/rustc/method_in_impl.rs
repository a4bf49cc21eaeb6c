use scheduler::scheduled;

struct Reports;

impl Reports {
    #[scheduled(fixed_rate = "5s")]
    fn sweep() {}
}

fn main() {}
