//! Skips are reported at growing distances while a run hangs.

use super::stage::*;
use crate::task::Policy;
use scheduler_expr::Overlap;

#[test]
fn the_first_skip_is_reported_while_the_run_hangs_and_counters_grow() {
    for overlap in [Overlap::Skip, Overlap::QueueOne] {
        let mut stage = Stage::new();
        let policy = Policy { overlap, ..Policy::default() };
        let control = stage.task(rate(1_000), policy, |_| ok(10_000));
        let skipped = || control.snapshot().counters.skipped_overlap;
        stage.until(0);
        assert_eq!((stage.heard().as_str(), skipped()), ("start 0", 0));
        // The one that follows is skipped when the next one takes its place.
        let first = if overlap == Overlap::Skip { 1 } else { 2 };
        for second in first..10 {
            stage.until(second * 1_000);
            let count = second - first + 1;
            assert_eq!(stage.heard(), format!("overlap {count}"), "{overlap:?} {second}");
            assert_eq!(skipped(), count, "{overlap:?}");
        }
        stage.until(10_000);
        let last = if overlap == Overlap::Skip { "start 10" } else { "overlap 9 | start 10" };
        assert_eq!(stage.heard(), last, "{overlap:?}");
        assert_eq!(skipped(), 9, "{overlap:?}");
    }
}

#[test]
fn a_fast_rate_behind_a_run_that_hangs_wakes_a_thread_seldom_and_counts_exactly() {
    for overlap in [Overlap::Skip, Overlap::QueueOne] {
        let mut stage = Stage::new();
        let policy = Policy { overlap, ..Policy::default() };
        let takes = |run: &crate::run::Run| ok(if run.number() == 1 { 20_000 } else { 0 });
        let control = stage.task(rate(1), policy, takes);
        stage.until(0);
        let before = stage.firings;
        stage.until(19_999);
        let firings = stage.firings - before;
        assert!((20..=30).contains(&firings), "{overlap:?}: {firings}");
        stage.until(20_000);
        assert_eq!(control.snapshot().counters.skipped_overlap, 19_999, "{overlap:?}");
        assert_eq!(control.snapshot().counters.runs, 2, "{overlap:?}");
    }
}

#[test]
fn the_rest_is_reported_before_the_end_of_the_run() {
    let mut stage = Stage::new();
    let _control = stage.task(rate(100), Policy::default(), |run| {
        if run.number() == 1 { fails(3_450) } else { ok(0) }
    });
    stage.until(3_450);
    let heard = stage.heard();
    assert!(
        heard.starts_with("start 0 | overlap 0.1 | overlap 0.2 | overlap 0.4 x2 | "),
        "{heard}"
    );
    let (_, last) = heard.rsplit_once(" | overlap").expect(&heard);
    assert_eq!(last, " 3.4 x8 | error 3.45");
}
