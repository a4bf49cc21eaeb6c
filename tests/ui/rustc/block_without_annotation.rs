use scheduler::scheduled;
use scheduler::scheduled as every;

struct Reports;

#[scheduled]
impl Reports {
    fn sweep(&self) {}
}

#[every]
impl Reports {
    #[every(fixed_rate = "5s")]
    fn report(&self) {}
}

fn main() {
    Reports.sweep();
}
