//! What the documentation says is so: its rule files are read, every field and every code is in it, and
//! its links lead somewhere. (Its Rust is run with the documentation's tests.)
//!
//! Invariant: what is expected comes from the code, and what is there from the pages.

use ratekeeper::diagnosis::Diagnosis;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// Every page for users, by its name.
fn pages() -> Vec<String> {
    let folder = fs::read_dir(root().join("docs")).unwrap();
    let names = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut pages: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    pages.extend(["README.md".into(), "ARCHITECTURE.md".into()]);
    pages.sort_unstable();
    pages
}

/// Goal: whoever is sent to `docs/codes.md` finds the code there, and what to do.
/// Method: every diagnosis; the heading that its link leads to, and the three parts below it.
#[test]
fn every_code_has_its_section() {
    let all = [
        Diagnosis::Untrusted,
        Diagnosis::NoPeer,
        Diagnosis::OneBucket,
        Diagnosis::NoRules,
        Diagnosis::NoUser("api".into()),
        Diagnosis::Silent,
        Diagnosis::Twice,
        Diagnosis::Everyone,
    ];
    let codes = page("docs/codes.md");
    let sections: Vec<&str> = codes.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), all.len(), "one section for each code, and no other");
    for diagnosis in all {
        let code = diagnosis.code();
        let section = sections.iter().find(|text| text.lines().next() == Some(code));
        let section = section.unwrap_or_else(|| panic!("docs/codes.md has no `## {code}`"));
        for part in ["**Seen.** ", "**Why it matters.** ", "**Repair.** "] {
            assert!(section.contains(part), "{code} has no {part}");
        }
        let link = format!("(docs/codes.md#{})", code.to_lowercase());
        assert!(diagnosis.to_string().ends_with(&link), "{diagnosis}");
    }
}

/// Goal: no link of a page leads nowhere.
/// Method: every relative link of every page names a file.
#[test]
fn links_lead_to_files() {
    let mut found = 0;
    for name in pages() {
        let text = page(&name);
        let folder = root().join(&name).parent().unwrap().to_owned();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || link.contains("://") || link.contains('\n') {
                continue;
            }
            assert!(folder.join(file).exists(), "{name} links to {link}");
            found += 1;
        }
    }
    assert!(found > 20, "{found} links are too few to be all");
}

#[cfg(feature = "yaml")]
mod files {
    use super::page;
    use ratekeeper::rule::file;
    use std::collections::BTreeSet;

    /// Goal: the page on rule files has every field that there is, and none that there is not.
    /// Method: the rows of its tables, each of which begins with `map.field`, against the table of
    /// fields that files are read by.
    #[test]
    fn every_field_of_rule_files_has_its_row() {
        let rules = page("docs/rules.md");
        let rows = rules.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |"));
        let rows = rows.map(|(name, _)| name).filter(|name| name.contains('.'));
        let rows: BTreeSet<String> = rows.map(str::to_owned).collect();
        let fields: BTreeSet<String> =
            file::fields().map(|(map, field, _)| format!("{map}.{field}")).collect();
        assert!(fields.len() > 80, "{fields:?}");
        let missing: Vec<_> = fields.difference(&rows).collect();
        let unknown: Vec<_> = rows.difference(&fields).collect();
        assert!(missing.is_empty() && unknown.is_empty(), "add {missing:?}, remove {unknown:?}");
    }

    /// Goal: every rule file in the pages can be copied and used.
    /// Method: each block of YAML is read; one that begins with `# name` is a file that others name.
    #[test]
    #[cfg(all(feature = "cel", feature = "jwt"))]
    fn every_rule_file_in_the_pages_is_read() {
        use super::pages;
        use ratekeeper::rule::file::{RuleFile, Source};
        use std::io::{Error, ErrorKind};

        const KEY: &[u8] = include_bytes!("identity/keys/rsa.public.pem");
        let (mut read, mut fences) = (0, 0);
        for name in pages() {
            let text = page(&name);
            fences += text.lines().filter(|line| line.contains("```yaml")).count();
            let blocks = text.split("\n```yaml\n").skip(1);
            let blocks: Vec<&str> =
                blocks.map(|rest| rest.split("\n```").next().unwrap_or(rest)).collect();
            // Switches are read by the program's tests.
            let named = |block: &str, name: &str| block.starts_with(&format!("# {name}\n"));
            let file =
                |block: &&str| ["keys.yaml", "switches.yaml"].iter().any(|name| named(block, name));
            let keys = blocks.iter().copied().find(|block| named(block, "keys.yaml"));
            let open = |file: &str| match (file, keys) {
                ("public.pem", _) => Ok(KEY.to_vec()),
                ("keys.yaml", Some(keys)) => Ok(keys.as_bytes().to_vec()),
                _ => Err(Error::from(ErrorKind::NotFound)),
            };
            read += blocks.iter().filter(|block| file(block)).count();
            for (number, block) in blocks.iter().enumerate().filter(|(_, block)| !file(block)) {
                let label = format!("{name}, YAML {}", number + 1);
                let source = Source { name: label, text: format!("{block}\n") };
                RuleFile::read(&[source], &open).unwrap_or_else(|errors| panic!("{errors}"));
                read += 1;
            }
        }
        assert!(read == fences && read > 10, "{read} of {fences} were read");
    }
}
