//! The rule of each node: what its gradient gives to those of its inputs that count.

use super::call::placed;
use super::grad::{Back, Given, Graph, inputs, no_rule};
use super::table::{Function, function};
use super::{Binary, Id, Kind, Unary, Wrong};
use crate::element::Number;
use crate::ops::PARAMETER_MARKS;

/// The name of a parameter, without what says how often it is given.
pub(super) fn plain(parameter: &str) -> &str {
    parameter.trim_end_matches(PARAMETER_MARKS)
}

impl Graph {
    /// What a node gives to those of its inputs that count.
    pub(super) fn rule(&mut self, id: Id, back: Back<'_>) -> Result<Given, Wrong> {
        let Back { upstream, at, .. } = back;
        match self.nodes[id].kind.clone() {
            Kind::Unary(Unary::Neg, x) => self.of_call("neg", &[vec![x]], back),
            Kind::Unary(Unary::Not, _) => Err(no_rule("not", at)),
            Kind::Binary(Binary::Pow, x, exponent) if self.is_number(exponent) => {
                let name = match &self.nodes[exponent].kind {
                    Kind::Number(n) if n.integer().is_some_and(|n| i32::try_from(n).is_ok()) => "powi",
                    _ => "powf",
                };
                self.of_call(name, &[vec![x], vec![exponent]], back)
            }
            Kind::Binary(operator, x, y) => self.of_call(operator.operation(), &[vec![x], vec![y]], back),
            Kind::Index(x, items)
                if !inputs(&Kind::Index(0, items.clone()))[1..].iter().any(|&end| back.meets(end)) =>
            {
                Ok(vec![(x, self.push(Kind::Scatter(x, items, upstream), at))])
            }
            Kind::Call(name, arguments) => {
                let Some(function) = function(&name) else { return Err(no_rule(&name, at)) };
                let of = placed(function, &arguments, at, &self.nodes)?;
                match function.name() {
                    "matmul_with" | "matmul_on" => self.of_entries(id, &of, back),
                    name if name.ends_with("_backward") => self.of_gradient(function, &of, back),
                    name => self.of_call(name, &of, back),
                }
            }
            Kind::Index(..) => Err(no_rule("an index", at)),
            // What these gave stands at the entries of their first input alone.
            Kind::Scatter(x, items, of) => {
                let own = self.push(Kind::Own(x, upstream), at);
                let chosen = self.push(Kind::Index(own, items), at);
                Ok(vec![(of, self.push(Kind::Own(of, chosen), at))])
            }
            Kind::Own(x, of) => {
                let own = self.push(Kind::Own(x, upstream), at);
                Ok(vec![(of, self.push(Kind::Own(of, own), at))])
            }
            Kind::Shaped(x, of) => {
                let own = self.push(Kind::Own(x, upstream), at);
                Ok(vec![(of, self.push(Kind::Shaped(of, own), at))])
            }
            Kind::Like(..) => Ok(Vec::new()),
            _ => Err(no_rule("this", at)),
        }
    }

    /// The rule of a function, by its name and arguments.
    pub(super) fn of_call(&mut self, name: &str, of: &[Vec<Id>], back: Back<'_>) -> Result<Given, Wrong> {
        let (first, Back { upstream, at, .. }) = (of[0][0], back);
        let only_first = || !of[1..].iter().flatten().any(|&id| back.meets(id));
        match name {
            "stored" => return Ok(vec![(first, upstream)]),
            "zeros_like" => return Ok(Vec::new()),
            "cast" | "with_fill" | "to_coo" | "to_csr" if only_first() => {
                return Ok(vec![(first, self.push(Kind::Own(first, upstream), at))]);
            }
            "diag" if only_first() => {
                let offset = of[1].first().map(|&offset| ("offset", offset));
                let diagonal = self.call("diagonal", [("x", upstream)].into_iter().chain(offset).collect(), at);
                return Ok(vec![(first, self.push(Kind::Own(first, diagonal), at))]);
            }
            "reshape" | "reshape_as" if only_first() => {
                return Ok(vec![(first, self.push(Kind::Shaped(first, upstream), at))]);
            }
            "block" => return self.of_block(first, back),
            "dense" => return Ok(vec![(first, self.push(Kind::Own(first, upstream), at))]),
            "pattern_sddmm" => return Ok(self.of_dots([first, of[1][0], of[2][0]], back)),
            "scale" => return Ok(self.of_scale(of, back)),
            _ => {}
        }
        let backward = match name {
            "where_" => "where_backward".to_string(),
            "permute_axes" => "transpose_backward".to_string(),
            "mul_nonzero" => "mul_backward".to_string(),
            name => format!("{name}_backward"),
        };
        match (function(name), function(&backward)) {
            (Some(forward), Some(backward)) => self.of_twin(forward, backward, of, back),
            _ => Err(no_rule(name, at)),
        }
    }

    /// The rule that a function of the table is: its arguments are those of the forward by name, the upstream gradient,
    /// and which operand is meant.
    fn of_twin(
        &mut self,
        forward: &Function,
        backward: &Function,
        of: &[Vec<Id>],
        back: Back<'_>,
    ) -> Result<Given, Wrong> {
        let (mut arguments, mut operands) = (Vec::new(), Vec::new());
        for (parameter, ids) in forward.op.parameters().map(plain).zip(of).filter(|(_, ids)| !ids.is_empty()) {
            let Some(own) = self.operands(parameter, ids, back) else { return Err(no_rule(forward.name(), back.at)) };
            let is_written_out = parameter == "tensors" && own == *ids;
            arguments
                .push((parameter, if is_written_out { self.push(Kind::List(own.clone()), back.at) } else { ids[0] }));
            operands.extend(own);
        }
        arguments.push(("upstream", back.upstream));
        let has_wrt = backward.op.parameters().any(|parameter| plain(parameter) == "wrt");
        if !has_wrt && operands[1..].iter().any(|&id| back.meets(id)) {
            return Err(no_rule(forward.name(), back.at));
        }
        let mut given = Vec::new();
        for (wrt, &operand) in operands.iter().enumerate().filter(|(_, operand)| back.meets(**operand)) {
            let mut arguments = arguments.clone();
            if has_wrt {
                arguments.push(("wrt", self.number(wrt, back.at)));
            }
            given.push((operand, self.call(backward.name(), arguments, back.at)));
        }
        Ok(given)
    }

    /// The operands that an argument is; `None` where a gradient would have to go through one that is none.
    fn operands(&self, parameter: &str, ids: &[Id], back: Back<'_>) -> Option<Vec<Id>> {
        match (parameter, &self.nodes[ids[0]].kind) {
            ("tensors" | "factors", Kind::List(items)) if ids.len() == 1 => Some(items.clone()),
            ("tensors", _) => Some(ids.to_vec()),
            ("x" | "y" | "yes" | "no" | "l" | "r" | "matrix" | "vector", _) => Some(vec![ids[0]]),
            ("condition" | "mask", _) => Some(Vec::new()),
            _ => (!ids.iter().any(|&id| back.meets(id))).then(Vec::new),
        }
    }

    /// The rule of sums of products of entries, at a mask or not: that of the product of the entries, for what comes at
    /// those of the result. Other semirings have none.
    fn of_entries(&mut self, product: Id, of: &[Vec<Id>], back: Back<'_>) -> Result<Given, Wrong> {
        let (Kind::Call(name, _), at) = (self.nodes[product].kind.clone(), back.at) else { return Ok(Vec::new()) };
        let semiring = of[2].first().filter(|_| name == "matmul_with").map(|&id| &self.nodes[id].kind);
        if let Some(Kind::Text(semiring)) = semiring
            && semiring != "plus_times"
        {
            return Err(no_rule(&format!("{name} over {semiring}"), at));
        }
        let (x, y) = (of[0][0], of[1][0]);
        let is_stored = matches!(&self.nodes[x].kind, Kind::Call(name, _) if name == "stored");
        let entries = if is_stored { x } else { self.call("stored", vec![("x", x)], at) };
        let upstream = self.at_entries(product, back);
        let arguments = [("x", entries), ("y", y), ("upstream", upstream)];
        Ok(self.of_both("matmul_backward", &arguments, [x, y], back))
    }

    /// The rule of dots at a pattern: the values that stand there have no part in it.
    fn of_dots(&mut self, [x, l, r]: [Id; 3], back: Back<'_>) -> Given {
        let arguments = [("x", x), ("l", l), ("r", r), ("upstream", back.upstream)];
        self.of_both("pattern_sddmm_backward", &arguments, [l, r], back)
    }

    /// The rule of products with a number for each position of an axis.
    fn of_scale(&mut self, of: &[Vec<Id>], back: Back<'_>) -> Given {
        let [x, axis, factors] = [0, 1, 2].map(|place| of[place][0]);
        let arguments = [("x", x), ("axis", axis), ("factors", factors), ("upstream", back.upstream)];
        self.of_both("scale_backward", &arguments, [x, factors], back)
    }

    /// What a backward function gives to those of two operands that count.
    fn of_both(&mut self, backward: &str, arguments: &[(&str, Id)], operands: [Id; 2], back: Back<'_>) -> Given {
        let mut given = Vec::new();
        for (wrt, operand) in operands.into_iter().enumerate().filter(|(_, operand)| back.meets(*operand)) {
            let wrt = ("wrt", self.number(wrt, back.at));
            let all = arguments.iter().copied().chain([wrt]).collect();
            given.push((operand, self.call(backward, all, back.at)));
        }
        given
    }

    /// The rule of rows that are joined, and joined below each other.
    fn of_block(&mut self, rows: Id, back: Back<'_>) -> Result<Given, Wrong> {
        let Kind::List(rows) = self.nodes[rows].kind.clone() else { return Err(no_rule("block", back.at)) };
        let [last, before] = [-1, -2].map(|axis| self.push(Kind::Number(Number::Integer(axis).into()), back.at));
        let mut joined = Vec::new();
        for &row in &rows {
            joined.push(self.call("concat", vec![("tensors", row), ("axis", last)], back.at));
        }
        let joined = self.push(Kind::List(joined), back.at);
        let mut given = Vec::new();
        for (place, &row) in rows.iter().enumerate().filter(|(_, row)| back.meets(**row)) {
            let place = self.number(place, back.at);
            let all = vec![("tensors", joined), ("upstream", back.upstream), ("axis", before), ("wrt", place)];
            let upstream = self.call("concat_backward", all, back.at);
            given.extend(self.of_call("concat", &[vec![row], vec![last]], Back { upstream, ..back })?);
        }
        Ok(given)
    }

    /// A gradient at the entries of a tensor.
    fn at_entries(&mut self, of: Id, back: Back<'_>) -> Id {
        let none = self.push(Kind::List(Vec::new()), back.at);
        self.call("any_backward", vec![("x", of), ("upstream", back.upstream), ("axis", none)], back.at)
    }
}
