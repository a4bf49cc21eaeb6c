use scheduler::scheduled;

#[scheduled(fixedRate = "5s", cron = "0 0 25 * * *", zone = "Europe/Belrin", name = "")]
unsafe fn poll(_inbox: &str) {}

#[scheduled(fixed_rate = "0s", initial_delay = "5x")]
#[scheduled(cron = "0 0 25 * * *")]
#[scheduled(fixed_rate = "5s")]
fn thrice<T>(_: T) {}

fn main() {
    // The functions are still there, so that nothing follows on.
    unsafe { poll("") };
    thrice(1);
}
