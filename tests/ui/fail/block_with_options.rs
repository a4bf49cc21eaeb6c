use scheduler::scheduled;

struct Reports;

#[scheduled(fixed_rate = "5s", name = "reports", colour = "red")]
impl Reports {
    #[scheduled(fixed_rate = "5s")]
    fn sweep(&self) {}
}

fn main() {
    Reports.sweep();
}
