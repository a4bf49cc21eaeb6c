use std::sync::Arc;

use scheduler::{Extract, Run, Resolver, scheduled};

struct Config {
    verbose: bool,
}

struct Verbose(bool);

impl Extract for Verbose {
    type Source = Arc<Config>;

    fn resolve(resolver: &mut Resolver<'_>) -> Option<Self::Source> {
        resolver.state::<Config>()
    }

    fn extract(config: &Self::Source, _run: &Run) -> Self {
        Self(config.verbose)
    }
}

#[scheduled(fixed_rate = "1m")]
fn sweep(verbose: Verbose) {
    assert!(verbose.0);
}

#[scheduled(fixed_rate = "1m")]
async fn sweep_slowly(Verbose(verbose): Verbose) {
    assert!(verbose);
}

fn main() {
    assert_eq!(scheduler::__private::entries().len(), 2);
}
