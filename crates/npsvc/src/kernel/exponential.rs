//! The Gaussian `exp(-(|x|^2 + |x'|^2 - 2 <x, x'>) / t)` of a column of inner products, with a vectorised `exp`.
//!
//! The C library's `exp` takes one number at a time, and took as long as the product of the samples.
//! No crate has a vectorised `exp` that chooses the registers at run time.

/// Replaces inner products by `exp(scale |x - x'|^2)` for `scale < 0`. The inner products are those of
/// one sample of squared length `norm` with samples of squared lengths `norms`.
pub(super) fn gaussian(products: &mut [f64], norms: &[f64], norm: f64, scale: f64) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has AVX2.
        return unsafe { gaussian_avx2(products, norms, norm, scale) };
    }
    gaussian_portable(products, norms, norm, scale);
}

/// [`gaussian_portable`], compiled for wider registers.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn gaussian_avx2(products: &mut [f64], norms: &[f64], norm: f64, scale: f64) {
    gaussian_portable(products, norms, norm, scale);
}

#[inline(always)]
fn gaussian_portable(products: &mut [f64], norms: &[f64], norm: f64, scale: f64) {
    for (value, other) in products.iter_mut().zip(norms) {
        let squared_distance = super::fitted::not_negative(norm + other - 2.0 * *value);
        *value = exp_not_positive(scale * squared_distance);
    }
}

/// `exp(x)` for `x <= 0`, as `2^n exp(r)` with `|r| <= ln(2) / 2` and Taylor's series, whose rest is
/// below rounding. Values below `exp(-708)`, about 3e-308, become zero. NaN stays NaN.
#[inline(always)]
fn exp_not_positive(x: f64) -> f64 {
    // A number plus this has its nearest integer in the lowest bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    // ln(2) in two parts. The first has few enough digits for its multiples to be exact.
    const LN_2: [f64; 2] = [6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10];
    const INVERSE_FACTORIALS: [f64; 12] = [
        1.0 / 6_227_020_800.0,
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ];
    const LEAST: f64 = -708.0;
    let shifted = x * std::f64::consts::LOG2_E + SHIFT;
    let n = shifted - SHIFT;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let mut series = 0.0;
    for coefficient in INVERSE_FACTORIALS {
        series = series * r + coefficient;
    }
    let series = 1.0 + (r + r * r * series);
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    if x < LEAST { 0.0 } else { series * power }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_library_to_a_rounding() {
        for step in 0..200_000 {
            let x = -708.0 * f64::from(step) / 200_000.0;
            let (found, expected) = (exp_not_positive(x), x.exp());
            let error = (found - expected).abs() / expected;
            assert!(error < 5e-16, "exp({x}) = {found}, not {expected}");
        }
    }

    #[test]
    fn extreme_arguments_are_as_documented() {
        assert_eq!(exp_not_positive(0.0), 1.0);
        assert_eq!(exp_not_positive(-709.0), 0.0);
        assert_eq!(exp_not_positive(f64::NEG_INFINITY), 0.0);
        assert!(exp_not_positive(f64::NAN).is_nan());
    }

    #[test]
    fn wide_registers_give_the_same_numbers() {
        let norms: Vec<f64> = (0..37).map(|i| 1.0 + f64::from(i)).collect();
        let products: Vec<f64> = (0..37).map(|i| f64::from(i).sin()).collect();
        let (mut one, mut other) = (products.clone(), products);
        gaussian(&mut one, &norms, 2.0, -0.3);
        gaussian_portable(&mut other, &norms, 2.0, -0.3);
        assert_eq!(one, other);
    }
}
