//! `~` in values that name a file or a folder (`config.md` §2.4).

use yabby_base::json::Value;
use yabby_base::path::user_path;
use yabby_base::text;

/// Fills in the home folder, where the key says that the value is a path.
pub fn expand(value: &mut Value, home: &str, current: &str) {
    walk(None, value, &|path| user_path(path, home, current));
}

fn walk(key: Option<&str>, value: &mut Value, expanded: &dyn Fn(&str) -> String) {
    match value {
        Value::String(text) if key.is_some_and(names_a_path) && begins_at_home(text) => {
            *text = expanded(text);
        }
        Value::Array(items) => {
            let key = key.filter(|key| LISTS.contains(key));
            for item in items {
                match item {
                    Value::String(_) => walk(key, item, expanded),
                    _ => walk(None, item, expanded),
                }
            }
        }
        Value::Object(object) => {
            for (key, member) in object.iter_mut() {
                walk(Some(key), member, expanded);
            }
        }
        _ => {}
    }
}

/// Lists of paths.
const LISTS: [&str; 2] = ["paths", "pathPrepend"];

fn names_a_path(key: &str) -> bool {
    let key_in_small = key.to_ascii_lowercase();
    LISTS.contains(&key)
        || ["dir", "path", "paths", "file", "root", "workspace"].iter().any(|end| key_in_small.ends_with(end))
}

fn begins_at_home(value: &str) -> bool {
    text::trim(value).strip_prefix('~').is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
}

#[cfg(test)]
mod tests {
    use yabby_base::json;

    use super::*;

    #[test]
    fn the_key_says_whether_a_value_is_a_path() {
        //  value                                        with the home folder filled in
        let table = [
            (
                r#"{"workspace":"~/ws","agentDir":"~","repoRoot":"~/a/../b"}"#,
                r#"{"workspace":"/h/ws","agentDir":"/h","repoRoot":"/h/b"}"#,
            ),
            (
                r#"{"LOGFILE":" ~/x ","name":"~/x","file":"~user/x"}"#,
                r#"{"LOGFILE":"/h/x","name":"~/x","file":"~user/x"}"#,
            ),
            (
                r#"{"paths":["~/a",{"path":"~/b"}],"extraDirs":["~/c"]}"#,
                r#"{"paths":["/h/a",{"path":"/h/b"}],"extraDirs":["~/c"]}"#,
            ),
            (
                r#"{"pathPrepend":["~/a"],"extraPaths":["~/b"],"paths":[["~/c"]]}"#,
                r#"{"pathPrepend":["/h/a"],"extraPaths":["~/b"],"paths":[["~/c"]]}"#,
            ),
            (r#"{"store":{"path":"~/m.sqlite"}}"#, r#"{"store":{"path":"/h/m.sqlite"}}"#),
        ];
        for (source, expected) in table {
            let mut value = json::parse(source).unwrap();
            expand(&mut value, "/h", "/c");
            assert_eq!(json::stringify(&value), expected);
        }
    }
}
