//! The page on forward-auth says what the examples do, which `./test gateways` runs.

use std::fs;
use std::path::Path;

/// The lines of a text without their indentation, since a part stands further left than in its file.
fn lines(text: &str) -> Vec<&str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Goal: whoever copies a part from the page copies what was run.
/// Method: each block but the rule file stands, line by line, in the example that was last linked to.
#[test]
fn every_part_of_a_configuration_stands_in_an_example() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let page = fs::read_to_string(docs.join("forward-auth.md")).expect("the page is there");
    let (mut linked, mut found) = (String::new(), 0);
    for (number, part) in page.split("\n```").enumerate() {
        if number % 2 == 0 {
            let links =
                part.split("](../examples/").skip(1).filter_map(|rest| rest.split(')').next());
            linked = links.last().map_or(linked, str::to_owned);
            continue;
        }
        let (language, block) = part.split_once('\n').expect("a block has lines");
        if language == "yaml" {
            continue;
        }
        let file = fs::read_to_string(docs.join("../examples").join(&linked)).expect("it is there");
        let (file, block) = (lines(&file), lines(block));
        let stands = file.windows(block.len()).any(|lines| lines == block);
        assert!(stands, "examples/{linked} does not have:\n{}", block.join("\n"));
        found += 1;
    }
    assert_eq!(found, 6);
}
