use scheduler::scheduled;

struct Reports<T>(T);

#[scheduled]
impl<T: Send> Reports<T> {
    #[scheduled(fixed_rate = "5s")]
    fn sweep(&self) {}
}

struct Lent<'a>(&'a str);

#[scheduled]
impl<'a> Lent<'a> {
    #[scheduled(fixed_rate = "5s")]
    fn sweep(&self) {}
}

fn main() {
    Reports(5).sweep();
    Lent("").sweep();
}
