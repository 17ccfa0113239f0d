//! Who answers: providers of models behind [`ModelProvider`](yabby_domain::seam::model::ModelProvider).

pub mod catalog;
pub mod offline;
