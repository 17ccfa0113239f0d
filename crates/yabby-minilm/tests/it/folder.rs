//! The folder of the model: what is brought into it, and what is refused. With the real files if
//! `cargo xtask judge-minilm` has fetched them.

use std::fs;
use std::path::Path;

use yabby_minilm::{InstallError, Model, Precision, Progress, Status, install, is_installed, remove, status};

fn bring(from: &Path, into: &Path) -> Result<u64, InstallError> {
    let mut last = Progress { done: 0, of: None };
    install(from, into, &mut |progress| {
        assert!(progress.done > last.done, "{progress:?} after {last:?}");
        last = progress;
    })?;
    Ok(last.done)
}

#[test]
fn what_is_not_the_model_is_refused_and_leaves_nothing() {
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let into = at("state/models/minilm");
    fs::create_dir(at("empty")).unwrap();
    fs::write(at("model.gguf"), "GGUF\u{3}\0\0\0 and more").unwrap();
    fs::write(at("small.safetensors"), [b"\x02\0\0\0\0\0\0\0{}".as_slice(), &[0; 40]].concat()).unwrap();
    fs::create_dir(at("words")).unwrap();
    fs::write(at("words/tokenizer.json"), "{}").unwrap();
    fs::write(at("half.tgz"), "no archive at all").unwrap();
    let table = [
        ("nowhere", "cannot read"),
        ("empty", "holds no weights of all-MiniLM-L6-v2"),
        ("model.gguf", "is a model of another kind"),
        ("small.safetensors", "is a model of another kind"),
        ("words", "tokenizer.json in"),
        ("half.tgz", "cannot read"),
    ];
    for (name, why) in table {
        let error = bring(&at(name), &into).unwrap_err().to_string();
        assert!(error.contains(why), "{name}: {error}");
        assert!(error.contains(home.path().to_str().unwrap()), "{name}: {error}");
    }
    assert_eq!(status(&into), Status::Missing);
    assert!(!is_installed(&into));
    assert!(!remove(&into).unwrap());
    let left: Vec<_> = fs::read_dir(at("state/models")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_damaged_model_is_recognised() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("model.safetensors"), "cut off").unwrap();
    let Status::Damaged(why) = status(home.path()) else { panic!("it is damaged") };
    assert!(why.ends_with("model.safetensors is not as it was published"), "{why}");
    assert!(Model::load(home.path()).is_err());
    assert!(remove(home.path()).unwrap());
    assert!(!home.path().exists());
}

#[test]
fn the_model_is_brought_from_folders_files_and_packages() {
    let (Some(package), Some(model)) = (crate::package(), crate::folder()) else { return };
    let home = tempfile::tempdir().unwrap();
    let into = home.path().join("models/minilm");
    let deep = home.path().join("deep/node_modules/name");
    fs::create_dir_all(&deep).unwrap();
    std::os::unix::fs::symlink(&model, deep.join("model")).unwrap();
    for from in [package, model.clone(), model.join("model.fp16.safetensors"), home.path().join("deep")] {
        let bytes = bring(&from, &into).unwrap();
        let Status::Installed(installed) = status(&into) else { panic!("{}", from.display()) };
        assert_eq!((installed.precision, installed.bytes), (Precision::Half, bytes), "{}", from.display());
        assert!(Model::load(&into).is_ok());
    }
    fs::write(into.join("tokenizer.json"), "{}").unwrap();
    assert!(matches!(status(&into), Status::Damaged(_)));
    // It takes the place of what is there.
    bring(&model, &into).unwrap();
    assert!(matches!(status(&into), Status::Installed(_)));
    assert!(remove(&into).unwrap());
    assert_eq!(fs::read_dir(home.path().join("models")).unwrap().count(), 0);
}
