//! Problems of a spec: where, what, and what to do about it.

use std::fmt::{self, Display};
use std::sync::Arc;

use miette::{
    GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, NamedSource, Report,
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
    fn label(&self, text: Option<&str>) -> LabeledSpan {
        LabeledSpan::new(text.map(str::to_owned), self.offset, self.length)
    }
}

/// One problem of a spec.
#[derive(Clone, Debug)]
pub struct Problem {
    /// Missing if the problem is the file as a whole.
    pub place: Option<Place>,
    pub message: String,
    pub help: Option<String>,
    also: Option<(Place, &'static str)>,
}

impl Problem {
    pub(super) fn new(at: Place, message: impl Into<String>) -> Self {
        Self { place: Some(at), message: message.into(), help: None, also: None }
    }

    pub(super) fn help(self, help: impl Into<Option<String>>) -> Self {
        Self { help: help.into(), ..self }
    }

    pub(super) fn also(self, at: Place, label: &'static str) -> Self {
        Self { also: Some((at, label)), ..self }
    }
}

/// A spec as it was read, for problems that show only later.
#[derive(Clone, Debug)]
pub struct SpecText {
    file: Arc<NamedSource<String>>,
    pub(super) root: Node,
}

impl SpecText {
    /// Without a tree yet.
    pub(super) fn new(name: &str, text: &str) -> Self {
        let root = Node { kind: Kind::Null, at: Place::default() };
        Self { file: Arc::new(NamedSource::new(name, text.to_owned())), root }
    }

    /// The file's name as the user gave it.
    pub fn name(&self) -> &str {
        self.file.name()
    }

    pub fn as_str(&self) -> &str {
        self.file.inner()
    }

    /// The place of a path of keys and indices (from 0), such as `["splits", "repeats"]`. After the index of a
    /// method or dataset its name may be left out: `["methods", "2", "d"]`. What the file does not spell out is at
    /// the nearest thing around it that it does.
    pub(super) fn place(&self, path: &[&str]) -> Place {
        let (mut node, mut is_item) = (&self.root, false);
        for step in path {
            let inner = match node.entries() {
                [only] if only.key != *step => only.value.get(step),
                _ => None,
            };
            let item = || node.items().get(step.parse::<usize>().ok()?);
            match node.get(step).or(inner).or_else(item) {
                Some(found) => (is_item, node) = (!node.items().is_empty(), found),
                None => break,
            }
        }
        match node.entries() {
            // A block map has no place but its first key, and an entry of a list is known by its key.
            [first, ..] if is_item || node.at.length == 0 => first.key_at,
            _ => node.at,
        }
    }

    /// A problem where a path is written.
    pub fn problem(
        &self,
        path: &[&str],
        message: impl Into<String>,
        help: impl Into<Option<String>>,
    ) -> Problem {
        Problem::new(self.place(path), message).help(help)
    }

    /// An error if there are problems.
    pub fn refuse(&self, problems: Vec<Problem>) -> Result<(), SpecError> {
        if problems.is_empty() { Ok(()) } else { Err(self.error(problems)) }
    }

    /// These problems, of which there must be one, as an error.
    pub(super) fn error(&self, problems: Vec<Problem>) -> SpecError {
        SpecError::new(Arc::clone(&self.file), problems)
    }
}

/// All problems of a spec, in the order of the file.
#[derive(Clone, Debug)]
pub struct SpecError {
    file: Arc<NamedSource<String>>,
    problems: Vec<Problem>,
    omitted: usize,
}

impl SpecError {
    /// More than this many problems of one file are counted, not shown.
    const SHOWN: usize = 50;

    fn new(file: Arc<NamedSource<String>>, mut problems: Vec<Problem>) -> Self {
        problems.sort_by_key(|problem| problem.place.map(|place| place.offset));
        let omitted = problems.len().saturating_sub(Self::SHOWN);
        problems.truncate(Self::SHOWN);
        Self { file, problems, omitted }
    }

    /// A problem with a file as a whole.
    pub(super) fn of_file(name: &str, message: String, help: Option<String>) -> Self {
        let problem = Problem { place: None, message, help, also: None };
        Self::new(Arc::new(NamedSource::new(name, String::new())), vec![problem])
    }

    /// The problems, in the order of the file.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    /// One line per problem, for logs and pipes.
    pub fn plain(&self) -> String {
        let lines = self.problems.iter().map(|problem| self.sentence(problem) + "\n");
        lines.collect::<String>() + &self.omission()
    }

    /// With snippets of the file, for a terminal of `width` columns.
    pub fn graphical(&self, colour: bool, width: usize) -> String {
        let theme =
            if colour { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width.max(40))
            .with_context_lines(1);
        let shown = self.problems.iter().map(|problem| self.snippet(problem, &handler));
        shown.collect::<Vec<String>>().join("\n") + &self.omission()
    }

    /// Everything in one line: `file:line:column: message; help`.
    fn sentence(&self, problem: &Problem) -> String {
        let Problem { place, message, help, .. } = problem;
        let place = place.map_or_else(String::new, |at| format!(":{}:{}", at.line, at.column));
        let help = help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
        format!("{}{place}: {message}{help}", self.file.name())
    }

    fn snippet(&self, problem: &Problem, handler: &GraphicalReportHandler) -> String {
        let rendered = problem.place.and_then(|at| {
            let here = at.label(problem.also.map(|_| "here"));
            let also = problem.also.map(|(place, label)| place.label(Some(label)));
            let mut diagnostic =
                MietteDiagnostic::new(&problem.message).with_labels([here].into_iter().chain(also));
            diagnostic.help.clone_from(&problem.help);
            let report = Report::new(diagnostic).with_source_code(Arc::clone(&self.file));
            let mut text = String::new();
            handler.render_report(&mut text, report.as_ref()).ok().map(|()| text)
        });
        rendered.unwrap_or_else(|| self.sentence(problem) + "\n")
    }

    /// A line that counts the problems that are not shown, if there are any.
    fn omission(&self) -> String {
        match self.omitted {
            0 => String::new(),
            more => format!("and {}\n", counted(more, "more problem")),
        }
    }
}

impl Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [only] => f.write_str(&self.sentence(only)),
            all => {
                let problems = counted(all.len() + self.omitted, "problem");
                write!(f, "{} has {problems}", self.file.name())
            }
        }
    }
}

impl std::error::Error for SpecError {}
