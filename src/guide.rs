//! Guides, to be read from the beginning.
//!
//! | guide | for whom |
//! |---|---|
//! | [`getting_started`] | those who write their first task |
//! | [`from_spring`] | those who know `@Scheduled` |
//! | [`policies`] | those who want to know what happens when things do not go as planned |
//! | [`settings`] | those who change schedules without a build |
//! | [`production`] | those who run a program: signals, containers, zones, health, several instances |
//! | [`durable`] | those whose jobs have to survive a restart, or are shared by processes |
//! | [`cluster`] | those who run several processes on a store |
//! | [`how_it_works`] | those who want to know what happens between the annotation and the run |
//! | [`stability`] | those who update: what may change, and where it runs |
//!
//! A further one, on tests of schedules, is the module `testing`, which comes with the feature of that
//! name. The same texts are files in the folder `docs` of the repository, whose links lead to files; the
//! links that stand here before each text lead to the documentation instead, because the first wins.

/// Where a link leads to a file that is no page of the documentation.
macro_rules! in_repository {
    ($link:literal, $path:literal) => {
        concat!("[", $link, "]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/", $path)
    };
}

/// [arguments]: macro@crate::scheduled#arguments
/// [documentation]: crate::guide
/// [features]: crate#features
/// [server]: crate::guide::production#beside-a-server
/// [testing]: ../../testing/index.html
#[doc = include_str!("../docs/getting-started.md")]
pub mod getting_started {}

/// [scheduled]: macro@crate::scheduled
/// [testing]: ../../testing/index.html
/// [production]: crate::guide::production
/// [limit]: crate::guide::production#the-limit-of-the-stop
/// [policies]: crate::guide::policies
/// [durable]: crate::guide::durable#operating-it
#[doc = include_str!("../docs/from-spring.md")]
pub mod from_spring {}

/// [durable]: crate::guide::durable#policies-across-a-restart
#[doc = include_str!("../docs/policies.md")]
pub mod policies {}

/// [testing]: ../../testing/index.html#3-is-everything-there
#[doc = include_str!("../docs/settings.md")]
pub mod settings {}

/// [dry-run]: crate::guide::settings#the-dry-run
/// [builder]: crate::Builder::messages
/// [listener]: crate::Builder::listener
/// [seed]: crate::Builder::seed
/// [durable]: crate::guide::durable
#[doc = include_str!("../docs/production.md")]
pub mod production {}

/// [durable]: crate::guide::durable
/// [policies]: crate::guide::policies
/// [production]: crate::guide::production#the-limit-of-the-stop
/// [testing]: ../../testing/index.html
#[doc = in_repository!("architecture", "ARCHITECTURE.md")]
#[doc = in_repository!("performance", "docs/performance.md")]
#[doc = include_str!("../docs/how-it-works.md")]
pub mod how_it_works {}

/// [cli]: https://docs.rs/scheduler-cli
/// [cluster]: crate::guide::cluster
/// [dashboard]: https://docs.rs/scheduler-dashboard
/// [features]: crate#features
/// [job]: macro@crate::job
/// [policies]: crate::guide::policies
/// [testing]: ../../testing/index.html#durable-tasks
#[doc = in_repository!("alerts", "docs/prometheus-alerts.yml")]
#[doc = in_repository!("rules", "docs/durable-rules.md")]
// Its programs need a store.
#[cfg_attr(feature = "sqlite-system", doc = include_str!("../docs/durable.md"))]
pub mod durable {}

/// [durable]: crate::guide::durable
#[doc = in_repository!("performance", "docs/performance.md")]
#[doc = include_str!("../docs/cluster.md")]
pub mod cluster {}

/// [cluster]: crate::guide::cluster
/// [dashboard]: https://docs.rs/scheduler-dashboard
#[doc = in_repository!("changelog", "CHANGELOG.md")]
#[doc = include_str!("../docs/stability.md")]
pub mod stability {}
