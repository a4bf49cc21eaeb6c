use scheduler::scheduled;

#[scheduled(fixed_rate = "5s")]
fn future() -> impl Future<Output = ()> {
    async {}
}

#[scheduled(fixed_rate = "5s")]
fn path() -> impl std::future::Future<Output = Result<(), String>> + Send {
    async { Ok(()) }
}

fn main() {}
