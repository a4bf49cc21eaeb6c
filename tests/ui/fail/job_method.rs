use scheduler::{job, scheduled};

struct Mailer;

impl Mailer {
    #[job(name = "send")]
    fn send(&self, #[payload] _to: String) {}
}

#[scheduled]
impl Mailer {
    #[job(name = "sweep")]
    fn sweep(&self) {}

    #[scheduled(fixed_rate = "1s")]
    fn tick(&self) {}
}

fn main() {}
