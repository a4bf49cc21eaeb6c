use scheduler::cron;

fn main() {
    let _ = cron!("0 0 25 * * *");
    let _ = cron!("0 0 0 30 2 *");
    let _ = cron!("${report.cron:0 0 9 * *}");
    let _ = cron!(5);
    let _ = cron!("0 0 9 * * *", "Europe/Berlin");
}
