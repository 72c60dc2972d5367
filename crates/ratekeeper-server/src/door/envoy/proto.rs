//! Envoy's messages, as `proto/envoy/rls.proto` describes them: what is included here was generated, and is kept in the
//! repository, so that nobody needs a compiler of protocol buffers.
//!
//! Invariant: the messages are Envoy's, byte by byte; a test holds them against its own.
#![allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::doc_markdown,
    reason = "it is generated"
)]

include!(concat!(env!("CARGO_MANIFEST_DIR"), "/proto/envoy/rls.inc"));
