use scheduler::job;

#[job(name = "mail")]
struct Mail;

#[job(name = "twice")]
#[job(name = "thrice")]
fn twice() {}

fn main() {}
