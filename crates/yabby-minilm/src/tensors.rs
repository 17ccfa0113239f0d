//! Files of the format `safetensors`: the length of a heading, the heading in JSON with what there is, of
//! which kind and shape, and where, and then the numbers.
//!
//! One tensor is read at a time, so that the file never lies beside the model in memory.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use half::f16;
use serde_json::Value;

pub struct Tensors {
    file: File,
    /// Where the numbers begin.
    from: u64,
    known: HashMap<String, Tensor>,
}

struct Tensor {
    kind: Kind,
    count: usize,
    from: u64,
}

#[derive(Clone, Copy)]
enum Kind {
    Half,
    Single,
}

/// A heading longer than this is none.
const LONGEST_HEADING: u64 = 1 << 20;

impl Tensors {
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut length = [0; 8];
        file.read_exact(&mut length)?;
        let length = u64::from_le_bytes(length);
        if length > LONGEST_HEADING {
            return Err(damaged("it has no heading"));
        }
        let mut heading = Vec::new();
        file.by_ref().take(length).read_to_end(&mut heading)?;
        let heading: HashMap<String, Value> = serde_json::from_slice(&heading)?;
        let known = heading.iter().filter_map(|(name, about)| Some((name.clone(), tensor(about)?))).collect();
        Ok(Self { file, from: 8 + length, known })
    }

    pub fn singles(&mut self, name: &str, count: usize) -> io::Result<Vec<f32>> {
        self.numbers(name, count, |bytes| f16::from_le_bytes(bytes).to_f32(), f32::from_le_bytes)
    }

    pub fn halves(&mut self, name: &str, count: usize) -> io::Result<Vec<f16>> {
        self.numbers(name, count, f16::from_le_bytes, |bytes| f16::from_f32(f32::from_le_bytes(bytes)))
    }

    fn numbers<Number>(
        &mut self,
        name: &str,
        count: usize,
        half: fn([u8; 2]) -> Number,
        single: fn([u8; 4]) -> Number,
    ) -> io::Result<Vec<Number>> {
        let tensor = self.known.get(name).ok_or_else(|| damaged(&format!("it has no {name}")))?;
        if tensor.count != count {
            return Err(damaged(&format!("{name} has {} numbers and not {count}", tensor.count)));
        }
        self.file.seek(SeekFrom::Start(self.from + tensor.from))?;
        let mut numbers = Vec::with_capacity(count);
        let mut buffer = vec![0; 1 << 18];
        let mut left = count * tensor.kind.size();
        while left > 0 {
            let bytes = &mut buffer[..left.min(1 << 18)];
            self.file.read_exact(bytes)?;
            match tensor.kind {
                Kind::Half => numbers.extend(bytes.as_chunks().0.iter().map(|bytes| half(*bytes))),
                Kind::Single => numbers.extend(bytes.as_chunks().0.iter().map(|bytes| single(*bytes))),
            }
            left -= bytes.len();
        }
        Ok(numbers)
    }
}

fn tensor(about: &Value) -> Option<Tensor> {
    let kind = match about["dtype"].as_str()? {
        "F16" => Kind::Half,
        "F32" => Kind::Single,
        _ => return None,
    };
    let from = about["data_offsets"][0].as_u64()?;
    let bytes = about["data_offsets"][1].as_u64()?.checked_sub(from)?;
    Some(Tensor { kind, count: usize::try_from(bytes).ok()? / kind.size(), from })
}

impl Kind {
    fn size(self) -> usize {
        match self {
            Self::Half => 2,
            Self::Single => 4,
        }
    }
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn file(heading: &str, numbers: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&(heading.len() as u64).to_le_bytes()).unwrap();
        file.write_all(heading.as_bytes()).unwrap();
        file.write_all(numbers).unwrap();
        file
    }

    #[test]
    fn half_and_whole_numbers_are_read() {
        let heading = r#"{"__metadata__":{"format":"pt"},"ids":{"dtype":"I64","shape":[0],"data_offsets":[0,0]},
            "a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#;
        let file = file(heading, &[0x00, 0x3c, 0x00, 0xc0, 0x00, 0x00, 0x20, 0x41]);
        let mut tensors = Tensors::open(file.path()).unwrap();
        assert_eq!(tensors.singles("a", 2).unwrap(), [1.0, -2.0]);
        assert_eq!(tensors.singles("b", 1).unwrap(), [10.0]);
        assert_eq!(tensors.halves("b", 1).unwrap(), [f16::from_f32(10.0)]);
        let wrong = tensors.singles("a", 3).unwrap_err().to_string();
        assert_eq!(wrong, "a has 2 numbers and not 3");
        assert_eq!(tensors.singles("c", 1).unwrap_err().to_string(), "it has no c");
    }

    #[test]
    fn other_files_are_refused() {
        let mut other = tempfile::NamedTempFile::new().unwrap();
        other.write_all(b"GGUF and then something else altogether").unwrap();
        assert!(Tensors::open(other.path()).is_err());
        assert!(Tensors::open(file("{", &[]).path()).is_err());
        let short = file(r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#, &[0; 4]);
        assert!(Tensors::open(short.path()).unwrap().singles("a", 2).is_err());
    }
}
