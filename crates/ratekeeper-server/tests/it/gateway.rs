//! The gateway on the wire: between clients and upstreams that the tests write by hand.
//!
//! Invariant: what an upstream saw is compared with what was charged; nothing is taken from the gateway's
//! own words alone.

mod message;
mod upstream;
mod site;

mod forwarding;
mod bodies;
mod fields;
mod forwarded;
mod verified;
mod edge;
mod shares;
mod leaving;
mod smuggling;
mod corpus;
mod mutations;
mod tricks;
mod large;
mod large_streams;
mod cut;
mod early;
mod hung;
mod pauses;
mod health;
mod retries;
mod drain;
mod certificate;
mod upgrade;
mod http2;
mod http2_fields;
mod http2_reset;
mod http2_upstream;
mod measured;
mod access_log;
mod example;
mod guide;
