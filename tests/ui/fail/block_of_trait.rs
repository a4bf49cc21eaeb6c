use scheduler::scheduled;

struct Reports;

trait Sweep {
    fn sweep(&self);
}

#[scheduled]
impl Sweep for Reports {
    #[scheduled(fixed_rate = "5s")]
    fn sweep(&self) {}
}

#[scheduled]
impl std::fmt::Display for Reports {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        Ok(())
    }
}

fn main() {
    Reports.sweep();
}
