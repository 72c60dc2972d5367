//! The commands of docs/audit.md, run as they stand, in a folder with its files.

use crate::folder::Folder;
use crate::readme::{examples_of, matches, shell};
use std::path::Path;

/// The first block of the page that is marked like this, and begins like this.
fn block<'a>(page: &'a str, mark: &str, begins: &str) -> &'a str {
    let mark = format!("```{mark}\n");
    let mut texts = page.split(&mark).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    texts.find(|text| text.starts_with(begins)).expect("the page has such a block")
}

/// Goal: what docs/audit.md shows is what the program says.
/// Method: write its rules and its history as the files that it names, and run its console blocks.
#[test]
fn the_page_on_audits_shows_what_the_program_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/audit.md");
    let page = std::fs::read_to_string(path).expect("there is such a page");
    let (rules, history) = (block(&page, "yaml", "rules:"), block(&page, "text", "sent "));
    let folder = Folder::of(&[("rules.yaml", rules), ("history.txt", history)]);
    let examples = examples_of(&page, &["ratekeeper "]);
    assert_eq!(examples.len(), 1);
    for (command, expected) in examples {
        let output = shell(&command).current_dir(folder.as_path()).output().expect("a shell runs");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        let said: Vec<&str> = said.lines().collect();
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert!(matches(&expected, &said), "`{command}` says\n{}", said.join("\n"));
        assert_eq!(output.status.code(), Some(1));
    }
}
