use std::sync::Arc;

use scheduler::scheduled;

struct Reports;

#[scheduled]
impl Reports {
    #[scheduled(fixed_rate = "5s")]
    fn changed(&mut self) {}

    #[scheduled(fixed_rate = "5s")]
    async fn owned(self) {}

    #[scheduled(fixed_rate = "5s")]
    fn shared(self: Arc<Self>) {}

    #[scheduled(fixed_rate = "5s")]
    fn kept(&'static self) {}

    #[scheduled(fixed_rate = "5s")]
    fn lent(self: &mut Self) {}
}

fn main() {
    Reports.changed();
}
