//! The timer of a simulated node, in place of a thread.

use std::sync::{Arc, Weak};

use scheduler_core::{
    Clock, Due, Error, Fire, Fired, Now, Run, ScheduledThreadPool, Tick, Timer, VirtualWorkers,
};

/// A driver that the timer steps.
pub(super) trait StepNode: Send + Sync {
    /// Steps the node if its time has come.
    fn step_node(&self);
}

/// Steps the node whenever its time has come, on a virtual worker of its own.
pub(super) struct NodeTimer {
    /// Keeps the timer's pool.
    _pool: Arc<ScheduledThreadPool>,
    timer: Arc<Timer<Step>>,
}

struct Step(Weak<dyn StepNode>);

impl NodeTimer {
    pub(super) fn new(
        driver: Weak<dyn StepNode>,
        clock: &Arc<dyn Clock>,
        workers: &VirtualWorkers,
    ) -> Result<Self, Error> {
        let pool = ScheduledThreadPool::builder().core_size(1).clock(Arc::clone(clock));
        let pool = Arc::new(pool.virtual_workers(workers).build()?);
        let timer = pool.timer("scheduler-node", Step(driver));
        Ok(Self { _pool: pool, timer })
    }

    /// Arms the timer.
    pub(super) fn arm(&self, at: Tick, now: Now) {
        self.timer.arm(Due::Tick(at), now).perform();
    }

    /// Disarms the timer.
    pub(super) fn disarm(&self) {
        self.timer.disarm().perform();
    }
}

impl Fire for Step {
    fn fire(timer: &Arc<Timer<Self>>, _run: &Run) -> Fired {
        if let Some(driver) = timer.0.upgrade() {
            driver.step_node();
        }
        Fired::Done
    }

    fn finish(_timer: &Arc<Timer<Self>>, _run: &Run, _now: Now) {}

    fn clock_set_back(_timer: &Arc<Timer<Self>>, _now: Now) {}

    fn dropped(_timer: &Arc<Timer<Self>>) {}
}
