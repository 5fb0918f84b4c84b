//! K-NPSVC++: the objectives `J_l` of an iteration, whose representation must be orthonormal.

use super::samples::{Function, bilinear};
use super::{Problem, Recomputed, Samples, Solution, Unclear};

pub(super) fn recompute(
    problem: &Problem,
    samples: &Samples,
    solution: &Solution,
) -> Result<Recomputed, Unclear> {
    let Problem::Representation { c, r2, manifold: (mu, graph), common } = problem else {
        return Err(Unclear("this problem has no representation".to_owned()));
    };
    let Some(representation) = &solution.representation else {
        let text =
            "the objective of K-NPSVC++ is that of an iteration, which a model does not keep";
        return Err(Unclear(text.to_owned()));
    };
    if !solution.is_complete(samples) {
        return Err(Unclear("with a pivoted factor, iterations are not expansions".to_owned()));
    }
    let (every, constant) = (&solution.support, common.constant());
    let frame: Vec<Function> =
        (representation.frame.iter()).map(|a| samples.function(every, a, constant)).collect();
    let mut found = Recomputed::default();
    check_frame(&mut found, &representation.frame, &frame);
    let mut smoothness = 0.0;
    if *mu > 0.0 {
        let laplacian = samples.laplacian(graph)?;
        smoothness = frame.iter().map(|z| bilinear(&laplacian, &z.values, &z.values)).sum();
    }
    for (l, function) in samples.functions(solution, constant).iter().enumerate() {
        let mut j = mu / 2.0 * smoothness;
        let mut rounding = function.norm_error * common.r;
        for (i, &f) in function.values.iter().enumerate() {
            let is_similar = common.is_similar(samples.y[i], l);
            j += match is_similar {
                true => f * f / 2.0,
                false if f < 1.0 => c * (1.0 - f),
                false => 0.0,
            };
            rounding += if is_similar { f.abs() } else { *c } * function.errors[i];
        }
        // |u - P v|^2 = |u|^2 - 2 <u, P v> + |v|^2
        let (b, v) = (&solution.coefficients[l], &representation.v[l]);
        let squared: f64 = v.iter().map(|v| v * v).sum();
        let mut distance = function.squared_norm + squared;
        for (z, v) in frame.iter().zip(v) {
            let product: f64 = z.values.iter().zip(b).map(|(z, b)| z * b).sum();
            distance -= 2.0 * v * product;
            let error: f64 = z.errors.iter().zip(b).map(|(error, b)| error * b.abs()).sum();
            rounding += common.r * v.abs() * error;
        }
        j += common.r / 2.0 * distance + r2 / 2.0 * squared;
        found.rounding = found.rounding.max(rounding);
        found.objectives.push(j);
    }
    let largest = |largest: f64, j: &f64| if *j > largest || j.is_nan() { *j } else { largest };
    found.primal = found.objectives.iter().fold(f64::NEG_INFINITY, largest);
    let weighted = representation.tau.iter().zip(&found.objectives).map(|(tau, j)| tau * j);
    found.dual = Some(weighted.sum());
    Ok(found)
}

/// `A^T K A = I`.
fn check_frame(found: &mut Recomputed, coefficients: &[Vec<f64>], frame: &[Function]) {
    for (i, a) in coefficients.iter().enumerate() {
        for (j, z) in frame.iter().enumerate().skip(i) {
            let product = z.values.iter().zip(a).map(|(z, a)| z * a).sum();
            let expected = if i == j { 1.0 } else { 0.0 };
            let name = format!("the product of directions {i} and {j}");
            found.require(&name, product, expected, 1.0);
        }
    }
}
