use scheduler::scheduled;

trait Sweep {
    #[scheduled(fixed_rate = "5s")]
    fn required();
}

unsafe extern "C" {
    #[scheduled(fixed_rate = "5s")]
    fn declared();
}

fn main() {}
