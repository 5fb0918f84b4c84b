//! Room for large matrices.
//!
//! Linux hands memory out in pages of 4 KiB, each on its first use; for a kernel matrix of 8000 samples
//! that took a quarter of the time. Asked for, it gives pages of 2 MiB.

use faer::Mat;

/// Bytes below which it makes no difference.
const LARGE: usize = 1 << 23;

/// A matrix of zeros.
pub(super) fn zeros(rows: usize, columns: usize) -> Mat<f64> {
    let mut m = Mat::<f64>::with_capacity(rows, columns);
    let bytes = rows * columns * size_of::<f64>();
    if bytes >= LARGE {
        ask_for_large_pages(m.as_ptr_mut().cast(), bytes);
    }
    m.resize_with(rows, columns, |_, _| 0.0);
    m
}

#[cfg(target_os = "linux")]
fn ask_for_large_pages(start: *mut u8, bytes: usize) {
    const PAGE: usize = 4096;
    let before = start.align_offset(PAGE);
    if before < bytes {
        let length = (bytes - before) / PAGE * PAGE;
        // SAFETY: the range lies within one allocation of our own, and the advice changes neither
        // what it holds nor what it is for. Refused, it does no harm.
        unsafe {
            libc::madvise(start.add(before).cast(), length, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_large_pages(_: *mut u8, _: usize) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_ones_are_zero() {
        for n in [0, 1, 7, 1500] {
            let m = zeros(n, n);
            assert_eq!((m.nrows(), m.ncols()), (n, n));
            assert_eq!(m.norm_max(), 0.0);
        }
    }
}
