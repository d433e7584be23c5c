//! What is wrong in a lab file: where, at which key, and what would be right.

use core::fmt;
use core::ops::Range;

/// A text with its name, to turn offsets into places.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    /// What to call it: a path, or `standard input`.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// A mistake in a lab file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabError(Box<Mistake>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Mistake {
    file: String,
    line: usize,
    column: usize,
    key: String,
    problem: String,
    help: String,
    excerpt: String,
    marker: String,
}

impl LabError {
    /// Line, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        self.0.line
    }

    /// Column in characters, counted from 1.
    #[must_use]
    pub fn column(&self) -> usize {
        self.0.column
    }

    /// The key, with the tables that it is in: `host.addresses`. Empty in a listing.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.0.key
    }
}

impl core::error::Error for LabError {}

impl fmt::Display for LabError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mistake = &*self.0;
        write!(f, "{}:{}:{}: ", mistake.file, mistake.line, mistake.column)?;
        if !mistake.key.is_empty() {
            write!(f, "{}: ", mistake.key)?;
        }
        writeln!(f, "{}", mistake.problem)?;
        let gutter = " ".repeat(mistake.line.to_string().len());
        writeln!(f, " {} | {}", mistake.line, mistake.excerpt)?;
        writeln!(f, " {gutter} | {}", mistake.marker)?;
        write!(f, " {gutter} = {}", mistake.help)
    }
}

impl Source<'_> {
    /// The mistake `problem` at `span`.
    pub(crate) fn error(
        &self,
        span: Range<usize>,
        key: impl Into<String>,
        problem: impl fmt::Display,
        help: impl fmt::Display,
    ) -> LabError {
        let start = self.boundary(span.start);
        let line_start = self.text[..start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let line_end = self.text[start..]
            .find('\n')
            .map_or(self.text.len(), |n| start + n);
        let end = self.boundary(span.end).clamp(start, line_end);
        let excerpt = self.text[line_start..line_end]
            .trim_end()
            .replace('\t', " ");
        let before = self.text[line_start..start].replace('\t', " ");
        let marked = self.text[start..end].replace('\t', " ");
        LabError(Box::new(Mistake {
            file: self.name.to_owned(),
            line: self.text[..start].matches('\n').count() + 1,
            column: before.chars().count() + 1,
            key: key.into(),
            problem: problem.to_string(),
            help: help.to_string(),
            marker: " ".repeat(before.chars().count())
                + &"^".repeat(marked.trim_end().chars().count().max(1)),
            excerpt,
        }))
    }

    /// A mistake that the TOML parser found.
    pub(crate) fn toml_error(&self, error: &toml::de::Error) -> LabError {
        let span = error.span().unwrap_or(0..0);
        let key = self.key_at(span.start);
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        let help = if message.starts_with("unknown field") {
            "check the spelling; docs/lab-file.md lists every key"
        } else if message.starts_with("missing field") {
            "add the key; docs/lab-file.md says what it means"
        } else if message.starts_with("invalid type") {
            "docs/lab-file.md shows how each key is written"
        } else {
            "the file must be TOML, or a listing as ibnetdiscover prints it"
        };
        self.error(span, key, message, help)
    }

    /// The key that the value or key at `offset` belongs to, with the table that it stands in.
    fn key_at(&self, offset: usize) -> String {
        let offset = self.boundary(offset);
        let line_start = self.text[..offset]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        let line = self.text[line_start..].lines().next().unwrap_or("").trim();
        let header = |line: &str| {
            let name = line.trim().strip_prefix('[')?.split(']').next()?;
            Some(name.trim_start_matches('[').trim().to_owned())
        };
        if let Some(table) = header(line) {
            return table;
        }
        let key = line.split_once('=').map_or("", |(key, _)| key.trim());
        let table = self.text[..line_start].lines().rev().find_map(header);
        match table {
            Some(table) if !key.is_empty() => format!("{table}.{key}"),
            Some(table) => table,
            None => key.to_owned(),
        }
    }

    /// The last character boundary at or before `offset`.
    fn boundary(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset.min(self.text.len()))
    }
}
