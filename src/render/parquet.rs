//! `cells.parquet`: the ledger's records of the plan's cells as columns. The only use of polars.
//!
//! Values that are objects in the ledger (`params`, `selection`, and fields this version does not
//! know) are JSON text; the certificate's parts are columns of their own.

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, PolarsResult, Series};
use serde_json::{Map, Value, json};

use crate::analyse::Summary;
use crate::error::Error;
use crate::ledger::RecordedCertificate;
use crate::ledger::{Record, Status};

/// The file `cells.parquet`.
pub(super) fn cells(summary: &Summary) -> Result<Vec<u8>, Error> {
    let refused = |error| Error::failed(format!("cannot build cells.parquet: {error}"));
    write(summary).map_err(refused)
}

fn write(summary: &Summary) -> PolarsResult<Vec<u8>> {
    let records: &[&Record] = &summary.records().collect::<Vec<_>>();
    let cautions = summary.cautions().join(" ");
    let columns = names(records)
        .into_iter()
        .chain(figures(records))
        .chain(origin(records))
        .chain([text("cautions", records, |_| Some(cautions.clone()))])
        .collect();
    let mut frame = DataFrame::new(records.len(), columns)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes).finish(&mut frame)?;
    Ok(bytes)
}

/// Which cell it is.
fn names(records: &[&Record]) -> Vec<Column> {
    vec![
        text("cell", records, |r| Some(r.cell.clone())),
        text("experiment", records, |r| Some(r.experiment.clone())),
        text("dataset", records, |r| Some(r.dataset.clone())),
        text("method", records, |r| Some(r.method.clone())),
        text("label", records, |r| Some(r.label.clone())),
        text("scheme", records, |r| r.scheme.clone()),
        count("split", records, |r| Some(r.split as u64)),
        count("seed", records, |r| Some(r.seed)),
        count("n_train", records, |r| Some(r.n_train as u64)),
        count("n_test", records, |r| Some(r.n_test as u64)),
        count("dims", records, |r| Some(r.dims as u64)),
        count("classes", records, |r| Some(r.classes as u64)),
        text("params", records, |r| Some(r.params.to_string())),
    ]
}

/// How it ended.
fn figures(records: &[&Record]) -> Vec<Column> {
    let status = |r: &Record| match r.status {
        Status::Ok => "ok",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
    };
    let part = |name, get: fn(&RecordedCertificate) -> f64| {
        figure(name, records, |r| r.certificate.as_ref().map(get))
    };
    let converged = records.iter().map(|r| r.certificate.as_ref().map(|c| c.converged));
    vec![
        text("status", records, |r| Some(status(r).to_owned())),
        text("error", records, |r| r.error.clone()),
        figure("accuracy", records, |r| r.accuracy),
        figure("balanced_accuracy", records, |r| r.balanced_accuracy),
        figure("fit_seconds", records, |r| r.fit_seconds),
        figure("predict_seconds", records, |r| r.predict_seconds),
        figure("peak_mb", records, |r| r.peak_mb),
        part("primal", |c| c.primal),
        part("dual", |c| c.dual),
        part("gap", |c| c.gap),
        count("iterations", records, |r| r.certificate.as_ref().map(|c| c.iterations as u64)),
        Series::new("converged".into(), converged.collect::<Vec<_>>()).into(),
        text("selection", records, |r| r.selection.as_ref().map(|found| json!(found).to_string())),
    ]
}

/// Where and by what it was run.
fn origin(records: &[&Record]) -> Vec<Column> {
    // The fields that follow `git`.
    let extra = |r: &Record| {
        let fields = json!(r).as_object().cloned().unwrap_or_default().into_iter();
        let rest: Map<_, _> = fields.skip_while(|(name, _)| name != "git").skip(1).collect();
        (!rest.is_empty()).then(|| Value::Object(rest))
    };
    vec![
        text("started", records, |r| Some(r.started.clone())),
        text("host", records, |r| Some(r.host.clone())),
        count("threads", records, |r| Some(r.threads as u64)),
        text("device", records, |r| Some(r.device.clone())),
        text("version", records, |r| Some(r.version.clone())),
        text("git", records, |r| r.git.clone()),
        text("extra", records, |r| extra(r).map(|value| value.to_string())),
    ]
}

fn text(name: &str, records: &[&Record], get: impl Fn(&Record) -> Option<String>) -> Column {
    Series::new(name.into(), records.iter().map(|r| get(r)).collect::<Vec<_>>()).into()
}

fn count(name: &str, records: &[&Record], get: impl Fn(&Record) -> Option<u64>) -> Column {
    Series::new(name.into(), records.iter().map(|r| get(r)).collect::<Vec<_>>()).into()
}

fn figure(name: &str, records: &[&Record], get: impl Fn(&Record) -> Option<f64>) -> Column {
    Series::new(name.into(), records.iter().map(|r| get(r)).collect::<Vec<_>>()).into()
}
