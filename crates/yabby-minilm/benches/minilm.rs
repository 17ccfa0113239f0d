//! How fast the model on this machine is: `YABBY_MINILM=<folder with the model> cargo bench -p yabby-minilm`.

#![allow(clippy::print_stdout, reason = "a measurement prints")]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use yabby_minilm::Model;

const WORDS: &[&str] = &[
    "we",
    "went",
    "to",
    "the",
    "lake",
    "yesterday",
    "and",
    "my",
    "sister",
    "told",
    "me",
    "about",
    "her",
    "new",
    "job",
    "in",
    "the",
    "hospital",
    "which",
    "starts",
    "on",
    "monday",
    "after",
    "breakfast",
];

fn main() {
    let Some(folder) = std::env::var_os("YABBY_MINILM").map(PathBuf::from) else {
        println!("YABBY_MINILM names no folder with the model; nothing was measured");
        return;
    };
    let started = Instant::now();
    let model = match Model::load(&folder) {
        Ok(model) => model,
        Err(error) => return println!("{error}"),
    };
    println!("load                      {:>8.1} ms", milliseconds(started.elapsed()));
    let text = |seed: usize, words: usize| {
        let word = |at| WORDS[(seed * 7 + at * (seed % 5 + 1)) % WORDS.len()];
        (0..words).map(word).collect::<Vec<_>>().join(" ")
    };
    for words in [1, 8, 20, 100, 300] {
        let query = text(3, words);
        let rounds = if words > 50 { 30 } else { 200 };
        let mut times: Vec<Duration> = (0..rounds)
            .map(|_| {
                let started = Instant::now();
                std::hint::black_box(model.embed(&query));
                started.elapsed()
            })
            .collect();
        times.sort();
        let pieces = model.pieces(&query).len();
        println!("one of {words:>3} words ({pieces:>3})    {:>8.2} ms", milliseconds(times[times.len() / 2]));
    }
    for (words, count) in [(20, 2000), (300, 200)] {
        let texts: Vec<String> = (0..count).map(|seed| text(seed, words - 5 + seed % 11)).collect();
        let started = Instant::now();
        std::hint::black_box(model.embed_all(&texts));
        let seconds = started.elapsed().as_secs_f64();
        println!("{count:>4} of about {words:>3} words    {:>8.1} per second", count as f64 / seconds);
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
