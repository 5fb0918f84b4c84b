//! `cells.parquet`: the ledger's records of the plan's cells as columns. The only use of polars.
//!
//! Values that are objects in the ledger (`params`, `selection`, and fields this version does not
//! know) are JSON text; the certificate's parts have their own columns.

use polars::prelude::{Column, DataFrame, NamedFrom, ParquetWriter, PolarsResult, Series};
use rayon::prelude::*;
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
    let mut columns = columns(records);
    columns.push(column("cautions", records, |_| Some(cautions.clone())));
    let mut frame = DataFrame::new(records.len(), columns)?;
    let mut bytes = Vec::new();
    ParquetWriter::new(&mut bytes).finish(&mut frame)?;
    Ok(bytes)
}

/// Which cell it is, how it ended, and where and by what it was run.
fn columns(records: &[&Record]) -> Vec<Column> {
    let status = |r: &Record| match r.status {
        Status::Ok => "ok",
        Status::Failed => "failed",
        Status::Skipped => "skipped",
    };
    let part = |name, get: fn(&RecordedCertificate) -> f64| {
        column(name, records, |r| r.certificate.as_ref().map(get))
    };
    // The fields that follow `git`.
    let extra = |r: &Record| {
        let fields = r.fields().into_iter().skip_while(|(name, _)| name != "git");
        let rest: Map<_, _> = fields.skip(1).collect();
        (!rest.is_empty()).then(|| Value::Object(rest))
    };
    vec![
        column("cell", records, |r| Some(r.cell.clone())),
        column("experiment", records, |r| Some(r.experiment.clone())),
        column("dataset", records, |r| Some(r.dataset.clone())),
        column("method", records, |r| Some(r.method.clone())),
        column("label", records, |r| Some(r.label.clone())),
        column("scheme", records, |r| r.scheme.clone()),
        column("split", records, |r| Some(r.split as u64)),
        column("seed", records, |r| Some(r.seed)),
        column("n_train", records, |r| Some(r.n_train as u64)),
        column("n_test", records, |r| Some(r.n_test as u64)),
        column("dims", records, |r| Some(r.dims as u64)),
        column("classes", records, |r| Some(r.classes as u64)),
        column("params", records, |r| Some(r.params.to_string())),
        column("status", records, |r| Some(status(r).to_owned())),
        column("error", records, |r| r.error.clone()),
        column("accuracy", records, |r| r.accuracy),
        column("balanced_accuracy", records, |r| r.balanced_accuracy),
        column("fit_seconds", records, |r| r.fit_seconds),
        column("predict_seconds", records, |r| r.predict_seconds),
        column("peak_mb", records, |r| r.peak_mb),
        part("primal", |c| c.primal),
        part("dual", |c| c.dual),
        part("gap", |c| c.gap),
        column("iterations", records, |r| r.certificate.as_ref().map(|c| c.iterations as u64)),
        column("converged", records, |r| r.certificate.as_ref().map(|c| c.converged)),
        column("selection", records, |r| {
            r.selection.as_ref().map(|found| json!(found).to_string())
        }),
        column("started", records, |r| Some(r.started.clone())),
        column("host", records, |r| Some(r.host.clone())),
        column("threads", records, |r| Some(r.threads as u64)),
        column("device", records, |r| Some(r.device.clone())),
        column("version", records, |r| Some(r.version.clone())),
        column("git", records, |r| r.git.clone()),
        column("extra", records, |r| extra(r).map(|value| value.to_string())),
    ]
}

/// In parallel, because some values are JSON text, and a ledger may have 100,000 records.
fn column<T: Send>(
    name: &str,
    records: &[&Record],
    get: impl Fn(&Record) -> Option<T> + Sync,
) -> Column
where
    Series: NamedFrom<Vec<Option<T>>, [Option<T>]>,
{
    let values: Vec<Option<T>> = records.par_iter().map(|record| get(record)).collect();
    Series::new(name.into(), values).into()
}
