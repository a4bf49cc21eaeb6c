//! Reading cron expressions and finding fire times, beside the `croner` crate.
//!
//! `cargo bench -p benches --bench cron`. Each sample walks from one fire time to the next,
//! so that changes of the clock have their share; what never fires is asked from one instant.

use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds, Year};
use divan::{Bencher, black_box};
use scheduler_core::trigger::{CronTrigger, Zone};
use scheduler_expr::CronExpression;

fn main() {
    divan::main();
}

/// Ordinary expressions, days by `L W #`, rare ones, and what never fires.
const EXPRESSIONS: [&str; 12] = [
    "* * * * * *",
    "0 */15 * * * *",
    "0 0 9 * * MON-FRI",
    "0 30 2 * * *",
    "0 0 0 1 * *",
    "0 0 9 L * *",
    "0 0 9 15W * *",
    "0 0 9 * * FRI#2",
    "0 0 12 29 2 *",
    "0 0 0 29 2 MON",
    "0 0 0 30 2 *",
    "0 0 0 31 4,6 MON#5",
];

/// Without changes of the clock, and with them.
const ZONES: [&str; 2] = ["UTC", "Europe/Berlin"];

/// An expression and a zone.
#[derive(Clone, Copy)]
struct Case(&'static str, &'static str);

impl std::fmt::Display for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.0, self.1)
    }
}

fn cases() -> impl Iterator<Item = Case> {
    ZONES.into_iter().flat_map(|zone| EXPRESSIONS.map(|expression| Case(expression, zone)))
}

fn start() -> DateTime<Utc> {
    DateTime::from_timestamp(1_770_000_000, 0).expect("the second is in range")
}

/// Croner, as close to Spring's dialect as it goes.
fn croner(expression: &str) -> Cron {
    let parser = CronParser::builder().seconds(Seconds::Required).year(Year::Disallowed);
    parser.dom_and_dow(true).build().parse(expression).expect("croner reads the expression")
}

/// Our trigger.
fn trigger(Case(expression, zone): Case) -> CronTrigger {
    let expression = CronExpression::parse(expression).expect("the expression is valid");
    CronTrigger::new(expression, zone.parse().expect("the zone is known"))
}

/// Asks for the next fire time again and again; from the start when there is none.
fn walk<T: Clone>(bencher: Bencher<'_, '_>, start: T, next: impl Fn(&T) -> Option<T>) {
    let mut at = start.clone();
    bencher.bench_local(|| {
        at = next(black_box(&at)).unwrap_or_else(|| start.clone());
    });
}

#[divan::bench_group(name = "scheduler")]
mod ours {
    use super::*;

    #[divan::bench(args = EXPRESSIONS)]
    fn parse(expression: &str) -> CronExpression {
        CronExpression::parse(black_box(expression)).expect("the expression is valid")
    }

    #[divan::bench(args = EXPRESSIONS)]
    fn build_trigger(bencher: Bencher<'_, '_>, expression: &str) {
        let expression = CronExpression::parse(expression).expect("the expression is valid");
        bencher.bench_local(|| CronTrigger::new(black_box(&expression).clone(), Zone::UTC));
    }

    #[divan::bench(args = cases())]
    fn next(bencher: Bencher<'_, '_>, case: Case) {
        let trigger = trigger(case);
        walk(bencher, start(), |at| trigger.next_after(*at));
    }

    /// Matches only in gaps: found out once, known from then on.
    #[divan::bench]
    fn next_only_in_gaps(bencher: Bencher<'_, '_>) {
        let trigger = trigger(Case("0 30 2 ? 3 SUNL", "Europe/Berlin"));
        walk(bencher, start(), |at| trigger.next_after(*at));
    }
}

#[divan::bench_group(name = "croner")]
mod theirs {
    use super::*;

    #[divan::bench(args = EXPRESSIONS)]
    fn parse(expression: &str) -> Cron {
        croner(black_box(expression))
    }

    #[divan::bench(args = cases())]
    fn next(bencher: Bencher<'_, '_>, Case(expression, zone): Case) {
        let cron = croner(expression);
        let zone: Tz = zone.parse().expect("the zone is known");
        walk(bencher, start().with_timezone(&zone), |at| cron.find_next_occurrence(at, false).ok());
    }
}
