//! From word pieces to one vector of what they mean together: six layers of attention, the mean of what
//! they make of each piece, and that at length one.
//!
//! Texts are worked on several at a time, one after the other in the same rows without padding: only the
//! attention has to know where one ends.

use std::io;

use half::f16;
use half::slice::HalfFloatSliceExt as _;
use pulp::{Simd, WithSimd};

use crate::matrix::{Linear, Product, Rows, pack, panel_width, with_vectors};
use crate::tensors::Tensors;

/// Numbers that stand for a piece of a word, and for a text.
pub const WIDTH: usize = 384;
const INNER: usize = 1536;
const LAYERS: usize = 6;
const HEADS: usize = 12;
const HEAD: usize = WIDTH / HEADS;
const EPSILON: f32 = 1e-12;

/// Pieces that the model has learnt.
pub const PIECES: usize = 30_522;
const PLACES: usize = 512;

pub struct Encoder {
    /// Half the size of the others: a text needs few of its rows.
    pieces: Vec<f16>,
    /// Where in a text, and that it is the first of one text: there is never a second.
    places: Vec<f32>,
    first: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Query, key and value at once.
    asked: Linear,
    heard: Linear,
    heard_norm: Norm,
    up: Linear,
    down: Linear,
    down_norm: Norm,
}

struct Norm {
    weight: Vec<f32>,
    bias: Vec<f32>,
}

/// What is used again from one group of texts to the next.
#[derive(Default)]
pub struct Workplace {
    state: Vec<f32>,
    asked: Vec<f32>,
    heard: Vec<f32>,
    change: Vec<f32>,
    inner: Vec<f32>,
    packed: Vec<f32>,
    tables: Tables,
}

impl Encoder {
    pub fn read(tensors: &mut Tensors) -> io::Result<Self> {
        let pieces = tensors.halves("embeddings.word_embeddings.weight", PIECES * WIDTH)?;
        let mut places = tensors.singles("embeddings.position_embeddings.weight", PLACES * WIDTH)?;
        let kinds = tensors.singles("embeddings.token_type_embeddings.weight", 2 * WIDTH)?;
        for place in places.chunks_exact_mut(WIDTH) {
            add(place, &kinds[..WIDTH]);
        }
        let first = norm(tensors, "embeddings")?;
        let layers = (0..LAYERS).map(|number| layer(tensors, number)).collect::<io::Result<_>>()?;
        Ok(Self { pieces, places, first, layers })
    }

    /// One vector for each text. No text may have more than 512 pieces, nor none.
    pub fn encode(&self, texts: &[&[u32]], work: &mut Workplace) -> Vec<Vec<f32>> {
        let rows = texts.iter().map(|text| text.len()).sum::<usize>();
        let Workplace { state, asked, heard, change, inner, packed, tables } = work;
        for (buffer, width) in [
            (&mut *state, WIDTH),
            (&mut *asked, 3 * WIDTH),
            (&mut *heard, WIDTH),
            (&mut *change, WIDTH),
            (&mut *inner, INNER),
        ] {
            buffer.clear();
            buffer.resize(rows * width, 0.0);
        }
        let pieces = texts.iter().flat_map(|text| text.iter().enumerate());
        for (row, (place, piece)) in state.chunks_exact_mut(WIDTH).zip(pieces) {
            self.pieces[*piece as usize * WIDTH..][..WIDTH].convert_to_f32_slice(row);
            add(row, &self.places[place * WIDTH..][..WIDTH]);
        }
        with_vectors(Normalise { norm: &self.first, state });
        for layer in &self.layers {
            layer.asked.apply(state, packed, asked);
            let mut from = 0;
            for text in texts {
                let rows = from..from + text.len();
                with_vectors(Attend {
                    asked: &asked[rows.start * 3 * WIDTH..rows.end * 3 * WIDTH],
                    heard: &mut heard[rows.start * WIDTH..rows.end * WIDTH],
                    tables,
                });
                from = rows.end;
            }
            layer.heard.apply(heard, packed, change);
            with_vectors(AddAndNormalise { change, norm: &layer.heard_norm, state });
            layer.up.apply(state, packed, inner);
            with_vectors(Gelu(inner));
            layer.down.apply(inner, packed, change);
            with_vectors(AddAndNormalise { change, norm: &layer.down_norm, state });
        }
        let mut from = 0;
        texts
            .iter()
            .map(|text| {
                let rows = &state[from * WIDTH..(from + text.len()) * WIDTH];
                from += text.len();
                mean_at_length_one(rows)
            })
            .collect()
    }
}

fn layer(tensors: &mut Tensors, number: usize) -> io::Result<Layer> {
    let at = format!("encoder.layer.{number}");
    let mut weights = Vec::with_capacity(3 * WIDTH * WIDTH);
    let mut biases = Vec::with_capacity(3 * WIDTH);
    for part in ["query", "key", "value"] {
        // What scores are divided by can as well be taken out of the question.
        let scale = if part == "query" { (HEAD as f32).sqrt().recip() } else { 1.0 };
        let name = format!("{at}.attention.self.{part}");
        let weight = tensors.singles(&format!("{name}.weight"), WIDTH * WIDTH)?;
        weights.extend(weight.iter().map(|number| number * scale));
        let bias = tensors.singles(&format!("{name}.bias"), WIDTH)?;
        biases.extend(bias.iter().map(|number| number * scale));
    }
    Ok(Layer {
        asked: Linear::new(&weights, biases),
        heard: linear(tensors, &format!("{at}.attention.output.dense"), WIDTH, WIDTH)?,
        heard_norm: norm(tensors, &format!("{at}.attention.output"))?,
        up: linear(tensors, &format!("{at}.intermediate.dense"), WIDTH, INNER)?,
        down: linear(tensors, &format!("{at}.output.dense"), INNER, WIDTH)?,
        down_norm: norm(tensors, &format!("{at}.output"))?,
    })
}

fn linear(tensors: &mut Tensors, name: &str, inputs: usize, outputs: usize) -> io::Result<Linear> {
    let weights = tensors.singles(&format!("{name}.weight"), inputs * outputs)?;
    Ok(Linear::new(&weights, tensors.singles(&format!("{name}.bias"), outputs)?))
}

fn norm(tensors: &mut Tensors, name: &str) -> io::Result<Norm> {
    Ok(Norm {
        weight: tensors.singles(&format!("{name}.LayerNorm.weight"), WIDTH)?,
        bias: tensors.singles(&format!("{name}.LayerNorm.bias"), WIDTH)?,
    })
}

#[inline(always)]
fn add(to: &mut [f32], numbers: &[f32]) {
    for (to, number) in to.iter_mut().zip(numbers) {
        *to += number;
    }
}

struct Normalise<'a> {
    norm: &'a Norm,
    state: &'a mut [f32],
}

impl WithSimd for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for row in self.state.chunks_exact_mut(WIDTH) {
            normalise(simd, self.norm, row);
        }
    }
}

struct AddAndNormalise<'a> {
    change: &'a [f32],
    norm: &'a Norm,
    state: &'a mut [f32],
}

impl WithSimd for AddAndNormalise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (row, change) in self.state.chunks_exact_mut(WIDTH).zip(self.change.chunks_exact(WIDTH)) {
            add(row, change);
            normalise(simd, self.norm, row);
        }
    }
}

/// Moves the numbers of a row to the mean 0 and the variance 1, and then to where the model wants them.
#[inline(always)]
fn normalise<S: Simd>(simd: S, norm: &Norm, row: &mut [f32]) {
    let (numbers, _) = S::as_mut_simd_f32s(row);
    let zero = simd.splat_f32s(0.0);
    let sum = numbers.iter().fold(zero, |sum, number| simd.add_f32s(sum, *number));
    let mean = simd.splat_f32s(simd.reduce_sum_f32s(sum) / WIDTH as f32);
    let squares = numbers.iter().fold(zero, |sum, number| {
        let apart = simd.sub_f32s(*number, mean);
        simd.mul_add_e_f32s(apart, apart, sum)
    });
    let variance = simd.reduce_sum_f32s(squares) / WIDTH as f32;
    let scale = simd.splat_f32s((variance + EPSILON).sqrt().recip());
    let (weights, _) = S::as_simd_f32s(&norm.weight);
    let (biases, _) = S::as_simd_f32s(&norm.bias);
    for ((number, weight), bias) in numbers.iter_mut().zip(weights).zip(biases) {
        let scaled = simd.mul_f32s(simd.sub_f32s(*number, mean), scale);
        *number = simd.mul_add_e_f32s(scaled, *weight, *bias);
    }
}

/// What every piece of one text takes from all the others, for each head on its own.
struct Attend<'a> {
    /// Rows of query, key and value.
    asked: &'a [f32],
    heard: &'a mut [f32],
    tables: &'a mut Tables,
}

/// What attention needs on its way, for one head.
#[derive(Default)]
struct Tables {
    left: Vec<f32>,
    right: Vec<f32>,
    scores: Vec<f32>,
    nothing: Vec<f32>,
}

impl WithSimd for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        const STRIDE: usize = 3 * WIDTH;
        let rows = self.heard.len() / WIDTH;
        let width = panel_width::<S>();
        let columns = rows.next_multiple_of(width);
        let Tables { left, right, scores, nothing } = self.tables;
        scores.clear();
        scores.resize(rows * columns, 0.0);
        nothing.resize(columns.max(HEAD), 0.0);
        for head in (0..WIDTH).step_by(HEAD) {
            pack(Rows { numbers: self.asked, stride: STRIDE, from: head, width: HEAD }, left);
            right.clear();
            right.resize(HEAD * columns, 0.0);
            for (panel, rows) in right.chunks_exact_mut(HEAD * width).zip(self.asked.chunks(width * STRIDE)) {
                for (lane, row) in rows.chunks_exact(STRIDE).enumerate() {
                    let places = panel[lane..].iter_mut().step_by(width);
                    for (place, key) in places.zip(&row[WIDTH + head..][..HEAD]) {
                        *place = *key;
                    }
                }
            }
            let bias = &nothing[..columns];
            let fits =
                Product { left, steps: HEAD, panels: right, bias, out: scores, stride: columns, from: 0 };
            fits.with_simd(simd);
            for scores in scores.chunks_exact_mut(columns) {
                scores[rows..].fill(f32::MIN);
                shares(simd, scores);
            }
            pack(Rows { numbers: scores, stride: columns, from: 0, width: rows }, left);
            for (panel, from) in right.chunks_exact_mut(rows * width).zip((0..HEAD).step_by(width)) {
                for (place, row) in panel.chunks_exact_mut(width).zip(self.asked.chunks_exact(STRIDE)) {
                    place.copy_from_slice(&row[2 * WIDTH + head + from..][..width]);
                }
            }
            let (panels, bias) = (&right[..rows * HEAD], &nothing[..HEAD]);
            let out = &mut *self.heard;
            Product { left, steps: rows, panels, bias, out, stride: WIDTH, from: head }.with_simd(simd);
        }
    }
}

/// Scores become shares of one.
#[inline(always)]
fn shares<S: Simd>(simd: S, scores: &mut [f32]) {
    let (vectors, _) = S::as_simd_f32s(scores);
    let lowest = simd.splat_f32s(f32::MIN);
    let highest = vectors.iter().fold(lowest, |highest, score| simd.max_f32s(highest, *score));
    let highest = simd.reduce_max_f32s(highest);
    for score in scores.iter_mut() {
        *score = exponential(*score - highest);
    }
    let (vectors, _) = S::as_mut_simd_f32s(scores);
    let sum = vectors.iter().fold(simd.splat_f32s(0.0), |sum, score| simd.add_f32s(sum, *score));
    let scale = simd.splat_f32s(simd.reduce_sum_f32s(sum).recip());
    for score in vectors {
        *score = simd.mul_f32s(*score, scale);
    }
}

/// `x · Φ(x)`, with the normal distribution by its own formula and not by one of its likenesses.
struct Gelu<'a>(&'a mut [f32]);

impl WithSimd for Gelu<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for x in self.0 {
            *x = 0.5 * *x * (1.0 + error_function(*x * std::f32::consts::FRAC_1_SQRT_2));
        }
    }
}

/// The error function by Abramowitz and Stegun's 7.1.26, to 1.5e-7.
#[inline(always)]
fn error_function(x: f32) -> f32 {
    let far = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * far);
    let sum = ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_7) * t - 0.284_496_74) * t + 0.254_829_6) * t;
    (1.0 - sum * exponential(-far * far)).copysign(x)
}

/// `eˣ` for `x ≤ 0`, to a few parts in 10⁷, without a branch or a call, so that many are worked out at once.
#[inline(always)]
fn exponential(x: f32) -> f32 {
    /// Adding it leaves no room for what comes after the point.
    const ROUNDER: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    let shifted = x * std::f32::consts::LOG2_E + ROUNDER;
    let whole = shifted - ROUNDER;
    // ln 2 in two parts, of which the first is exact.
    let rest = (x - whole * 0.693_359_4) + whole * 2.121_944_4e-4;
    let tail = 1.0 / 24.0 + rest * (1.0 / 120.0 + rest * (1.0 / 720.0));
    let of_rest = 1.0 + rest * (1.0 + rest * (0.5 + rest * (1.0 / 6.0 + rest * tail)));
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(0x3f80_0000));
    of_rest * power
}

fn mean_at_length_one(rows: &[f32]) -> Vec<f32> {
    let mut sum = vec![0.0; WIDTH];
    for row in rows.chunks_exact(WIDTH) {
        add(&mut sum, row);
    }
    let length = sum.iter().map(|number| f64::from(*number) * f64::from(*number)).sum::<f64>().sqrt();
    #[expect(clippy::cast_possible_truncation, reason = "as exact as what it is made of")]
    sum.iter_mut().for_each(|number| *number = (f64::from(*number) / length.max(1e-12)) as f32);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_exact_enough() {
        for step in 0..=8700_u16 {
            let x = -f32::from(step) / 100.0;
            let exact = f64::from(x).exp();
            let off = (f64::from(exponential(x)) - exact).abs() / exact;
            assert!(off < 5e-7, "{x}: {off}");
        }
        assert_eq!(exponential(0.0), 1.0);
        assert!(exponential(-1000.0) < 1e-37);
    }

    #[test]
    fn the_error_function_is_that_of_the_tables() {
        let table = [
            (0.0, 0.0),
            (0.1, 0.112_462_92),
            (0.5, 0.520_499_9),
            (1.0, 0.842_700_8),
            (2.0, 0.995_322_3),
            (3.5, 0.999_999_3),
            (40.0, 1.0),
        ];
        for (x, expected) in table {
            assert!((error_function(x) - expected).abs() < 4e-7, "{x}: {}", error_function(x));
            assert!((error_function(-x) + expected).abs() < 4e-7, "-{x}: {}", error_function(-x));
        }
    }

    #[test]
    fn a_row_is_moved_to_its_mean_and_spread() {
        let norm = Norm { weight: vec![2.0; WIDTH], bias: vec![1.0; WIDTH] };
        let mut state: Vec<f32> = (0..2 * WIDTH).map(|at| (at % 7) as f32).collect();
        with_vectors(Normalise { norm: &norm, state: &mut state });
        for row in state.chunks_exact(WIDTH) {
            let mean = row.iter().sum::<f32>() / WIDTH as f32;
            let variance = row.iter().map(|number| (number - mean).powi(2)).sum::<f32>() / WIDTH as f32;
            assert!((mean - 1.0).abs() < 1e-4 && (variance - 4.0).abs() < 1e-3, "{mean} {variance}");
        }
    }

    /// Where every key is the same, everybody takes the mean of the values; a key that fits takes it all.
    #[test]
    fn attention_goes_where_the_keys_fit() {
        let rows = 3;
        let mut asked = vec![0.0; rows * 3 * WIDTH];
        for (row, asked) in asked.chunks_exact_mut(3 * WIDTH).enumerate() {
            asked[2 * WIDTH..].fill(row as f32);
        }
        let mut heard = vec![0.0; rows * WIDTH];
        let attend = |asked: &[f32], heard: &mut [f32]| {
            with_vectors(Attend { asked, heard, tables: &mut Tables::default() });
        };
        attend(&asked, &mut heard);
        assert!(heard.iter().all(|number| (number - 1.0).abs() < 1e-6));
        asked[0] = 10.0;
        asked[2 * 3 * WIDTH + WIDTH] = 10.0;
        attend(&asked, &mut heard);
        assert!((heard[0] - 2.0).abs() < 1e-6, "the first head of the first row");
        assert!((heard[HEAD] - 1.0).abs() < 1e-6, "its second head");
        assert!((heard[WIDTH] - 1.0).abs() < 1e-6, "the second row");
    }

    #[test]
    fn texts_have_the_length_one() {
        let rows: Vec<f32> = (0..2 * WIDTH).map(|at| at as f32).collect();
        let vector = mean_at_length_one(&rows);
        let length = vector.iter().map(|number| number * number).sum::<f32>();
        assert!((length - 1.0).abs() < 1e-5);
    }
}
