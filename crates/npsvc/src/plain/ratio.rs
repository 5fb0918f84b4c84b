//! GEPSVM: for each class, a ratio of squared distances.

use super::{Common, Recomputed, Samples, Solution, hyperplanes};

pub(super) fn recompute(common: &Common, samples: &Samples, solution: &Solution) -> Recomputed {
    let mut found = Recomputed::default();
    for (l, function) in samples.functions(solution, common.constant()).iter().enumerate() {
        let (mut similar, mut dissimilar) = (common.r * function.squared_norm, 0.0);
        let (mut error, mut dissimilar_error) = (common.r * function.norm_error, 0.0);
        for (i, &f) in function.values.iter().enumerate() {
            if common.is_similar(samples.y[i], l) {
                similar += f * f;
                error += 2.0 * f.abs() * function.errors[i];
            } else {
                dissimilar += f * f;
                dissimilar_error += 2.0 * f.abs() * function.errors[i];
            }
        }
        let ratio = similar / dissimilar;
        found.add(ratio, None, (error + ratio * dissimilar_error) / dissimilar);
        hyperplanes::check(&mut found, common, solution, l, function);
    }
    found
}
