//! Leaves the vector registers as scalar code expects them.
//!
//! faer's products use 256- or 512-bit registers and return with the upper halves in use. Until these
//! are cleared, each 128-bit instruction of code compiled for the baseline (ours, and the C library's
//! `exp`) has to preserve them. This has been measured to slow such code down thirtyfold.

/// Clears the upper halves of the vector registers of this thread. Call it on each thread that took
/// part in a matrix product, before other arithmetic that takes long.
#[inline]
pub(crate) fn clear_upper_halves() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX, and no value is in the upper halves here: this code is
        // compiled without AVX, or the compiler tracks the upper halves itself.
        unsafe { zero_upper() }
    }
}

/// Runs `work`, which calls faer, and clears the upper halves afterwards.
#[inline]
pub(crate) fn then_clear<T>(work: impl FnOnce() -> T) -> T {
    let result = work();
    clear_upper_halves();
    result
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
fn zero_upper() {
    std::arch::x86_64::_mm256_zeroupper();
}
