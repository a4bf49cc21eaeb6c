use scheduler::scheduled;

#[scheduled(cron = "#{@bean.cron}")]
fn report() {}

#[scheduled(fixed_rate = "#{5 * 1000}")]
fn tick() {}

fn main() {}
