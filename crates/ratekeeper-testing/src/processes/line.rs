//! A decision as a line of a history.
//!
//! `id node key rule rule_version cost t_invoke t_complete outcome source retry_ns remaining`, by one
//! space each, and `-` where a figure is missing. Invariant: what is written is read back as the same.

use std::fmt;
use std::str::FromStr;

/// One decision. Times are nanoseconds of `CLOCK_MONOTONIC`, which all processes of a machine share.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// No other decision of the fleet has it.
    pub id: u64,
    /// The process that was asked.
    pub node: String,
    /// For which key.
    pub key: String,
    /// Under which rule.
    pub rule: String,
    /// Of which release.
    pub version: u64,
    /// For how much.
    pub cost: u64,
    /// When.
    pub asked: u64,
    /// When it was answered.
    pub answered: u64,
    /// `allow`, `deny` or `error`.
    pub outcome: String,
    /// Where that was decided, by its name.
    pub source: String,
    /// When to ask again, in nanoseconds, if it was refused.
    pub retry: Option<u64>,
    /// What is left, if the answer has figures.
    pub remaining: Option<u64>,
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Line { id, node, key, rule, version, cost, asked, answered, outcome, source, .. } =
            self;
        write!(
            f,
            "{id} {node} {key} {rule} {version} {cost} {asked} {answered} {outcome} {source}"
        )?;
        for figure in [self.retry, self.remaining] {
            match figure {
                Some(figure) => write!(f, " {figure}")?,
                None => f.write_str(" -")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Line {
    type Err = String;

    fn from_str(text: &str) -> Result<Line, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let [
            id,
            node,
            key,
            rule,
            version,
            cost,
            asked,
            answered,
            outcome,
            source,
            retry,
            remaining,
        ] = words[..]
        else {
            return Err(format!("{} words, not 12: {text}", words.len()));
        };
        let number = |word: &str| word.parse::<u64>().map_err(|error| format!("{error}: {text}"));
        let figure = |word: &str| (word != "-").then(|| number(word)).transpose();
        Ok(Line {
            id: number(id)?,
            node: node.to_owned(),
            key: key.to_owned(),
            rule: rule.to_owned(),
            version: number(version)?,
            cost: number(cost)?,
            asked: number(asked)?,
            answered: number(answered)?,
            outcome: outcome.to_owned(),
            source: source.to_owned(),
            retry: figure(retry)?,
            remaining: figure(remaining)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    /// Goal: a line has the fields in the order that checkers read.
    /// Method: a line written down, read and written; one with a word too few.
    #[test]
    fn a_line_is_read_back_as_it_was_written() {
        let text = "1099511627777 n1 k3 token 1 3 100 250 deny store 4000 0";
        let line: Line = text.parse().unwrap();
        assert_eq!((line.id, &*line.rule, line.cost), ((1 << 40) + 1, "token", 3));
        assert_eq!((line.asked, line.answered), (100, 250));
        assert_eq!((line.retry, line.remaining), (Some(4_000), Some(0)));
        assert_eq!(line.to_string(), text);
        let bare = "7 n0 k token 1 1 5 6 allow failed_open - -";
        let line: Line = bare.parse().unwrap();
        assert_eq!((line.retry, line.remaining), (None, None));
        assert_eq!(line.to_string(), bare);
        let half = "7 n0 k token 1 1 5 6 allow failed_open -".parse::<Line>();
        assert!(half.unwrap_err().starts_with("11 words"));
    }
}
