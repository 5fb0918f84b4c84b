//! Problems of a spec: where, what, and what to do about it.

use std::fmt::{self, Display};
use std::sync::Arc;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode,
};

use super::node::{Kind, Node};
use crate::wording::counted;

/// A place in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// In bytes, from 0.
    pub offset: usize,
    /// In bytes.
    pub length: usize,
}

impl Place {
    /// The character at a line and a column, both from 1, as far as the text reaches.
    pub(super) fn of_line(text: &str, line: u64, column: u64) -> Self {
        let number = |n: u64| usize::try_from(n).unwrap_or(usize::MAX).max(1);
        let (line, column) = (number(line), number(column));
        let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let rest = text.get(start..).unwrap_or_default();
        let rest = rest.split('\n').next().unwrap_or_default();
        let (offset, length) = match rest.char_indices().nth(column - 1) {
            Some((offset, character)) => (offset, character.len_utf8()),
            None => (rest.len(), 0),
        };
        Self { line, column, offset: start + offset, length }
    }

    fn label(&self, text: Option<String>) -> LabeledSpan {
        LabeledSpan::new(text, self.offset, self.length)
    }
}

/// A problem before it is known to which file it belongs.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub at: Place,
    pub message: String,
    pub help: Option<String>,
    pub also: Option<(Place, &'static str)>,
}

impl Finding {
    pub fn new(at: Place, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), help: None, also: None }
    }

    pub fn help(mut self, help: impl Into<Option<String>>) -> Self {
        self.help = help.into();
        self
    }

    pub fn also(mut self, at: Place, label: &'static str) -> Self {
        self.also = Some((at, label));
        self
    }
}

/// A spec as it was read, for problems that show only later.
#[derive(Clone, Debug)]
pub struct Source {
    file: Arc<NamedSource<String>>,
    pub(super) root: Node,
}

impl Source {
    pub(super) fn new(name: &str, text: &str) -> Self {
        Self {
            file: Arc::new(NamedSource::new(name, text.to_owned())),
            root: Node { kind: Kind::Null, at: Place::default() },
        }
    }

    /// The file's name as the user gave it.
    pub fn name(&self) -> &str {
        self.file.name()
    }

    /// The text of the spec.
    pub fn text(&self) -> &str {
        self.file.inner()
    }

    /// A problem at a path of keys and indices (from 0), such as `["splits", "repeats"]`. After the
    /// index of a method or dataset its name may be left out: `["methods", "2", "d"]`. What the
    /// file does not spell out is reported at the nearest thing around it that it does.
    pub fn problem(
        &self,
        path: &[&str],
        message: impl Into<String>,
        help: impl Into<Option<String>>,
    ) -> Problem {
        self.problem_of(Finding::new(self.locate(path), message).help(help))
    }

    pub(super) fn problem_of(&self, finding: Finding) -> Problem {
        Problem {
            file: Arc::clone(&self.file),
            place: Some(finding.at),
            message: finding.message,
            help: finding.help,
            also: finding.also,
        }
    }

    fn locate(&self, path: &[&str]) -> Place {
        let (mut node, mut at) = (&self.root, self.root.at);
        for step in path {
            let inner = match node.entries() {
                [only] if only.key != *step => only.value.get(step),
                _ => None,
            };
            let item = step.parse().ok().and_then(|index: usize| node.items().get(index));
            if let Some(entry) = node.get(step).or(inner) {
                (node, at) = (&entry.value, entry.value.at);
            } else if let Some(item) = item {
                (node, at) = (item, item.at);
            } else {
                break;
            }
        }
        match node.entries() {
            // A block map begins with its first key; pointing at nothing helps nobody.
            [first, ..] if at.length == 0 => first.key_at,
            _ => at,
        }
    }
}

/// One problem of a spec. Displays as its sentence without place and help.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    file: Arc<NamedSource<String>>,
    /// Missing where the problem is the file as a whole.
    pub place: Option<Place>,
    pub message: String,
    pub help: Option<String>,
    also: Option<(Place, &'static str)>,
}

impl Problem {
    /// A problem with a file as a whole.
    pub(super) fn of_file(name: &str, message: impl Into<String>, help: Option<String>) -> Self {
        Self {
            file: Arc::new(NamedSource::new(name, String::new())),
            place: None,
            message: message.into(),
            help,
            also: None,
        }
    }

    /// The file's name as the user gave it.
    pub fn file(&self) -> &str {
        self.file.name()
    }

    /// Everything in one line: `file:line:column: message; help`.
    pub fn sentence(&self) -> String {
        let mut text = self.file().to_owned();
        if let Some(place) = self.place {
            text += &format!(":{}:{}", place.line, place.column);
        }
        text += &format!(": {}", self.message);
        if let Some(help) = &self.help {
            text += &format!("; {help}");
        }
        text
    }
}

impl Diagnostic for Problem {
    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let help = self.help.as_ref()?;
        Some(Box::new(help))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.place?;
        Some(&self.file)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let here = self.place?.label(self.also.map(|_| "here".to_owned()));
        let also = self.also.map(|(place, label)| place.label(Some(label.to_owned())));
        Some(Box::new(std::iter::once(here).chain(also)))
    }
}

/// All problems of a spec, in the order of the file.
#[derive(Clone, Debug)]
pub struct SpecError {
    problems: Vec<Problem>,
    omitted: usize,
}

impl SpecError {
    /// More than this many problems of one file are counted, not shown.
    const SHOWN: usize = 50;

    /// `problems` must not be empty.
    pub fn new(mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place.map(|place| place.offset));
        let omitted = problems.len().saturating_sub(Self::SHOWN);
        problems.truncate(Self::SHOWN);
        Self { problems, omitted }
    }

    /// The problems, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// One line per problem, for logs and pipes.
    pub fn plain(&self) -> String {
        let mut text: String =
            self.problems.iter().map(|problem| problem.sentence() + "\n").collect();
        if let Some(line) = self.omission() {
            text += &line;
            text.push('\n');
        }
        text
    }

    /// With snippets of the file, for a terminal of `width` columns.
    pub fn graphical(&self, colour: bool, width: usize) -> String {
        let theme =
            if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width.max(40))
            .with_context_lines(1);
        let mut text = String::new();
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            if problem.place.is_none() || handler.render_report(&mut text, problem).is_err() {
                text += &problem.sentence();
                text.push('\n');
            }
        }
        if let Some(line) = self.omission() {
            text += &line;
            text.push('\n');
        }
        text
    }

    fn omission(&self) -> Option<String> {
        (self.omitted > 0).then(|| format!("and {}", counted(self.omitted, "more problem")))
    }
}

impl From<Problem> for SpecError {
    fn from(problem: Problem) -> Self {
        Self::new(vec![problem])
    }
}

impl Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => f.write_str(&only.sentence()),
            all => {
                let file = all.first().map_or("the spec", Problem::file);
                write!(f, "{file} has {}", counted(all.len() + self.omitted, "problem"))
            }
        }
    }
}

impl std::error::Error for SpecError {}

impl Diagnostic for SpecError {
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.problems.iter().map(|problem| problem as &dyn Diagnostic)))
    }
}
