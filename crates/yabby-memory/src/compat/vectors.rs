//! Vectors: how they are written and compared (`memory.md` §3, §6).

use yabby_domain::json::{self, Value, number_text};

/// How alike two directions are, over the shorter length; 0 if one of them has none.
pub fn cosine(a: &[f64], b: &[f64]) -> f64 {
    let (mut dot, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b) {
        dot += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    if of_a == 0.0 || of_b == 0.0 { 0.0 } else { dot / (of_a.sqrt() * of_b.sqrt()) }
}

/// The list in a column of the index, whatever it holds; empty if it is none.
pub fn listed(raw: &str) -> Vec<Value> {
    match json::parse(raw) {
        Ok(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// The vector in a column of the index. What is no number counts as none.
pub fn parsed(raw: &str) -> Vec<f64> {
    listed(raw).iter().map(|value| value.as_f64().unwrap_or(0.0)).collect()
}

/// A vector as the index keeps it: the numbers as the provider gave them.
pub fn written(vector: &[f64]) -> String {
    let number = |number: &f64| if number.is_finite() { number_text(*number) } else { "null".to_owned() };
    let numbers: Vec<String> = vector.iter().map(number).collect();
    format!("[{}]", numbers.join(","))
}

/// A vector as sqlite-vec wants it.
#[expect(clippy::cast_possible_truncation, reason = "it counts in single precision")]
pub fn blob(vector: &[f64]) -> Vec<u8> {
    vector.iter().flat_map(|number| (*number as f32).to_le_bytes()).collect()
}

/// Whether nothing can be near to it.
pub fn is_zero(vector: &[f64]) -> bool {
    vector.iter().all(|number| *number == 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let vector = vec![0.1, -2.0, 1e-9, 1e21, 0.0];
        assert_eq!(written(&vector), "[0.1,-2,1e-9,1e+21,0]");
        assert_eq!(parsed(&written(&vector)), vector);
        for broken in ["", "{}", "nonsense", "null"] {
            assert!(parsed(broken).is_empty(), "{broken}");
        }
        assert_eq!(parsed("[1,null,\"a\"]"), [1.0, 0.0, 0.0]);
    }
}
