use scheduler::scheduled;

struct Reports;

#[scheduled]
impl Reports {
    #[scheduled(fixed_rate = "5s")]
    fn count(&self) -> usize {
        5
    }

    #[scheduled(fixed_rate = "5s")]
    async fn names(&self) -> Vec<String> {
        Vec::new()
    }
}

fn main() {}
