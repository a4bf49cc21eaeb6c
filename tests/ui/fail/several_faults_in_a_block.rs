use scheduler::scheduled;

struct Reports;

#[scheduled]
impl Reports {
    #[scheduled(fixed_rate = "0s", zone = "UTC")]
    #[scheduled]
    fn sweep(&self, _: &str) {}

    #[scheduled(fixed_rate = "5s")]
    fn generic<T>(&self) {}

    #[scheduled(fixedRate = "5s")]
    pub const fn constant() -> usize {
        5
    }

    #[scheduled(fixed_rate = "5s")]
    fn right(&self) {}
}

fn main() {
    Reports.sweep("");
    Reports.generic::<u8>();
    Reports.right();
    let _ = [0; Reports::constant()];
}
