//! Products with the weights, which is where nearly all the time goes.
//!
//! The weights never change, so they are laid out once as the processor wants to read them: in panels as
//! wide as two of its vectors. What is multiplied with them is laid out the same way before each product,
//! which is little work beside it.

use pulp::{Arch, Scalar128b, Simd, WithSimd};

/// Rows of a product that are worked out together: with two vectors each, as many sums as the smallest
/// set of registers holds.
const ROWS: usize = 6;
/// Vectors in a row of a panel.
const VECTORS: usize = 2;

/// Does something with the best vectors that this processor has.
pub fn with_vectors<Work: WithSimd>(work: Work) -> Work::Output {
    match Arch::new() {
        // The compiler makes of these what it can.
        Arch::Scalar => Scalar128b.vectorize(work),
        arch => arch.dispatch(work),
    }
}

/// `x · W + b` for rows `x`.
pub struct Linear {
    inputs: usize,
    outputs: usize,
    panels: Aligned,
    bias: Vec<f32>,
}

impl Linear {
    /// Takes the weights as they are stored: the row of an output has what it takes of every input.
    ///
    /// The number of outputs has to be a multiple of 32, as all of this model's are.
    pub fn new(weights: &[f32], bias: Vec<f32>) -> Self {
        let outputs = bias.len();
        let inputs = weights.len() / outputs;
        let width = with_vectors(PanelWidth);
        let mut panels = Aligned::zeros(weights.len());
        for (panel, rows) in
            panels.as_mut().chunks_exact_mut(inputs * width).zip(weights.chunks_exact(inputs * width))
        {
            for (lane, row) in rows.chunks_exact(inputs).enumerate() {
                for (step, weight) in row.iter().enumerate() {
                    panel[step * width + lane] = *weight;
                }
            }
        }
        Self { inputs, outputs, panels, bias }
    }

    /// The rows of `x` times the weights, into `out`. `packed` is where `x` is laid out.
    pub fn apply(&self, x: &[f32], packed: &mut Vec<f32>, out: &mut [f32]) {
        let steps = self.inputs;
        pack(Rows { numbers: x, stride: steps, from: 0, width: steps }, packed);
        let panels = self.panels.as_ref();
        let product =
            Product { left: packed, steps, panels, bias: &self.bias, out, stride: self.outputs, from: 0 };
        with_vectors(product);
    }
}

struct PanelWidth;

impl WithSimd for PanelWidth {
    type Output = usize;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> usize {
        panel_width::<S>()
    }
}

/// How many columns are worked out together.
#[inline(always)]
pub fn panel_width<S: Simd>() -> usize {
    VECTORS * S::F32_LANES
}

/// Some columns of all rows.
pub struct Rows<'a> {
    pub numbers: &'a [f32],
    /// From one row to the next.
    pub stride: usize,
    pub from: usize,
    pub width: usize,
}

/// The left side of a product: blocks of rows; in each, the first number of every row, then the second,
/// and so on.
#[inline(always)]
pub fn pack(rows: Rows<'_>, packed: &mut Vec<f32>) {
    let Rows { numbers, stride, from, width } = rows;
    packed.clear();
    packed.resize(numbers.len() / stride * width, 0.0);
    for (block, rows) in packed.chunks_mut(ROWS * width).zip(numbers.chunks(ROWS * stride)) {
        let height = rows.len() / stride;
        for (at, row) in rows.chunks_exact(stride).enumerate() {
            let places = block[at..].iter_mut().step_by(height);
            for (place, number) in places.zip(&row[from..from + width]) {
                *place = *number;
            }
        }
    }
}

/// Rows times columns, and a bias for each column.
pub struct Product<'a> {
    /// See [`pack`].
    pub left: &'a [f32],
    /// Numbers in a row on the left, and in a column on the right.
    pub steps: usize,
    /// The right side: for every [`panel_width`] columns, their first numbers, their second, and so on.
    pub panels: &'a [f32],
    pub bias: &'a [f32],
    pub out: &'a mut [f32],
    /// From one row of `out` to the next, and where in it the first column goes.
    pub stride: usize,
    pub from: usize,
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = panel_width::<S>();
        let panels = self.panels.chunks_exact(self.steps * width).zip(self.bias.chunks_exact(width));
        for (number, (panel, bias)) in panels.enumerate() {
            let (panel, _) = S::as_simd_f32s(panel).0.as_chunks::<VECTORS>();
            let (bias, _) = S::as_simd_f32s(bias).0.as_chunks::<VECTORS>();
            let Some(bias) = bias.first() else { continue };
            let blocks = self.left.chunks(ROWS * self.steps).zip(self.out.chunks_mut(ROWS * self.stride));
            for (block, out) in blocks {
                let from = self.from + number * width;
                let place = Place { panel, bias, out, stride: self.stride, from };
                match block.len() / self.steps {
                    6 => tile::<S, 6>(simd, block, place),
                    5 => tile::<S, 5>(simd, block, place),
                    4 => tile::<S, 4>(simd, block, place),
                    3 => tile::<S, 3>(simd, block, place),
                    2 => tile::<S, 2>(simd, block, place),
                    _ => tile::<S, 1>(simd, block, place),
                }
            }
        }
    }
}

struct Place<'a, S: Simd> {
    panel: &'a [[S::f32s; VECTORS]],
    bias: &'a [S::f32s; VECTORS],
    out: &'a mut [f32],
    stride: usize,
    from: usize,
}

/// The part of a product that one block of rows and one panel decide.
#[inline(always)]
fn tile<S: Simd, const HEIGHT: usize>(simd: S, block: &[f32], place: Place<'_, S>) {
    let mut sums = [*place.bias; HEIGHT];
    let (steps, _) = block.as_chunks::<HEIGHT>();
    for (numbers, weights) in steps.iter().zip(place.panel) {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            let number = simd.splat_f32s(*number);
            for (sum, weight) in sum.iter_mut().zip(weights) {
                *sum = simd.mul_add_e_f32s(number, *weight, *sum);
            }
        }
    }
    for (sum, row) in sums.iter().zip(place.out.chunks_exact_mut(place.stride)) {
        let row = &mut row[place.from..place.from + panel_width::<S>()];
        for (to, sum) in S::as_mut_simd_f32s(row).0.iter_mut().zip(sum) {
            *to = *sum;
        }
    }
}

/// Numbers that begin where a line of the cache begins, so that no vector lies on two.
struct Aligned {
    numbers: Vec<f32>,
    from: usize,
}

impl Aligned {
    const LINE: usize = 64;

    fn zeros(count: usize) -> Self {
        let slack = Self::LINE / size_of::<f32>();
        let numbers = vec![0.0; count + slack];
        let from = numbers.as_ptr().align_offset(Self::LINE).min(slack);
        let mut aligned = Self { numbers, from };
        aligned.numbers.truncate(from + count);
        aligned
    }

    fn as_ref(&self) -> &[f32] {
        &self.numbers[self.from..]
    }

    fn as_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[self.from..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_those_of_the_schoolbook() {
        let (inputs, outputs) = (40, 96);
        let number = |at: usize| ((at * 7919) % 101) as f32 / 50.0 - 1.0;
        let weights: Vec<f32> = (0..inputs * outputs).map(number).collect();
        let bias: Vec<f32> = (0..outputs).map(number).collect();
        let linear = Linear::new(&weights, bias.clone());
        for rows in [1, 2, 3, 4, 5, 6, 7, 13] {
            let x: Vec<f32> = (0..rows * inputs).map(|at| number(at + 17)).collect();
            let mut out = vec![f32::NAN; rows * outputs];
            linear.apply(&x, &mut Vec::new(), &mut out);
            for (row, out) in x.chunks_exact(inputs).zip(out.chunks_exact(outputs)) {
                for (output, got) in out.iter().enumerate() {
                    let weights = &weights[output * inputs..][..inputs];
                    let expected = bias[output]
                        + row.iter().zip(weights).map(|(number, weight)| number * weight).sum::<f32>();
                    assert!((got - expected).abs() < 1e-4, "{rows} rows, {output}: {got} {expected}");
                }
            }
        }
    }

    /// What a processor with such vectors makes of a product.
    struct Try<'a> {
        x: &'a [f32],
        weights: &'a [f32],
        inputs: usize,
    }

    impl WithSimd for Try<'_> {
        type Output = Vec<f32>;

        fn with_simd<S: Simd>(self, simd: S) -> Vec<f32> {
            let Self { x, weights, inputs } = self;
            let (width, outputs) = (panel_width::<S>(), weights.len() / inputs);
            let mut panels = vec![0.0; weights.len()];
            for (at, weight) in weights.iter().enumerate() {
                let (output, step) = (at / inputs, at % inputs);
                panels[(output / width * inputs + step) * width + output % width] = *weight;
            }
            let mut left = Vec::new();
            pack(Rows { numbers: x, stride: inputs, from: 0, width: inputs }, &mut left);
            let (bias, mut out) = (vec![1.0; outputs], vec![0.0; x.len() / inputs * outputs]);
            let (left, panels, bias) = (&left, &panels, &bias);
            let out_rows = &mut out;
            Product { left, steps: inputs, panels, bias, out: out_rows, stride: outputs, from: 0 }
                .with_simd(simd);
            out
        }
    }

    #[test]
    fn every_kind_of_processor_comes_to_the_same() {
        let number = |at: usize| ((at * 7919) % 101) as f32 / 50.0 - 1.0;
        let inputs = 40;
        let weights: Vec<f32> = (0..inputs * 96).map(number).collect();
        let x: Vec<f32> = (0..inputs * 13).map(|at| number(at + 17)).collect();
        let work = || Try { x: &x, weights: &weights, inputs };
        let plain = Scalar128b.vectorize(work());
        let mut others = vec![with_vectors(work())];
        #[cfg(target_arch = "x86_64")]
        others.extend(pulp::x86::V3::try_new().map(|simd| Simd::vectorize(simd, work())));
        for other in others {
            for (one, other) in plain.iter().zip(other) {
                assert!((one - other).abs() < 1e-4, "{one} {other}");
            }
        }
    }
}
