//! The aggregate function of DataFusion for a streaming reduction. Stages exchange each group as bytes: the number of
//! entries, the sum of their hashes, and the accumulator of the reduction.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, LargeBinaryBuilder};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, UInt64Type};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility, utils::AggregateOrderSensitivity,
};
use lacuna::lazy::engine_api::Partial;

use crate::map::{Shared, bytes_of};
use crate::median;
use crate::table::bytes_type;

/// The function `lacuna_fold`.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Fold {
    query: Shared,
    signature: Signature,
}

impl Fold {
    pub(crate) fn new(query: Shared) -> Self {
        let takes = vec![bytes_type(query.query.width()), DataType::UInt64];
        Fold { query, signature: Signature::exact(takes, Volatility::Immutable) }
    }

    fn groups(&self) -> Groups {
        Groups { query: self.query.clone(), seen: Vec::new(), partial: self.query.partial() }
    }
}

impl AggregateUDFImpl for Fold {
    fn name(&self) -> &str {
        "lacuna_fold"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::LargeBinary)
    }

    fn is_nullable(&self) -> bool {
        false
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "state"), DataType::LargeBinary, false))])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let mut groups = self.groups();
        groups.resize(1)?;
        Ok(Box::new(One(groups)))
    }

    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(self.groups()))
    }
}

/// The number of entries that were seen, and the sum of their hashes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) entries: u64,
    pub(crate) hash: u64,
}

impl Seen {
    pub(crate) fn add(&mut self, other: Seen) -> Result<()> {
        self.entries = self.entries.checked_add(other.entries).ok_or_else(|| broken("too many entries"))?;
        self.hash = self.hash.wrapping_add(other.hash);
        Ok(())
    }

    /// Parses the bytes of a group: the entries that were read, and the accumulator of the reduction.
    pub(crate) fn of_group(bytes: &[u8]) -> Result<(Seen, &[u8])> {
        let (words, state) = bytes.split_at_checked(16).ok_or_else(|| broken("an accumulator is too short"))?;
        let [entries, hash] =
            [0, 8].map(|at| words[at..at + 8].iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        Ok((Seen { entries, hash }, state))
    }
}

fn broken(what: &str) -> datafusion::common::DataFusionError {
    exec_datafusion_err!("lacuna: {what}")
}

/// The usual size of the final bytes of a group.
const ANSWER: usize = 64;

/// The accumulators of several groups.
struct Groups {
    query: Shared,
    seen: Vec<Seen>,
    partial: Box<dyn Partial>,
}

impl Groups {
    fn resize(&mut self, groups: usize) -> Result<()> {
        self.partial.resize(groups).map_err(|_| broken("not enough memory for the groups"))?;
        self.seen.resize(groups.max(self.seen.len()), Seen::default());
        Ok(())
    }

    fn add(&mut self, columns: &[ArrayRef], groups: &[usize]) -> Result<()> {
        let [values, hashes] = columns else { return Err(broken("a reduction requires two columns")) };
        for (&group, &hash) in groups.iter().zip(hashes.as_primitive::<UInt64Type>().values()) {
            self.seen[group].add(Seen { entries: 1, hash })?;
        }
        match self.partial.add(bytes_of(values)?, groups) {
            true => Ok(()),
            false => Err(broken("the bytes are not values")),
        }
    }

    fn merge(&mut self, states: &ArrayRef, groups: &[usize]) -> Result<()> {
        let states = states.as_binary::<i64>();
        for (bytes, &group) in states.iter().zip(groups) {
            let (seen, state) = Seen::of_group(bytes.ok_or_else(|| broken("an accumulator is missing"))?)?;
            self.seen[group].add(seen)?;
            if !self.partial.merge(group, state) {
                return Err(broken("the bytes are not an accumulator"));
            }
        }
        Ok(())
    }

    /// Returns the bytes of a group, which is not used again.
    fn bytes(&mut self, group: usize) -> Result<Vec<u8>> {
        let Seen { entries, hash } = self.seen[group];
        let mut bytes = [entries.to_le_bytes(), hash.to_le_bytes()].concat();
        self.partial.take(group, &mut bytes);
        Ok(bytes)
    }

    /// Returns the final bytes of a complete group; a median has only its counts and its middle.
    fn answer(&mut self, group: usize) -> Result<Vec<u8>> {
        let bytes = self.bytes(group)?;
        let Some(order) = self.query.query.order() else { return Ok(bytes) };
        let (seen, state) = Seen::of_group(&bytes)?;
        let unstored = self.query.query.extent().saturating_sub(seen.entries.into());
        let answer =
            median::answer(unstored, order, state).ok_or_else(|| broken("the bytes are not an accumulator"))?;
        Ok([&bytes[..bytes.len() - state.len()], &answer].concat())
    }

    /// Returns the approximate bytes of a serialized group.
    fn room(&self) -> usize {
        ANSWER + self.partial.bytes() / self.seen.len().max(1)
    }

    /// Removes the first groups, and returns a column of their bytes, with `room` bytes per group.
    fn emit(
        &mut self,
        emit: EmitTo,
        room: usize,
        bytes: fn(&mut Groups, usize) -> Result<Vec<u8>>,
    ) -> Result<ArrayRef> {
        let groups = match emit {
            EmitTo::All => self.seen.len(),
            EmitTo::First(groups) => groups.min(self.seen.len()),
        };
        let mut column = LargeBinaryBuilder::with_capacity(groups, room * groups);
        for group in 0..groups {
            column.append_value(bytes(self, group)?);
        }
        self.seen.drain(..groups);
        // DataFusion emits groups when memory is short, and then checks the memory again.
        self.seen.shrink_to_fit();
        self.partial.drop_first(groups);
        Ok(Arc::new(column.finish()))
    }
}

fn reject_filter(filter: Option<&BooleanArray>) -> Result<()> {
    filter.map_or(Ok(()), |_| Err(broken("a reduction does not support a filter")))
}

impl GroupsAccumulator for Groups {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        count: usize,
    ) -> Result<()> {
        reject_filter(filter)?;
        self.resize(count)?;
        self.add(values, groups)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        self.emit(emit, ANSWER, Groups::answer)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![self.emit(emit, self.room(), Groups::bytes)?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        self.resize(count)?;
        let [states] = states else { return Err(broken("an accumulator must be one column")) };
        self.merge(states, groups)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        reject_filter(filter)?;
        let count = values.first().map_or(0, |column| column.len());
        let mut singles = Groups { query: self.query.clone(), seen: Vec::new(), partial: self.partial.again() };
        singles.resize(count)?;
        singles.add(values, &(0..count).collect::<Vec<_>>())?;
        Ok(vec![singles.emit(EmitTo::All, ANSWER, Groups::bytes)?])
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.seen.capacity() * size_of::<Seen>() + self.partial.bytes()
    }
}

/// The only group of a reduction over all axes.
struct One(Groups);

impl std::fmt::Debug for One {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "fold of {:?}", self.0.seen)
    }
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let count = values.first().map_or(0, |column| column.len());
        self.0.add(values, &vec![0; count])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::LargeBinary(Some(self.0.answer(0)?)))
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::LargeBinary(Some(self.0.bytes(0)?))])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [states] = states else { return Err(broken("an accumulator must be one column")) };
        self.0.merge(states, &vec![0; states.len()])
    }
}
