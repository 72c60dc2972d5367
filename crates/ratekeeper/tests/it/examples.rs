//! The examples do what they say: each is served as its `main` serves it, and called.
//!
//! Invariant: what is called here is the example itself, taken in as a module. Limits recover so slowly
//! that no test gets there.
#![expect(dead_code, reason = "`main` of an example serves for good; here its parts are served")]

#[cfg(feature = "axum")]
mod on_axum;
mod on_hyper;
mod on_tonic;
mod served;

#[cfg(feature = "axum")]
#[path = "../../examples/axum.rs"]
mod axum_example;
#[cfg(all(feature = "axum", feature = "redis", feature = "yaml"))]
#[path = "../../examples/axum_redis_tiers.rs"]
mod axum_redis_tiers;
#[path = "../../examples/hyper.rs"]
mod hyper_example;
#[cfg(all(feature = "axum", feature = "yaml"))]
#[path = "../../examples/login.rs"]
mod login;
#[cfg(all(feature = "axum", feature = "yaml"))]
#[path = "../../examples/tokens.rs"]
mod tokens;
#[path = "../../examples/tonic.rs"]
mod tonic_example;
#[cfg(all(feature = "axum", feature = "yaml"))]
#[path = "../../examples/two_scopes.rs"]
mod two_scopes;
