//! The methods of a managed value.

#![deny(warnings, unused_qualifications)]

use std::sync::Mutex;

use scheduler::{Attribute, Run, State, scheduled};

pub struct Reports {
    sent: Mutex<Vec<u64>>,
}

/// Documented.
#[scheduled]
impl Reports {
    #![allow(clippy::needless_pass_by_value)]

    /// A constant with a block in it.
    pub const LIMIT: usize = { 5 };

    pub fn new() -> Self {
        Self { sent: Mutex::new(Vec::new()) }
    }

    /// Documented, and annotated twice.
    #[scheduled(fixed_delay = "30s", initial_delay = "5s")]
    #[inline]
    #[scheduler::scheduled(cron = "0 0 9 * * *", name = "daily-sweep")]
    fn sweep(&self) {
        self.sent.lock().unwrap().clear();
    }

    #[scheduled(fixed_rate = "1m")]
    pub async fn report(&self, run: Run, other: &Reports) -> Result<(), String> {
        std::future::ready(other).await;
        self.sent.lock().unwrap().push(run.number());
        Ok(())
    }

    #[scheduled(fixed_rate = "1m",)]
    fn without_value() {}

    #[scheduled(fixed_rate = "1m")]
    fn with_self_type(self: &Self, _other: &Self, _kept: State<Self>, _all: Option<&Mutex<Vec<Self>>>) -> Result<(), Box<dyn std::error::Error>> {
        Ok(())
    }

    #[scheduled(fixed_rate = "1m")]
    #[deprecated]
    fn r#type(&self) {}

    fn arrays(&self) -> [u8; { let one = 1; 2 + one }] {
        [0; 3]
    }

    #[cfg(any())]
    #[scheduled(fixed_rate = "1m")]
    fn absent(&self) {}

    #[cfg(not(any()))]
    #[cfg_attr(any(), scheduled(fixed_rate = "2m"))]
    #[cfg_attr(not(any()), scheduled(fixed_rate = "3m"), must_use)]
    #[cfg_attr(not(any()), cfg_attr(all(), scheduled(fixed_rate = "4m", name = "nested")))]
    fn conditional(&self) -> Result<(), String> {
        Ok(())
    }

    #[scheduled(fixed_rate = "1m")]
    #[cfg_attr(all(), cfg(any()))]
    fn absent_too(&self) {}

    #[scheduled(fixed_rate = "1m")]
    #[cfg_attr(all(), cfg(all()), inline, cfg_attr(all(), must_use, cfg(all())))]
    fn with_more_than_a_condition(&self) -> Result<(), String> {
        Ok(())
    }

    #[scheduled(fixed_rate = "1m")]
    fn any_lifetime(&'_ self) {}

    #[scheduled(fixed_rate = "1m")]
    fn any_lifetime_of_self_type(self: &'_ Self) {}

    #[scheduled(fixed_rate = "1m")]
    fn by_name(self: &Reports) {}
}

mod generic {
    pub(crate) struct Store<T>(pub(crate) T);
}

#[scheduled]
impl generic::Store<u8> {
    #[scheduled(fixed_rate = "1m")]
    fn flush(&self) {
        let _ = self.0;
    }
}

pub struct View<'a, T>(pub &'a T);

#[scheduled]
impl View<'_, &(u8, &str)> {
    #[scheduled(fixed_rate = "1m")]
    fn with_elided_lifetimes(&self, _other: &Self, _kept: State<Self>) {}
}

#[scheduled]
impl View<'_, fn(&str) -> &str> {
    #[scheduled(fixed_rate = "1m")]
    fn with_function(&self, _other: &Self) {}
}

#[scheduled]
impl generic::Store<u16> {
    #[scheduled(fixed_rate = "1m", name = "flush-wide")]
    fn flush_wide(&self) {}
}

fn main() {
    let entries = scheduler::__private::entries();
    let mut names: Vec<&str> = entries.iter().map(|e| e.name.trim_start_matches(e.module_path)).collect();
    let sorted_by_line = [
        "::Reports::sweep",
        "daily-sweep",
        "::Reports::report",
        "::Reports::without_value",
        "::Reports::with_self_type",
        "::Reports::type",
        "::Reports::conditional",
        "nested",
        "::Reports::with_more_than_a_condition",
        "::Reports::any_lifetime",
        "::Reports::any_lifetime_of_self_type",
        "::Reports::by_name",
        "::Store::flush",
        "::View::with_elided_lifetimes",
        "::View::with_function",
        "flush-wide",
    ];
    assert_eq!(names, sorted_by_line);
    assert_eq!(entries[0].function, "Reports::sweep");
    assert_eq!(entries[6].attribute(Attribute::FixedRate), Some("3m"));
    names.dedup();
    let reports = Reports::new();
    reports.sweep();
    assert_eq!(reports.arrays().len() + Reports::LIMIT, 8);
    reports.conditional().unwrap();
    let _ = generic::Store(5_u8);
}
