//! Lists without repetition, in the order of first mention, as the reference's sets have it
//! (`sessions.md` §1).

/// Every item once. For the short lists of names and addresses that rules deal in.
pub(crate) fn unique<T: PartialEq>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for item in items {
        if !seen.contains(&item) {
            seen.push(item);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equals_stays() {
        assert_eq!(unique(["b", "a", "b"]), ["b", "a"]);
    }
}
