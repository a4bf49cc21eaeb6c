use scheduler::{job, scheduled};

struct Mailer;

impl Mailer {
    #[job(name = "send")]
    fn send(&self, #[payload] _to: String) {}
}

struct Sweeper;

#[scheduled]
impl Sweeper {
    #[job(name = "sweep")]
    fn sweep(&mut self) {}

    #[job(name = "twice")]
    #[job(name = "again")]
    fn twice(&self) {}

    #[job]
    fn unnamed(&self) {}

    #[scheduled(fixed_rate = "1s")]
    #[job(name = "both")]
    fn both(&self, #[payload] _days: u32) {}

    #[job(name = "late", fixed_rate = "1s")]
    fn late(&self) {}
}

struct Taken;

#[scheduled]
impl Taken {
    #[job(name = "taken")]
    fn run(&self) {}

    fn run_job(&self) {}
}

fn main() {}
