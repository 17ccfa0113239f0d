//! `docs/configuration.md` says what the types say.

use yabby_config::page::page;

#[test]
fn the_page_of_settings_is_up_to_date() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(file, page()).unwrap();
    }
    let written = std::fs::read_to_string(file).unwrap_or_default();
    assert!(written == page(), "run the tests of yabby-config with UPDATE_DOCS=1");
}
