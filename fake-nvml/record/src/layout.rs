//! C types by description: how large they are, and what their bytes say.
//! Not the functions that use them (`getters`).
use serde_json::{Map, Value, json};

/// A C type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A number of this many bytes.
    Number {
        /// Bytes.
        size: usize,
        /// Whether it may be negative.
        signed: bool,
    },
    /// A double.
    Double,
    /// One character of a text.
    Char,
    /// A pointer or handle: only whether it is NULL is written down.
    Handle,
    /// So many of one type.
    Array(Box<Type>, usize),
    /// Named fields, laid out as C does.
    Struct(Vec<(String, Type)>),
}

impl Type {
    /// Reads a description: `u32`, `char[32]`, `{start u32, size u32}[8]`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(rest) = text.strip_suffix(']')
            && let Some(open) = rest.rfind('[')
        {
            let (inner, count) = (rest.get(..open), rest.get(open + 1..));
            let count = count.and_then(|n| n.parse().ok());
            let (Some(inner), Some(count)) = (inner, count) else {
                return Err(format!("`{text}`: write TYPE[NUMBER]"));
            };
            return Ok(Self::Array(Box::new(Self::parse(inner)?), count));
        }
        if let Some(fields) = text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            return split(fields)
                .into_iter()
                .map(|field| {
                    let (name, ty) = field
                        .trim()
                        .split_once(' ')
                        .ok_or_else(|| format!("`{field}`: write NAME TYPE"))?;
                    Ok((name.to_owned(), Self::parse(ty)?))
                })
                .collect::<Result<_, _>>()
                .map(Self::Struct);
        }
        let number = |size, signed| Ok(Self::Number { size, signed });
        match text {
            "u8" => number(1, false),
            "u16" => number(2, false),
            "u32" => number(4, false),
            "u64" => number(8, false),
            "i8" => number(1, true),
            "i16" => number(2, true),
            "i32" => number(4, true),
            "i64" => number(8, true),
            "f64" => Ok(Self::Double),
            "char" => Ok(Self::Char),
            "handle" => Ok(Self::Handle),
            _ => Err(format!("`{text}` is no type")),
        }
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        match self {
            Self::Number { size, .. } => *size,
            Self::Double | Self::Handle => 8,
            Self::Char => 1,
            Self::Array(inner, count) => inner.size() * count,
            Self::Struct(fields) => fields
                .iter()
                .fold(0usize, |at: usize, (_, ty)| {
                    at.next_multiple_of(ty.align()) + ty.size()
                })
                .next_multiple_of(self.align()),
        }
    }

    fn align(&self) -> usize {
        match self {
            Self::Array(inner, _) => inner.align(),
            Self::Struct(fields) => fields.iter().map(|(_, ty)| ty.align()).max().unwrap_or(1),
            other => other.size(),
        }
    }

    /// What these bytes say: numbers, texts, `u8` arrays as hexadecimal text, lists, objects.
    pub fn decode(&self, bytes: &[u8]) -> Value {
        match self {
            Self::Number { size, signed } => {
                let mut word = [0u8; 8];
                for (to, from) in word.iter_mut().zip(bytes.iter().take(*size)) {
                    *to = *from;
                }
                let raw = u64::from_le_bytes(word);
                if *signed {
                    let shift = 64 - 8 * *size as u32;
                    json!(((raw << shift) as i64) >> shift)
                } else {
                    json!(raw)
                }
            }
            Self::Double => {
                let word = bytes.get(..8).and_then(|b| b.try_into().ok());
                json!(f64::from_le_bytes(word.unwrap_or_default()))
            }
            Self::Char => json!(text(bytes)),
            Self::Handle => json!(bytes.iter().any(|byte| *byte != 0)),
            Self::Array(inner, count) => match **inner {
                Self::Char => json!(text(bytes)),
                Self::Number { size: 1, .. } => json!(hex(bytes)),
                _ => bytes
                    .chunks(inner.size().max(1))
                    .take(*count)
                    .map(|item| inner.decode(item))
                    .collect(),
            },
            Self::Struct(fields) => {
                let mut at = 0usize;
                let mut object = Map::new();
                for (name, ty) in fields {
                    at = at.next_multiple_of(ty.align());
                    let field = bytes.get(at..at + ty.size()).unwrap_or_default();
                    object.insert(name.clone(), ty.decode(field));
                    at += ty.size();
                }
                Value::Object(object)
            }
        }
    }
}

/// Splits at the commas that are in no inner braces.
fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut from, mut parts) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.extend(text.get(from..at));
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.extend(text.get(from..));
    parts
}

/// A text up to its NUL.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned()
}

/// Bytes as hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use fmt::Write;
    use std::fmt;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of a hexadecimal text.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    (0..text.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(text.get(at..at + 2)?, 16).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laid_out_as_c_does() {
        let ty = Type::parse("{a u8, b u64, c {x u32, y char[3]}[2], d i32}").expect("a type");
        assert_eq!(ty.size(), 40);
        let mut bytes = vec![7u8];
        bytes.resize(8, 0xff);
        bytes.extend(9u64.to_le_bytes());
        bytes.extend([
            1, 0, 0, 0, b'h', b'i', 0, 0xff, 2, 0, 0, 0, b'a', b'b', b'c', 0xff,
        ]);
        bytes.extend((-5i32).to_le_bytes());
        assert_eq!(
            ty.decode(&bytes),
            json!({"a": 7, "b": 9, "c": [{"x": 1, "y": "hi"}, {"x": 2, "y": "abc"}], "d": -5})
        );
        assert_eq!(
            Type::parse("u8[2]").expect("a type").decode(&[0xab, 1]),
            json!("ab01")
        );
        assert_eq!(unhex("ab01"), Some(vec![0xab, 1]));
        for wrong in ["u7", "u32[", "{a}", "u32[x]", ""] {
            assert!(Type::parse(wrong).is_err(), "{wrong}");
        }
    }
}
