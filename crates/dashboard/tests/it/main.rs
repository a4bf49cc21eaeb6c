//! The dashboard over HTTP, as browsers and other programs see it.

mod actions;
mod actuator;
mod api;
mod attached;
mod away;
mod broken;
mod compressed;
mod health;
mod jobs;
mod limits;
mod live;
mod looks;
mod memory;
mod metrics;
mod mounted;
mod nodes;
mod openapi;
mod pauses;
mod security;
mod shown;
mod slow_real_clock;
mod support;
mod trouble;
