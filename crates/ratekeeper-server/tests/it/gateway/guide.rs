//! The commands of docs/gateway.md, run as they stand, with its file.
//!
//! Invariant: as of readme.rs; ports alone are others.

use super::site::{MANY, Site, head};
use super::upstream::{OK, Upstream};
use crate::folder::Folder;
use crate::program::Program;
use crate::readme::{examples_of, matches, shell, shown};
use std::path::Path;

/// Goal: what docs/gateway.md shows is what the program does.
/// Method: write its first file, start an upstream where it says, and run its console blocks in order.
#[test]
fn the_page_on_the_gateway_shows_what_the_program_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/gateway.md");
    let page = std::fs::read_to_string(path).expect("there is such a page");
    let file = page.split("```yaml\n").nth(1).and_then(|rest| Some(rest.split_once("```")?.0));
    let upstream = Upstream::saying(OK);
    let file = file.expect("there is a file");
    let text = file
        .replace("127.0.0.1:8080", "127.0.0.1:0")
        .replace("127.0.0.1:8000", "127.0.0.1:0")
        .replace("127.0.0.1:9000", &upstream.address.to_string());
    let folder = Folder::of(&[("ratekeeper.yaml", &text)]);
    let mut server: Option<(Program, String)> = None;
    let mut ran = 0;
    for (command, expected) in examples_of(&page, &["ratekeeper ", "for ", "grep "]) {
        let said = if command.contains(" serve") {
            let mut shell = shell(&format!("exec {command}"));
            shell.current_dir(folder.as_path());
            let program = Program::start(shell);
            let line = program.banner.iter().find_map(|line| line.strip_prefix("gateway "));
            let gateway = line.and_then(|line| line.split("://").nth(1)).expect("a gateway");
            let gateway = gateway.to_owned();
            let said = program.banner.join("\n").replace(&gateway, "127.0.0.1:8000");
            let said = shown(&said, &program);
            server = Some((program, gateway));
            said
        } else {
            let (program, gateway) = server.as_ref().expect("it serves first");
            let mut shell = shell(&command.replace("127.0.0.1:8000", gateway));
            shell.current_dir(folder.as_path());
            shell.env("RATEKEEPER_URL", format!("http://{}", program.address));
            let output = shell.output().expect("a shell runs");
            shown(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()), program)
        };
        let cut = |line: &'_ str| line.split("refused it for").next().unwrap_or("").to_owned();
        let (like, said): (Vec<String>, Vec<String>) = (
            expected.iter().map(|line| cut(line)).collect(),
            said.iter().map(|line| cut(line)).collect(),
        );
        let like: Vec<&str> = like.iter().map(String::as_str).collect();
        let found: Vec<&str> = said.iter().map(String::as_str).collect();
        assert!(matches(&like, &found), "`{command}` says {found:?}, not {like:?}");
        ran += 1;
    }
    assert_eq!((ran, upstream.seen().len()), (4, 3));
}

/// Goal: what the server proposes to try has a route.
/// Method: a route with something before and behind what is any; a second server is asked for what the first said.
#[test]
fn what_is_proposed_has_a_route() {
    let upstream = Upstream::saying(OK);
    let route = format!("{{path: \"/api/*/v1/**\", upstream: \"{}\"}}", upstream.url());
    let text = format!("{}  routes: [{route}]\nrules: {MANY}\n", head(""));
    let mut first = Site::of(&[], &text);
    first.program.signal("TERM");
    let words = first.program.last_words();
    let line = words.lines().find_map(|line| line.trim().strip_prefix("curl -i http://"));
    let (_, path) = line.and_then(|line| line.split_once('/')).expect("a path to try");
    assert_eq!(Site::of(&[], &text).get(&format!("/{path}")).status(), 200, "{words}");
    assert_eq!(upstream.only().start, format!("GET /{path} HTTP/1.1"));
}
