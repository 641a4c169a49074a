//! Results that are kept with a pattern, until memory is short.

use std::sync::Mutex;

use lacuna::Result;

use crate::context::locked;

/// The largest number of results of one kind.
const MAX_RESULTS: usize = 16;

/// Results by what they are computed for.
pub(crate) struct Kept<K, V>(Mutex<Vec<(K, V)>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Kept(Mutex::default())
    }
}

impl<K: PartialEq, V: Clone> Kept<K, V> {
    /// Returns the result for a key. It is computed if it is not kept. Nothing is locked meanwhile, so that memory can
    /// be freed.
    pub(crate) fn get_or(&self, key: K, compute: impl FnOnce(&K) -> Result<V>) -> Result<V> {
        let find = |kept: &[(K, V)]| kept.iter().find(|(known, _)| *known == key).map(|(_, found)| found.clone());
        if let Some(found) = find(&locked(&self.0)) {
            return Ok(found);
        }
        let computed = compute(&key)?;
        let mut kept = locked(&self.0);
        // Another thread may have been faster. Results that are equal share their pattern, so the first one stays.
        if let Some(found) = find(&kept) {
            return Ok(found);
        }
        if kept.len() == MAX_RESULTS {
            kept.remove(0);
        }
        kept.push((key, computed.clone()));
        Ok(computed)
    }

    pub(crate) fn free(&self) {
        locked(&self.0).clear();
    }
}
