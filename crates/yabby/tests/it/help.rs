//! What every command says about itself: help, completions, manual pages.

use std::fs;

use crate::home::Home;

/// The commands that are listed below one, as its help lists them.
fn below(help: &str) -> Vec<String> {
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter(|line| line.starts_with("  "));
    let names =
        commands.filter(|line| !line.starts_with("   ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// Every command there is, as the words that call it.
fn commands(home: &Home) -> Vec<Vec<String>> {
    let mut found = vec![Vec::<String>::new()];
    let mut next = 0;
    while let Some(words) = found.get(next).cloned() {
        let mut call: Vec<&str> = words.iter().map(String::as_str).collect();
        call.push("--help");
        found.extend(below(&home.out(&call)).into_iter().map(|name| [words.clone(), vec![name]].concat()));
        next += 1;
    }
    found
}

#[test]
fn every_command_explains_itself_with_an_example() {
    let home = Home::empty();
    let commands = commands(&home);
    assert!(commands.len() > 20, "{commands:?}");
    for words in &commands {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let help = home.out(&[&words[..], &["-h"]].concat());
        let about = help.lines().next().unwrap();
        assert!(about.len() > 10 && !about.starts_with("Usage"), "{words:?}: {about}");
        assert!(help.contains(&format!("Usage: {}", [&["yabby"], &words[..]].concat().join(" "))), "{help}");
        assert!(help.contains("\nExamples:\n  yabby"), "{words:?} has no example:\n{help}");
        assert!(!help.contains('\u{1b}'), "a pipe gets plain text");
        assert_eq!(
            home.out(&[&["help"], &words[..]].concat()),
            home.out(&[&words[..], &["--help"]].concat())
        );
    }
}

#[test]
fn completions_know_the_commands() {
    let home = Home::empty();
    let names = below(&home.out(&["--help"]));
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = home.out(&["completion", shell]);
        for name in names.iter().map(String::as_str).chain(["compact", "--tree"]) {
            let option = name.trim_start_matches('-');
            assert!(script.contains(option), "{shell} does not know {name}");
        }
        assert_eq!(home.out(&["completion", "--shell", shell]), script);
    }
    assert_eq!(home.out(&["completion"]), home.out(&["completion", "zsh"]));
    assert!(
        home.refusal(&["completion", "tcsh"])
            .contains("Allowed choices are zsh, bash, fish, powershell, elvish.")
    );
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let home = Home::empty();
    home.out(&["man", "--out", "man/man1"]);
    let commands = commands(&home);
    for words in &commands {
        let name = [vec!["yabby".to_owned()], words.clone()].concat().join("-");
        let page = fs::read_to_string(home.path().join(format!("man/man1/{name}.1"))).unwrap();
        assert!(page.contains(&format!(".TH {name} 1")) && page.contains(".SH NAME"), "{page}");
    }
    assert_eq!(fs::read_dir(home.path().join("man/man1")).unwrap().count(), commands.len());
    assert!(home.out(&["man"]).contains(".TH yabby 1"));
}

#[test]
fn what_does_not_go_together_is_named() {
    let home = Home::empty();
    //  arguments                                        told
    let table = [
        (&["--follow", "--tree"][..], "error: the argument '--follow' cannot be used with '--tree'"),
        (
            &["--follow", "--json", "--tree"],
            "error: the argument '--follow' cannot be used with '--json', '--tree'",
        ),
    ];
    for (arguments, told) in table {
        assert_eq!(home.refusal(&[&["history"], arguments].concat()), told);
    }
    let help = home.out(&["config", "get", "--help"]);
    assert!(help.contains(r"`\.` for a dot in a key"), "{help}");
}

#[test]
fn nothing_asked_is_answered_with_help() {
    let home = Home::empty();
    let told = home.run(&[]);
    assert_eq!((told.code, told.out.as_str()), (1, ""));
    assert!(told.err.contains("Usage: yabby [OPTIONS] <COMMAND>"), "{}", told.err);
    assert_eq!(home.out(&["--version"]), concat!("yabby ", env!("CARGO_PKG_VERSION"), "\n"));
}
