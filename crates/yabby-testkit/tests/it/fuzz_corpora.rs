//! Every input the fuzzer was given or found, replayed.

use std::fs;

use yabby_testkit::fuzz::TARGETS;

use crate::project;

#[test]
fn every_corpus_is_replayed() {
    for (name, check) in TARGETS {
        let folder = project("fuzz/corpus").join(name);
        let inputs = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut count = 0;
        for input in inputs {
            check(&fs::read(input.unwrap().path()).unwrap());
            count += 1;
        }
        assert!(count > 10, "{name} has only {count} inputs");
        assert!(
            project("fuzz/fuzz_targets").join(name).with_extension("rs").is_file(),
            "{name} has no target"
        );
    }
}
