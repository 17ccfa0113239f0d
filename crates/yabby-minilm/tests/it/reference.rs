//! What sentence-transformers, with torch, makes of the same texts; recorded by `tests/make_reference.py`.
//! The weights are those that `cargo xtask judge-minilm` fetches.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use yabby_minilm::Model;

use crate::folder;

const REFERENCE: &str = include_str!("../reference.jsonl");

struct Expected {
    text: String,
    pieces: Vec<u64>,
    vector: Vec<f64>,
}

fn expected() -> Vec<Expected> {
    let numbers = |line: &Value| line["pieces"].as_array().unwrap().iter().flat_map(Value::as_u64).collect();
    let vector = |line: &Value| {
        let bytes = STANDARD.decode(line["vector"].as_str().unwrap()).unwrap();
        bytes.as_chunks().0.iter().map(|bytes| f64::from(i16::from_le_bytes(*bytes)) / 32767.0).collect()
    };
    let lines = REFERENCE.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let read = |line: Value| Expected {
        text: line["text"].as_str().unwrap().to_owned(),
        pieces: numbers(&line),
        vector: vector(&line),
    };
    lines.map(read).collect()
}

fn model() -> Option<Model> {
    Some(Model::load(&folder()?).unwrap())
}

#[test]
fn texts_are_cut_into_the_same_pieces() {
    let Some(model) = model() else { return };
    for Expected { text, pieces, .. } in expected() {
        let got: Vec<u64> = model.pieces(&text).into_iter().map(u64::from).collect();
        assert_eq!(got, pieces, "{text:?}");
    }
}

#[test]
fn vectors_point_the_same_way() {
    let Some(model) = model() else { return };
    let expected = expected();
    let texts: Vec<&str> = expected.iter().map(|expected| expected.text.as_str()).collect();
    let together = model.embed_all(&texts);
    for (Expected { text, vector, .. }, together) in expected.iter().zip(together) {
        let alone = model.embed(text);
        assert!(cosine(&together, vector) >= 0.999_99, "{text:?}: {}", cosine(&together, vector));
        assert!(cosine(&alone, vector) >= 0.999_99, "{text:?}: {}", cosine(&alone, vector));
    }
}

fn cosine(one: &[f32], other: &[f64]) -> f64 {
    let pairs = || one.iter().map(|number| f64::from(*number)).zip(other.iter().copied());
    let product = |of: fn((f64, f64)) -> f64| pairs().map(of).sum::<f64>();
    assert_eq!(one.len(), other.len());
    product(|(a, b)| a * b) / (product(|(a, _)| a * a) * product(|(_, b)| b * b)).sqrt()
}

#[test]
fn texts_that_mean_the_same_are_near() {
    let Some(model) = model() else { return };
    let near = |one: &str, other: &str| {
        let other: Vec<f64> = model.embed(other).into_iter().map(f64::from).collect();
        cosine(&model.embed(one), &other)
    };
    let question = "What must I not eat?";
    let answer = near(question, "Remember that I am allergic to peanuts and shellfish.");
    let other = near(question, "My train gets in at 18:42 on Friday, platform 7.");
    assert!(answer > other + 0.1, "{answer} {other}");
}
