//! `ratekeeper init`: the starter file is good, whole, and never in the way of another.

use crate::folder::Folder;
use crate::program::command;
use ratekeeper::rule::file::{RuleFile, Source, fields};
use std::process::Output;

/// Fields of the file that a beginner can do without reading about, named at the end all the same.
const LATER: [&str; 3] = ["region", "rules_from", "switch_file"];

fn init(folder: &Folder, args: &[&str]) -> Output {
    let mut command = command();
    command.arg("init").args(args).current_dir(folder.as_path());
    command.output().expect("the program runs")
}

fn starter() -> String {
    let folder = Folder::of(&[]);
    assert_eq!(init(&folder, &[]).status.code(), Some(0));
    std::fs::read_to_string(folder.as_path().join("ratekeeper.yaml")).expect("it was written")
}

/// Goal: what is written is fine, and what is printed next works.
/// Method: run each line that it prints, but the one that serves, and read the file for that one.
#[test]
fn the_starter_is_fine_and_the_next_steps_work() {
    let folder = Folder::of(&[]);
    let said = init(&folder, &["my rules.yaml"]);
    let text = String::from_utf8(said.stdout).expect("it speaks UTF-8");
    assert_eq!(
        text,
        "wrote my rules.yaml\n\nNext:\n  ratekeeper validate 'my rules.yaml'\n  \
         ratekeeper explain GET /api/users --config 'my rules.yaml'\n  \
         ratekeeper serve --config 'my rules.yaml'\n"
    );
    for step in
        text.lines().filter(|line| line.starts_with("  ratekeeper ") && !line.contains("serve"))
    {
        let script = step.replacen("ratekeeper", crate::program::PATH, 1);
        let mut shell = crate::program::clean(std::process::Command::new("sh"));
        let shell = shell.args(["-c", &script]).current_dir(folder.as_path());
        assert!(shell.output().expect("a shell runs").status.success(), "{step}");
    }
    let path = folder.path("my rules.yaml");
    let mut serve = command();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--config", &path]);
    let server = crate::program::Program::start(serve);
    assert_eq!(crate::wire::check(server.address, r#"{"rule":"api","key":"acme"}"#).status, 200);
    assert!(server.err.try_recv().is_err(), "there is nothing to warn of");
}

/// Goal: each field of a rule file is mentioned, so that a beginner knows what there is; each example in
/// the comments works when its sign is taken away.
/// Method: look for the names of the schema; uncomment each example, in the place of what it replaces.
#[test]
fn the_starter_mentions_every_field_and_its_examples_work() {
    let text = starter();
    for (_, name, _) in fields().filter(|(shape, ..)| *shape == "file") {
        let shown =
            text.lines().any(|line| line.trim_start_matches('#').starts_with(&format!("{name}:")));
        let told = text.lines().any(|line| {
            line.starts_with("# ")
                && line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
        });
        assert!(shown || told, "`{name}` is not mentioned");
        assert!(!LATER.contains(&name) || !shown, "`{name}` is for later");
    }
    let is_example = |line: &&str| {
        line.trim_start()
            .strip_prefix('#')
            .is_some_and(|rest| rest.starts_with(char::is_alphabetic))
    };
    let found: Vec<&str> = text.lines().filter(is_example).collect();
    assert!(found.len() >= 4, "{found:?}");
    let open = |name: &str| match name {
        "keys.yaml" => Ok(b"[]".to_vec()),
        _ => Ok(include_bytes!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../ratekeeper/tests/it/identity/keys/rsa.public.pem"
        ))
        .to_vec()),
    };
    for example in found {
        let own = &example.replacen('#', "", 1);
        let field = format!("{}:", own.split(':').next().expect("a field"));
        // At the top a field can be there once.
        let others = text.lines().filter(|line| !line.starts_with(&field));
        let lines = others.map(|line| if line == example { own } else { line });
        let changed = lines.collect::<Vec<_>>().join("\n");
        let source = Source { name: "starter".into(), text: changed };
        let read = RuleFile::read(&[source], &open);
        assert!(
            read.is_ok(),
            "{example}: {}",
            read.err().map_or(String::new(), |error| error.to_string())
        );
    }
}

/// Goal: a file that is there is never changed, and the error says what to do.
/// Method: write twice, into a folder that is not there, and onto a folder.
#[test]
fn nothing_is_overwritten() {
    let folder = Folder::of(&[("ratekeeper.yaml", "mine"), ("taken/x", "")]);
    let table = [
        (
            "ratekeeper.yaml",
            "cannot write `ratekeeper.yaml`: it is there already; name another file, or remove it",
        ),
        ("none/x.yaml", "cannot write `none/x.yaml`: its folder is not there; make it first"),
        ("taken", "cannot write `taken`: it is there already; name another file, or remove it"),
    ];
    for (path, text) in table {
        let output = init(&folder, &[path]);
        assert_eq!(String::from_utf8_lossy(&output.stderr), format!("error: {text}\n"));
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    }
    let kept =
        std::fs::read_to_string(folder.as_path().join("ratekeeper.yaml")).expect("it is there");
    assert_eq!(kept, "mine");
    let json = init(&folder, &["other.yaml", "--json"]);
    assert_eq!(String::from_utf8_lossy(&json.stdout), "{\"written\":\"other.yaml\"}\n");
}
