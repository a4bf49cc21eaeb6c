//! Guides, to be read from the beginning.
//!
//! | guide | for whom |
//! |---|---|
//! | [`getting_started`] | those who write their first task |
//! | [`from_spring`] | those who know `@Scheduled` |
//! | [`policies`] | those who want to know what happens when things do not go as planned |
//! | [`settings`] | those who change schedules without a build |
//! | [`production`] | those who run a program: signals, containers, zones, health, several instances |
//! | [`how_it_works`] | those who want to know what happens between the annotation and the run |
//!
//! A further one, on tests of schedules, is the module `testing`, which comes with the feature of that
//! name. The same texts are files in the folder `docs` of the repository, whose links lead to files; the
//! links that stand here before each text lead to the documentation instead, because the first wins.

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
#[doc = include_str!("../docs/from-spring.md")]
pub mod from_spring {}

/// [durable]: https://docs.rs/crate/scheduler-rs/latest/source/docs/durable.md
#[doc = include_str!("../docs/policies.md")]
pub mod policies {}

/// [testing]: ../../testing/index.html#3-is-everything-there
#[doc = include_str!("../docs/settings.md")]
pub mod settings {}

/// [dry-run]: crate::guide::settings#the-dry-run
/// [builder]: crate::Builder::messages
/// [listener]: crate::Builder::listener
/// [seed]: crate::Builder::seed
#[doc = include_str!("../docs/production.md")]
pub mod production {}

/// [architecture]: https://docs.rs/crate/scheduler-rs/latest/source/ARCHITECTURE.md
/// [durable]: https://docs.rs/crate/scheduler-rs/latest/source/docs/durable.md
/// [performance]: https://docs.rs/crate/scheduler-rs/latest/source/docs/performance.md
/// [policies]: crate::guide::policies
/// [production]: crate::guide::production#the-limit-of-the-stop
/// [testing]: ../../testing/index.html
#[doc = include_str!("../docs/how-it-works.md")]
pub mod how_it_works {}
