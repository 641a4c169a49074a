//! Work on a stream of items that are read and written in order.

use super::{map_each, pool};

/// The number of items per thread in a batch of a [`pipeline`].
pub(super) const BATCH: usize = 8;

/// Passes each item of `next` through `work` to `take`, in order, until a call fails.
///
/// `next` and `take` read and write, so they run on this thread. `work` runs on the pool at the same time. While a
/// batch is processed, the results of the batch before are taken and the next items are fetched.
pub(crate) fn pipeline<A: Send, B: Send, E>(
    next: impl FnMut() -> Result<Option<A>, E>,
    work: impl Fn(A) -> B + Sync + Send,
    mut take: impl FnMut(B) -> Result<(), E>,
) -> Result<(), E> {
    let width = pool::width();
    let mut source = PipelineSource { next, failed: None };
    let mut batch = source.fetch(if width == 1 { 1 } else { BATCH * width });
    if batch.len() < 2 {
        return source.one_by_one(batch, work, take);
    }
    let mut results = Vec::new();
    while !batch.is_empty() || !results.is_empty() {
        let (mut worked, mut taken, mut fetched) = (Vec::new(), Ok(()), Vec::new());
        let mut there = || {
            worked = map_each(std::mem::take(&mut batch).into(), usize::MAX, || (), |(), item| work(item)).into_vec();
        };
        let mut here = || {
            taken = results.drain(..).try_for_each(&mut take);
            fetched = source.fetch(BATCH * width);
        };
        pool::at_once(&mut there, &mut here);
        taken?;
        (results, batch) = (worked, fetched);
    }
    source.failed.map_or(Ok(()), Err)
}

/// The source of the items of a [`pipeline`]. The source returns an error only after all earlier items are processed.
struct PipelineSource<F, E> {
    next: F,
    failed: Option<E>,
}

impl<A, E, F: FnMut() -> Result<Option<A>, E>> PipelineSource<F, E> {
    /// Returns up to `count` items.
    fn fetch(&mut self, count: usize) -> Vec<A> {
        let mut items = Vec::new();
        while items.len() < count && self.failed.is_none() {
            match (self.next)() {
                Ok(Some(item)) => items.push(item),
                Ok(None) => break,
                Err(error) => self.failed = Some(error),
            }
        }
        items
    }

    /// Runs the pipeline without other threads: for one thread, and for a single item.
    fn one_by_one<B>(
        mut self,
        mut items: Vec<A>,
        work: impl Fn(A) -> B,
        mut take: impl FnMut(B) -> Result<(), E>,
    ) -> Result<(), E> {
        while let Some(item) = items.pop() {
            take(work(item))?;
            items = self.fetch(1);
        }
        self.failed.map_or(Ok(()), Err)
    }
}
