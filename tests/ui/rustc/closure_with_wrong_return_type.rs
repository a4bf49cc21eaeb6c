use scheduler::{Schedule, Scheduler};

struct Silent;

fn main() {
    let daily = || Schedule::cron("@daily");
    let _ = Scheduler::builder().task("count", daily(), |_| 7_u32);
    let _ = Scheduler::builder().task("fails", daily(), |_| Err::<(), _>(Silent));
    let _ = Scheduler::builder().task("future", daily(), |_| async {});
    let _ = Scheduler::builder().task_async("count", daily(), async |_| 7_u32);
}
