//! The model as it is used: texts in, vectors out.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::encoder::{Encoder, WIDTH, Workplace};
use crate::files::{TOKENIZER, weights_in};
use crate::pieces::Pieces;
use crate::tensors::Tensors;

/// all-MiniLM-L6-v2, ready to be asked. Takes about 70 MB.
pub struct Model {
    pieces: Pieces,
    encoder: Encoder,
}

/// Pieces that are worked on together. More of them would not stay in the fast memory of one core.
const TOGETHER: usize = 128;

/// The model is there, but cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("{} holds no model of meaning; `yabby memory model install` brings one", .0.display())]
    Missing(PathBuf),
    #[error("{}: {source}; `yabby memory model install` brings it anew", path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
}

impl Model {
    pub const NAME: &str = "all-MiniLM-L6-v2";
    pub const DIMENSIONS: usize = WIDTH;
    /// Two texts that have nothing in common are alike by chance, up to about this.
    pub const LEAST_LIKENESS: f32 = 0.25;

    /// Loads what [`install`](crate::install) has put into a folder.
    pub fn load(folder: &Path) -> Result<Self, LoadError> {
        let weights = weights_in(folder).ok_or_else(|| LoadError::Missing(folder.to_owned()))?;
        let tokenizer = folder.join(TOKENIZER);
        let pieces = Pieces::read(&tokenizer)
            .map_err(|source| LoadError::Unreadable { path: tokenizer.clone(), source })?;
        let encoder = Tensors::open(&weights).and_then(|mut tensors| Encoder::read(&mut tensors));
        let encoder = encoder.map_err(|source| LoadError::Unreadable { path: weights, source })?;
        Ok(Self { pieces, encoder })
    }

    /// The numbers of the word pieces that the model makes of a text.
    pub fn pieces(&self, text: &str) -> Vec<u32> {
        self.pieces.of(text)
    }

    /// The vector of one text, with one core.
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let pieces = self.pieces.of(text);
        self.encoder.encode(&[&pieces], &mut Workplace::default()).swap_remove(0)
    }

    /// The vectors of many texts in their order, with all cores.
    pub fn embed_all<Text: AsRef<str> + Sync>(&self, texts: &[Text]) -> Vec<Vec<f32>> {
        let cut: Vec<Vec<u32>> = texts.iter().map(|text| self.pieces.of(text.as_ref())).collect();
        let groups = groups(&cut);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut workplace = Workplace::default();
            let mut done = Vec::new();
            while let Some(group) = groups.get(next.fetch_add(1, Ordering::Relaxed)) {
                let pieces: Vec<&[u32]> = group.iter().map(|text| cut[*text].as_slice()).collect();
                let vectors = self.encoder.encode(&pieces, &mut workplace);
                done.extend(group.iter().copied().zip(vectors));
            }
            done
        };
        let cores = thread::available_parallelism().map_or(1, NonZero::get).min(groups.len());
        let mut vectors = vec![Vec::new(); texts.len()];
        thread::scope(|scope| {
            let others: Vec<_> = (1..cores).map(|_| scope.spawn(work)).collect();
            let mut done = work();
            for other in others {
                // Whoever panicked has said so; its texts have no vector then.
                done.extend(other.join().unwrap_or_default());
            }
            for (text, vector) in done {
                vectors[text] = vector;
            }
        });
        vectors
    }
}

/// Which texts are worked on together; the longest first, so that no core is left alone with one at the
/// end.
fn groups(cut: &[Vec<u32>]) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..cut.len()).collect();
    order.sort_by_key(|text| std::cmp::Reverse(cut[*text].len()));
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut room = 0;
    for text in order {
        let length = cut[text].len();
        match groups.last_mut() {
            Some(group) if length <= room => {
                group.push(text);
                room -= length;
            }
            _ => {
                groups.push(vec![text]);
                room = TOGETHER.saturating_sub(length);
            }
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts_are_worked_on_together_and_long_ones_alone() {
        let cut: Vec<Vec<u32>> = [20, 256, 100, 8, 60].iter().map(|length| vec![0; *length]).collect();
        assert_eq!(groups(&cut), [vec![1], vec![2], vec![4, 0, 3]]);
        assert_eq!(groups(&[]), Vec::<Vec<usize>>::new());
    }

    #[test]
    fn a_folder_without_a_model_says_how_to_get_one() {
        let folder = tempfile::tempdir().unwrap();
        let error = Model::load(folder.path()).err().unwrap().to_string();
        assert!(
            error.ends_with("holds no model of meaning; `yabby memory model install` brings one"),
            "{error}"
        );
    }
}
