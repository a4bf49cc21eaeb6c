use scheduler::scheduled;

struct Reports;

#[scheduled]
impl Reports {
    #[scheduled(fixed_rate = "5s")]
    fn sweep(&self) {
        let x = ;
    }
}

fn main() {
    Reports.sweep();
}
