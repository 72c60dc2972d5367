//! Text that is copied only where it differs from what it was read from.
//!
//! Invariant: while nothing differed, the text is a part of the source from its beginning.

use std::borrow::Cow;

pub(super) struct Output<'a> {
    source: &'a str,
    /// How much of the source is the text, while `own` is none.
    len: usize,
    own: Option<String>,
}

impl<'a> Output<'a> {
    pub(super) fn new(source: &'a str) -> Output<'a> {
        Output { source, len: 0, own: None }
    }

    pub(super) fn as_str(&self) -> &str {
        match &self.own {
            Some(own) => own,
            None => &self.source[..self.len],
        }
    }

    pub(super) fn len(&self) -> usize {
        self.own.as_ref().map_or(self.len, String::len)
    }

    pub(super) fn push(&mut self, text: &str) {
        match &mut self.own {
            Some(own) => own.push_str(text),
            None if self.source[self.len..].starts_with(text) => self.len += text.len(),
            None => {
                let mut own = String::with_capacity(self.source.len());
                own.push_str(&self.source[..self.len]);
                own.push_str(text);
                self.own = Some(own);
            }
        }
    }

    pub(super) fn push_char(&mut self, char: char) {
        self.push(char.encode_utf8(&mut [0; 4]));
    }

    /// Keeps the first bytes, up to a place that was the end before.
    pub(super) fn truncate(&mut self, len: usize) {
        match &mut self.own {
            Some(own) => own.truncate(len),
            None => self.len = self.len.min(len),
        }
    }

    pub(super) fn into_text(self) -> Cow<'a, str> {
        match self.own {
            Some(own) => Cow::Owned(own),
            None => Cow::Borrowed(&self.source[..self.len]),
        }
    }
}
