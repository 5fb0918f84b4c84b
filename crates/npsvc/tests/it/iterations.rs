//! `on_iteration` is called once per row of the trace, and the last iteration is the model.

use npsvc::{FitOptions, Seed};
use serde_json::json;

use super::digits::Digits;
use super::support::{method, methods};

#[test]
fn every_row_of_the_trace_is_seen_once_and_the_last_one_is_the_model() {
    let digits = Digits::load();
    let (set, rows) = (digits.set(), digits.x_test.view());
    let mut with_trace = Vec::new();
    for entry in methods() {
        for mut params in entry.schemes() {
            entry.set_dimensions(&mut params, 8);
            if entry.has("max_iter") && entry.is_nonparallel() {
                params["max_iter"] = json!(4);
            }
            let (mut seen, mut models) = (Vec::new(), Vec::new());
            let mut note = |iteration: &npsvc::Iteration<'_>| {
                seen.push(iteration.row.clone());
                models.push(iteration.model().unwrap());
            };
            let mut options = FitOptions::seeded(Seed::root(3));
            options.on_iteration = Some(&mut note);
            let model = method(entry.name, &params).fit(&set, options).unwrap();
            assert_eq!(seen, model.trace(), "{} {params}", entry.name);
            let Some(last) = models.last() else { continue };
            assert_eq!(last.predict(rows), model.predict(rows));
            assert_eq!(last.decision(rows), model.decision(rows));
            assert_eq!(last.certificate().primal, model.certificate().primal);
            let first = models[0].decision(rows).unwrap();
            assert_ne!(first, model.decision(rows).unwrap(), "nothing has moved");
            with_trace.push(entry.name);
        }
    }
    assert_eq!(with_trace, ["k-npsvcpp", "k-npsvcpp"]);
}
