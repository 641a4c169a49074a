//! Values that an engine passes in chunks, for writers of files.

use std::cell::Cell;

use super::Value;
use super::engine::{Engine, On, is_of_a_step};
use super::node::downcast;
use super::plan::Plan;
use crate::base::error::Result;

impl<V: Value, E: Engine> On<V, E> {
    /// Returns the largest number of bytes for values, if there is a limit.
    pub(crate) fn memory(&self) -> Option<u64> {
        self.engine.memory()
    }

    /// Returns the lengths of the axes, if known.
    pub(crate) fn shape(&self) -> Option<&[usize]> {
        self.of.shape()
    }

    /// Passes the value in chunks along its first axis, in order.
    pub(crate) fn for_each_chunk(&self, mut take: impl FnMut(&V) -> Result<()>) -> Result<()> {
        let (written, is_taken) = (std::slice::from_ref(&self.of.node), Cell::new(false));
        let mut run = |plan: &Plan| {
            self.engine.for_each_chunk(plan, plan.bound(Vec::new())?, &mut |value| {
                is_taken.set(true);
                take(downcast(value))
            })
        };
        let plan = Plan::rewritten(written)?;
        match run(&plan) {
            // If no chunk was passed yet, the original graph runs and reports the error.
            Err(error) if plan.is_rewritten() && is_of_a_step(&error) && !is_taken.get() => run(&Plan::new(written)?),
            done => done,
        }
    }
}
