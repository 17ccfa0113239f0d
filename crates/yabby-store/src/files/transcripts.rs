//! The conversations of one agent: a folder of transcripts (`transcripts.md` §2, §4, §7).

mod plan;
mod text;

pub use plan::{ContextPlan, Messages};

pub fn bench(path: &std::path::Path) -> ContextPlan {
    let t = text::Text::of_file(std::fs::File::open(path).unwrap()).unwrap();
    let (_, tail) = plan::tail_of(&t).unwrap().unwrap();
    ContextPlan::of_tail(t, tail)
}
