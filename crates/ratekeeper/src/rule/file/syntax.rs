//! What is not YAML, in plain words.
//!
//! Invariant: every fault of the parser has a repair, those that it may learn later included.

use granit_parser::ErrorKind;

/// The fault and the repair.
pub(super) fn words(kind: &ErrorKind) -> (String, &'static str) {
    let (fault, repair) = match kind {
        ErrorKind::MismatchedFlowCollectionEnd { open, close } => {
            return (format!("`{open}` is closed by `{close}`"), "close it by its own kind");
        }
        ErrorKind::UnclosedFlowCollection { open } => {
            return (format!("`{open}` is never closed"), "close it");
        }
        ErrorKind::UnexpectedCharacter { character } => {
            let shown = character.escape_default();
            return (format!("`{shown}` cannot stand here"), "put the text between quotes");
        }
        ErrorKind::TabNotAllowed
        | ErrorKind::TabInBlockIndentation
        | ErrorKind::TabAtBlockScalarStart
        | ErrorKind::TabInIndentation
        | ErrorKind::TabInPlainScalar => ("a tab cannot indent", "write spaces"),
        ErrorKind::UnclosedQuotedScalar | ErrorKind::DocumentIndicatorInQuotedScalar => {
            ("a quote is never closed", "close it")
        }
        ErrorKind::InvalidTrailingSingleQuotedScalar
        | ErrorKind::InvalidTrailingDoubleQuotedScalar => {
            ("something follows a closing quote", "put all of the text between the quotes")
        }
        ErrorKind::UnexpectedEofFlowSequence | ErrorKind::ExpectedFlowSequenceSeparator => {
            ("a list goes on without `,` or `]`", "separate its items by `,` and close it by `]`")
        }
        ErrorKind::UnexpectedEofFlowMapping
        | ErrorKind::UnexpectedEofImplicitFlowMapping
        | ErrorKind::ExpectedFlowMappingSeparator => {
            ("a map goes on without `,` or `}`", "separate its fields by `,` and close it by `}`")
        }
        ErrorKind::MisplacedFlowCollectionEnd => {
            ("a bracket is closed that was not opened", "take it out")
        }
        ErrorKind::UnknownAnchor => {
            ("an alias refers to no anchor", "write the value itself, or set its anchor above")
        }
        ErrorKind::RecursionLimitExceeded => (DEEP, FLATTEN),
        ErrorKind::DirectiveDisallowed => ("a rule file has no directives", "take the line out"),
        ErrorKind::CommentNotSeparated => {
            ("a comment stands too close", "write a space before its `#`")
        }
        ErrorKind::InvalidSimpleKey | ErrorKind::SimpleKeyExpected => {
            ("a field's name is not followed by `: `", "write `name: value`")
        }
        ErrorKind::MappingValueNotAllowed | ErrorKind::InvalidColonPlacement => (
            "a `:` cannot stand here",
            "put text that has `: ` in it between quotes, or close what is open above",
        ),
        ErrorKind::InvalidIndentation
        | ErrorKind::ExpectedBlockMappingKey
        | ErrorKind::ExpectedBlockSequenceEntry
        | ErrorKind::InvalidFlowScalarIndent => (
            "this line does not line up with those above",
            "indent what belongs together by as many spaces",
        ),
        ErrorKind::InvalidQuotedScalarIndent => (
            "a text in quotes goes on at the start of a line",
            "close the quote, or indent the line",
        ),
        ErrorKind::UnknownQuotedScalarEscape => {
            ("an escape is unknown", "write `\\\\` for a backslash, or take single quotes")
        }
        _ => ("this is not YAML", "put texts that have special characters between quotes"),
    };
    (fault.to_owned(), repair)
}

/// The fault of what is too deep,
pub(super) const DEEP: &str = "this is nested too deeply";

/// and its repair.
pub(super) const FLATTEN: &str = "no rule needs more than a few levels, so take some away";
