use scheduler::scheduled;

struct Reports;

#[scheduled]
impl Reports {
    // Neither of these is there, whatever is wrong with them.
    #[cfg(any())]
    #[scheduled(fixed_rate = "5 parsecs")]
    fn gone(&mut self) {}

    #[cfg_attr(any(), scheduled(cron = "0 0 25 * * *"))]
    fn not_annotated(&mut self) {}

    #[cfg(all())]
    #[scheduled(fixed_rate = "5 parsecs")]
    fn there(&self) {}

    #[cfg_attr(any(), scheduled(fixed_rate = "5s"))]
    #[cfg_attr(all(), scheduled(fixed_rate = "6s"))]
    fn annotated(&mut self) {}
}

fn main() {}
