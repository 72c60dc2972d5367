//! The commands of docs/live-rules.md, run as they stand, in a folder with its files.
//!
//! Invariant: as of readme.rs; commands that change a file are run as well, and what follows waits for the release.

use crate::folder::Folder;
use crate::live::{becomes, version};
use crate::program::Program;
use crate::readme::{examples_of, matches, shell, shown};
use std::path::Path;

/// Goal: what docs/live-rules.md shows is what the program does, and its rule files are fine.
/// Method: write its YAML blocks as the files that it names, and run its console blocks in order.
#[test]
fn the_page_on_live_rules_shows_what_the_program_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/live-rules.md");
    let page = std::fs::read_to_string(path).expect("there is such a page");
    let blocks: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| Some(rest.split_once("```")?.0))
        .collect();
    let [first, next, switches] = blocks[..] else { panic!("three files, not {}", blocks.len()) };
    let folder = Folder::of(&[("ratekeeper.yaml", first), ("next.yaml", next)]);
    let mut server: Option<Program> = None;
    let mut ran = 0;
    for (command, expected) in examples_of(&page, &["ratekeeper ", "sed "]) {
        let mut shell = shell(&format!("exec {command}"));
        shell.current_dir(folder.as_path());
        if command.contains(" serve") {
            shell.env("RATEKEEPER_LISTEN", "127.0.0.1:0");
            server = Some(Program::start(shell));
            continue;
        }
        let server = server.as_ref().expect("it serves first");
        let before = version(server.address);
        shell.env("RATEKEEPER_URL", format!("http://{}", server.address));
        let output = shell.output().expect("a shell runs");
        if command.starts_with("sed ") {
            becomes(server.address, before + 1);
        }
        let said =
            shown(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()), server);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert!(matches(&expected, &said), "`{command}` says {said:?}, not {expected:?}");
        ran += 1;
    }
    assert!(ran > 8, "only {ran} commands were run");

    let text = format!("switch_file: switches.yaml\n{first}");
    let folder = Folder::of(&[("r.yaml", &text), ("switches.yaml", switches)]);
    let server = crate::live::serve(&folder, "r.yaml");
    let listed = crate::live::get(server.address, "/v1/switches");
    assert_eq!(listed["switches"].as_array().map(Vec::len), Some(2), "{listed}");
}
