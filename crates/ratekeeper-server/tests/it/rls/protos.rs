//! The messages in Rust are those of `proto/envoy/rls.proto`.

use prost::Message;
use std::path::Path;

/// Goal: what is in the repository is what the description gives, so that nobody edits one of them alone.
/// Method: written anew in a folder of its own, by a compiler in Rust; accepted with `RATEKEEPER_GOLDEN=write`.
#[test]
fn generated_messages_are_up_to_date() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto/envoy");
    let out = crate::folder::Folder::of(&[]);
    let described = protox::compile(["rls.proto"], [&folder]).expect("the description makes sense");
    // The compiler and the writer may be of two versions of the same messages.
    let described = prost_types::FileDescriptorSet::decode(&*described.encode_to_vec());
    let mut writer = prost_build::Config::new();
    writer
        .out_dir(out.as_path())
        .compile_fds(described.expect("it is one"))
        .expect("it can be written");
    let file = out.as_path().join("envoy.service.ratelimit.v3.rs");
    let written = std::fs::read_to_string(file).expect("it was written");
    let kept = folder.join("rls.inc");
    if std::env::var_os("RATEKEEPER_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&kept, &written).expect("it can be kept");
    }
    assert_eq!(std::fs::read_to_string(kept).expect("it is there"), written);
}
