//! Leaves the vector registers as scalar code expects them.
//!
//! faer's products run on 256- or 512-bit registers and return with the upper halves in use. Until
//! they are cleared, every 128-bit instruction of code compiled for the baseline (ours, and the C
//! library's `exp`) has to preserve them, which has been measured to slow it down thirtyfold.

/// Clears the upper halves of the vector registers of this thread. To be called between a matrix
/// product and a long stretch of other arithmetic, on every thread that took part.
#[inline]
pub fn clear_upper_halves() {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx") {
        // SAFETY: the processor has AVX, and no value lives in the upper halves here: this code is
        // compiled without AVX, or else the compiler keeps track of them itself.
        unsafe { zero_upper() }
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx")]
fn zero_upper() {
    std::arch::x86_64::_mm256_zeroupper();
}
