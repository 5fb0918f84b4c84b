//! The size of the largest piece of memory that a computation asks for.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// The system's allocator, which also notes the largest request of each thread.
struct Noting;

#[global_allocator]
static ALLOCATOR: Noting = Noting;

fn note(size: usize) {
    // A thread that ends may allocate after its variables are gone.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(size)));
}

// SAFETY: every call is passed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size);
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        unsafe { System.dealloc(old, layout) }
    }
}

/// The result of `work`, and the size of its largest request in bytes.
pub fn largest_during<T>(work: impl FnOnce() -> T) -> (T, usize) {
    LARGEST.set(0);
    let result = work();
    (result, LARGEST.get())
}

#[test]
fn the_largest_request_is_noted() {
    let (list, largest) = largest_during(|| vec![0_u8; 12_345]);
    assert_eq!(list.len(), 12_345);
    assert!((12_345..20_000).contains(&largest), "{largest}");
}
