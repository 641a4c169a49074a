//! A parser for the part of JSON that descriptions of tensors use.

/// The maximum nesting depth of lists and maps.
const DEEPEST: usize = 32;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Truth(bool),
    /// A number; `None` if it is not an unsigned integer of 64 bits.
    Number(Option<u64>),
    Text(String),
    List(Vec<Json>),
    Map(Vec<(String, Json)>),
}

impl Json {
    /// Parses a complete text as a value.
    pub(super) fn parse(text: &str) -> Option<Json> {
        let mut parser = Parser { text, depth: 0 };
        let value = parser.value()?;
        parser.skip_blanks();
        parser.text.is_empty().then_some(value)
    }

    /// Returns the value with the given name in a map.
    pub(super) fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Map(pairs) => pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(super) fn number(&self) -> Option<u64> {
        match self {
            Json::Number(number) => *number,
            _ => None,
        }
    }

    pub(super) fn list(&self) -> Option<&[Json]> {
        match self {
            Json::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns a list of numbers.
    pub(super) fn numbers(&self) -> Option<Vec<u64>> {
        self.list()?.iter().map(Json::number).collect()
    }
}

struct Parser<'a> {
    text: &'a str,
    depth: usize,
}

impl Parser<'_> {
    fn skip_blanks(&mut self) {
        self.text = self.text.trim_start_matches([' ', '\t', '\n', '\r']);
    }

    /// Reads `token` if it comes next, and returns whether it does.
    fn takes(&mut self, token: &str) -> bool {
        self.skip_blanks();
        let rest = self.text.strip_prefix(token);
        self.text = rest.unwrap_or(self.text);
        rest.is_some()
    }

    fn value(&mut self) -> Option<Json> {
        self.skip_blanks();
        match self.text.bytes().next()? {
            b'"' => self.string().map(Json::Text),
            b'[' => self.nested("[", "]", Self::value).map(Json::List),
            b'{' => self.nested("{", "}", Self::pair).map(Json::Map),
            b'-' | b'0'..=b'9' => Some(self.number()),
            _ if self.takes("true") => Some(Json::Truth(true)),
            _ if self.takes("false") => Some(Json::Truth(false)),
            _ => self.takes("null").then_some(Json::Null),
        }
    }

    fn pair(&mut self) -> Option<(String, Json)> {
        self.skip_blanks();
        let name = self.string()?;
        self.takes(":").then_some(())?;
        Some((name, self.value()?))
    }

    /// Reads items with commas between the items.
    fn nested<U>(&mut self, open: &str, close: &str, item: impl Fn(&mut Self) -> Option<U>) -> Option<Vec<U>> {
        self.takes(open);
        self.depth += 1;
        (self.depth <= DEEPEST).then_some(())?;
        let mut items = Vec::new();
        if !self.takes(close) {
            loop {
                items.push(item(self)?);
                if !self.takes(",") {
                    break;
                }
            }
            self.takes(close).then_some(())?;
        }
        self.depth -= 1;
        // There may be many short lists, and a new list reserves four items.
        if items.len() < 4 {
            items.shrink_to_fit();
        }
        Some(items)
    }

    fn number(&mut self) -> Json {
        let of_number = |c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E');
        let end = self.text.find(|c| !of_number(c)).unwrap_or(self.text.len());
        let (number, rest) = self.text.split_at(end);
        self.text = rest;
        Json::Number(number.parse().ok())
    }

    fn string(&mut self) -> Option<String> {
        self.text = self.text.strip_prefix('"')?;
        let mut string = String::new();
        loop {
            let end = self.text.find(['"', '\\'])?;
            string.push_str(&self.text[..end]);
            let escaped = self.text.as_bytes()[end] == b'\\';
            self.text = &self.text[end + 1..];
            if !escaped {
                return Some(string);
            }
            string.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Option<char> {
        let mut chars = self.text.chars();
        let (escape, rest) = (chars.next()?, chars.as_str());
        self.text = rest;
        Some(match escape {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let digits = self.text.get(..4)?;
                self.text = &self.text[4..];
                char::from_u32(u32::from_str_radix(digits, 16).ok()?)?
            }
            other => matches!(other, '"' | '\\' | '/').then_some(other)?,
        })
    }
}

/// Formats numbers as a list.
pub(super) fn list(numbers: impl IntoIterator<Item = u64>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_every_kind() {
        let text = r#" {"a": [1, -2, 3.5, 18446744073709551615], "b\u0041\n\"": {"c": [true, false, null]}, "d": {}} "#;
        let json = Json::parse(text).unwrap();
        let numbers = [Some(1), None, None, Some(u64::MAX)].map(Json::Number);
        assert_eq!(json.get("a"), Some(&Json::List(numbers.into())));
        let inner = json.get("bA\n\"").unwrap().get("c").unwrap();
        assert_eq!(inner.list().unwrap(), [Json::Truth(true), Json::Truth(false), Json::Null]);
        assert_eq!(json.get("d"), Some(&Json::Map(vec![])));
    }

    #[test]
    fn what_is_not_json_is_nothing() {
        for wrong in ["", "[1,]", "[1", "{\"a\" 1}", "\"a", "\"\\x\"", "\"\\u00\"", "1 2", "nul", "{1:2}", "\"\\u00é\""]
        {
            assert_eq!(Json::parse(wrong), None, "{wrong}");
        }
        assert!(Json::parse(&("[".repeat(32) + &"]".repeat(32))).is_some());
        assert_eq!(Json::parse(&"[".repeat(100_000)), None);
    }

    #[test]
    fn lists_read_back() {
        assert_eq!(Json::parse(&list([1, u64::MAX])).unwrap().numbers(), Some(vec![1, u64::MAX]));
    }
}
