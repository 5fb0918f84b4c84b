//! Values that are computed once and shared.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

/// Computed values by key. A memo of `most` keys drops the one that was asked for longest ago.
pub(crate) struct Memo<K, V> {
    most: usize,
    /// The key asked for last comes last.
    slots: Mutex<Vec<(K, Slot<V>)>>,
}

type Slot<V> = Arc<Mutex<Option<Arc<V>>>>;

/// Keeps all keys.
impl<K, V> Default for Memo<K, V> {
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl<K, V> Memo<K, V> {
    pub fn new(most: usize) -> Self {
        Self { most, slots: Mutex::default() }
    }
}

impl<K: PartialEq, V> Memo<K, V> {
    /// The value of `key`, computed by `make` if it is not known.
    pub fn get(&self, key: K, make: impl FnOnce() -> V) -> Arc<V> {
        let Ok(value) = self.try_get(key, || Ok::<V, Infallible>(make()));
        value
    }

    /// As [`Self::get`], with a computation that may fail. A failure is not kept. Only callers that
    /// want the same key wait for it.
    pub fn try_get<E>(&self, key: K, make: impl FnOnce() -> Result<V, E>) -> Result<Arc<V>, E> {
        let slot = self.slot(key);
        let mut value = lock(&slot);
        if let Some(value) = &*value {
            return Ok(value.clone());
        }
        let made = Arc::new(make()?);
        *value = Some(made.clone());
        Ok(made)
    }

    /// As [`Self::try_get`], or just computed if there is no `memo`.
    pub fn try_get_in<E>(
        memo: Option<&Self>,
        key: K,
        make: impl FnOnce() -> Result<V, E>,
    ) -> Result<Arc<V>, E> {
        match memo {
            Some(memo) => memo.try_get(key, make),
            None => make().map(Arc::new),
        }
    }

    fn slot(&self, key: K) -> Slot<V> {
        let mut slots = lock(&self.slots);
        let found = match slots.iter().position(|(known, _)| *known == key) {
            Some(index) => slots.remove(index),
            None => {
                if slots.len() == self.most {
                    slots.remove(0);
                }
                (key, Slot::default())
            }
        };
        let slot = found.1.clone();
        slots.push(found);
        slot
    }
}

/// What these locks protect is replaced as a whole, so a panic elsewhere leaves nothing half written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poison| poison.into_inner())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn the_key_asked_for_longest_ago_is_dropped() {
        let (memo, made) = (Memo::new(2), Cell::new(0));
        let get = |key: u32| {
            let value = memo.get(key, || {
                made.set(made.get() + 1);
                10 * key
            });
            assert_eq!(*value, 10 * key);
            made.get()
        };
        assert_eq!([get(1), get(2), get(1)], [1, 2, 2]);
        // Drops 2, which was asked for before 1.
        assert_eq!([get(3), get(1), get(2)], [3, 3, 4]);
    }
}
