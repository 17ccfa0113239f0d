//! What somebody wants, read from their words by plain patterns.
//!
//! One message may hold several wishes. It is cut only where something begins that is certainly one:
//! "remember bread and butter" is one thing to remember, "remember bread and list files" is two wishes.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use yabby_domain::reply::tokens::HEARTBEAT_TOKEN;
use yabby_domain::session::reset::BARE_RESET;
use yabby_domain::text;

use super::{pattern, quote};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    Greeting,
    Thanks,
    /// "ok", "great"
    Agreement,
    Help,
    /// What time or what day it is.
    Clock,
    /// A session that has just begun, without words.
    NewSession,
    Heartbeat,
    Remember(String),
    /// What is known about something; about anything if it is empty.
    Recall(String),
    List {
        path: Option<String>,
        recursive: bool,
    },
    Read(String),
    Status,
    Unclear(String),
}

/// Nobody means more than this by one message.
const MOST: usize = 12;
/// How many places of a long message are looked at, and how far: what stands in a whole book is not meant.
const MOST_BORDERS: usize = 300;
const LONGEST_CLAUSE: usize = 2000;

/// The wishes in a message, in order.
pub(super) fn wishes(message: &str) -> Vec<Wish> {
    let message = text::trim(message);
    if message.is_empty() {
        return Vec::new();
    }
    if message.contains(BARE_RESET) {
        return vec![Wish::NewSession];
    }
    if message.contains(HEARTBEAT_TOKEN) {
        return vec![Wish::Heartbeat];
    }
    let mut wishes: Vec<Wish> = Vec::new();
    for clause in clauses(message) {
        let wish = wish(clause);
        match (wishes.last_mut(), wish) {
            // "I moved to Berlin. Remember that."
            (Some(Wish::Unclear(before)), Wish::Remember(what)) if what.is_empty() => {
                let before = std::mem::take(before);
                wishes.pop();
                wishes.push(Wish::Remember(before));
            }
            (_, wish) => {
                if !wishes.contains(&wish) {
                    wishes.push(wish);
                }
            }
        }
    }
    // Politeness around a wish wants no answer of its own.
    let is_polite = |wish: &Wish| matches!(wish, Wish::Greeting | Wish::Thanks | Wish::Agreement);
    if !wishes.iter().all(is_polite) {
        wishes.retain(|wish| !is_polite(wish));
    }
    wishes.truncate(MOST);
    wishes
}

/// The message, cut where another wish begins.
fn clauses(message: &str) -> Vec<&str> {
    static BORDER: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"(?i)(?P<end>[.!?;。！？…]+\s+|\s*\n\s*)|,?\s+(?:and|then|und|y|et)\s+(?:(?:then|also|please)\s+)*|,\s+",
        )
    });
    let mut clauses = Vec::new();
    let mut begun = 0;
    for border in BORDER.captures_iter(message).take(MOST_BORDERS) {
        let (Some(whole), is_end) = (border.get(0), border.name("end").is_some()) else { continue };
        let rest = &message[whole.end()..];
        let after = clause_at(rest);
        let begins = match wish(after) {
            Wish::Unclear(_) => false,
            Wish::Remember(_) | Wish::Recall(_) | Wish::List { .. } | Wish::Read(_) | Wish::Status => {
                is_end || begins_with_command(rest)
            }
            _ => is_end,
        };
        if begins && whole.start() > begun {
            let question = if message[whole.start()..].starts_with('?') { 1 } else { 0 };
            clauses.push(&message[begun..whole.start() + question]);
            begun = whole.end();
        }
    }
    clauses.push(&message[begun..]);
    clauses.retain(|clause| text::non_blank(clause).is_some());
    clauses
}

/// What stands before the next border of any kind.
fn clause_at(rest: &str) -> &str {
    static NEXT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)[.!;。！]+(?:\s|$)|\n|,?\s+(?:and|then)\s+|,\s+"));
    let rest = quote::cut(rest, LONGEST_CLAUSE);
    match NEXT.find(rest) {
        Some(next) if next.start() > 0 => &rest[..next.start()],
        _ => rest,
    }
}

/// Within a sentence only an order begins another wish, not a word that could just as well go on.
fn begins_with_command(rest: &str) -> bool {
    static COMMAND: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r"(?i)^(?:please\s+)?(?:remember\b|don[’']?t forget\b|do not forget\b|note (?:that|down)\b|recall\b|list\b|ls\b|",
            r"read\b|show\b|open\b|(?:tell me )?what\b|which\b|when\b|do you\b|status\b)"
        ))
    });
    COMMAND.is_match(rest)
}

/// What one clause asks for.
fn wish(clause: &str) -> Wish {
    static POSTSCRIPT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"(?i)[,\s]+(?:please|pls|thanks|thank you)[\s.!?]*$"));
    let whole = text::trim(clause);
    let kept = POSTSCRIPT.find(whole).map_or(whole, |polite| &whole[..polite.start()]);
    let words = without_preamble(kept);
    // "Could you note this?" is no question.
    let asks_politely = text::lower(&kept[..kept.len() - words.len()]).contains(" you");
    let words = if asks_politely { words.trim_end_matches('?') } else { words };
    // A greeting may be all there is.
    let read =
        |words| RULES.iter().find_map(|(rule, read)| rule.captures(words).and_then(|found| read(&found)));
    match read(words).or_else(|| read(whole)) {
        Some(wish) => wish,
        // Somebody was called, and nothing said.
        None if words.is_empty() => Wish::Greeting,
        None => Wish::Unclear(whole.to_owned()),
    }
}

/// The words behind greetings and politeness; none if there is nothing else.
fn without_preamble(words: &str) -> &str {
    static PREAMBLE: LazyLock<Regex> = LazyLock::new(|| {
        pattern(concat!(
            r"(?i)^(?:(?:please|pls|kindly|hey|hi|hello|okay|ok|so|well|now|also|then|and|but|just|yabby|assistant|",
            r"(?:can|could|would|will) you(?: please)?|i(?: want|[’']d like| would like) you to|tell me,?|let me know)",
            r"\b[\s,!:.]*)+"
        ))
    });
    PREAMBLE.find(words).map_or(words, |polite| &words[polite.end()..])
}

type Reading = fn(&Captures<'_>) -> Option<Wish>;

/// The first rule that applies counts.
static RULES: LazyLock<Vec<(Regex, Reading)>> = LazyLock::new(|| {
    vec![
        (only(GREETING), |_| Some(Wish::Greeting)),
        (only(THANKS), |_| Some(Wish::Thanks)),
        (only(AGREEMENT), |_| Some(Wish::Agreement)),
        (only(HELP), |_| Some(Wish::Help)),
        (only(CLOCK), |_| Some(Wish::Clock)),
        (only(STATUS), |_| Some(Wish::Status)),
        (only(LIST), listing),
        (only(READ), reading),
        (begins(RECALL), recalling),
        (begins(REMEMBER), remembering),
        (begins(ASKED_IN_OTHER_LANGUAGES), |found| Some(Wish::Recall(bare(&found[0]).to_owned()))),
    ]
});

/// Matches a clause that is this and nothing more.
fn only(phrase: &str) -> Regex {
    const END: &str = r"[\s.!?…,:)👋🙂😊🙏❤\u{fe0f}-]*$";
    pattern(&format!("(?is)^(?:{}){END}", spelt_out(phrase)))
}

/// Matches a clause that begins like this.
fn begins(phrase: &str) -> Regex {
    pattern(&format!("(?is)^(?:{})$", spelt_out(phrase)))
}

/// In the patterns below a space is any white space, `'` any apostrophe or none, and a new line just a new line.
fn spelt_out(phrase: &str) -> String {
    phrase.lines().map(str::trim_start).collect::<String>().replace(' ', r"\s+").replace('\'', "['’]?")
}

const GREETING: &str = r"(?:hi|hello|hey|hiya|howdy|yo|greetings|good (?:morning|afternoon|evening|day|night)|
    hallo|guten (?:morgen|tag|abend)|servus|moin|hola|buenos días|bonjour|salut|ciao|olá|oi|hej|
    привет|你好|こんにちは|안녕하세요|مرحبا)
    (?:,? (?:there|yabby|again|all|everyone|everybody))?";

const THANKS: &str = r"(?:thanks|thank you|thx|ty|cheers|danke(?: schön)?|vielen dank|merci|gracias|grazie|obrigad[oa]|tack|
    спасибо|谢谢|ありがとう)
    (?:,? (?:thanks|thank you|so much|very much|a lot|yabby|you|for [^?]{1,60}|that(?:'s| is| was) \S+))*";

const AGREEMENT: &str =
    r"(?:ok|okay|great|perfect|nice|cool|good|fine|yes|no|sure|all right|alright|got it|never ?mind)";

const HELP: &str = r"help(?: me)?|\?|commands|
    what (?:else )?can (?:you|i) (?:do|ask|say)(?: (?:here|for me))?|what do you do|how do(?:es)? (?:you|this) work|
    (?:who|what) are you|are you (?:an? )?(?:ai|bot|llm|language model|human|real)";

const CLOCK: &str = r"(?:do you know )?what(?:'s| is)? (?:the )?(?:current )?(?:time|date|day|year)(?: (?:is|it|today|now|right now))*|
    what(?:'s| is) today's date|(?:current )?(?:time|date)(?: now)?";

const STATUS: &str = r"(?:(?:show|give|tell|print)(?: me)? (?:(?:the|your|my) )?|what(?:'s| is) (?:(?:the|your|my) )?)?
    (?:current )?(?:session )?status(?: (?:of (?:the|this|my) session|report))?|
    how full(?: (?:is|are) .{1,60})?|how much (?:context|room|space|memory)(?: .{0,60})?";

const LIST: &str = r#"(?:ls|dir)(?: -\S+)*(?: (?P<here>\S+?))?|
    (?:list|show|give|what|which|display|see)(?: (?:me|us|all|the|my|your|any|are|is|of|a list of))*\s+
    (?:files?|documents|folders|directories)(?: and (?:files|folders|directories))?
    (?: (?:are|is|exist|do (?:you|i|we) (?:have|see|know)|have you|can you see|there|here|available|stored|saved|you have))*
    (?: (?:in|of|under|inside|from|below|at|on) (?:(?:the|my|your|this) )*(?:(?:folder|directory) )?
    (?P<path>[“”‘’"`\x27][^“”"`]+[“”‘’"`\x27]|\S+?)(?: (?:folder|directory))?)?(?P<deep> recursively)?|
    (?:list(?: the)?|what(?:'s| is) in(?:side)?(?: (?:the|my))?) (?:(?:folder|directory) (?P<named>\S+?)|(?P<slashed>\S*/\S*?))"#;

const READ: &str = r#"(?P<verb>read|cat|open|show|display|view|print) (?:me )?(?:(?:the|my|your) )?(?:contents? of )?(?:the )?
    (?P<file>file (?:(?:named|called) )?)?(?P<path>[“”‘’"`\x27][^“”"`]+[“”‘’"`\x27]|\S+?)(?P<after> file)?
    (?: (?:for me|to me|aloud|again|now))*"#;

const RECALL: &str = r"(?:what|anything|something) (?:else )?(?:do|did|can|have) you (?:(?:still|already) )?
    (?:remember(?:ed)?|recall|know|noted?|have noted|stored?)\b(?: (?:about|of|on|regarding|concerning|from)\b)?(?P<all>.*)|

    (?:do|did|can|don't) you (?:(?:still|already) )?(?:remember|recall|know|have (?:a note|notes|anything))\b
    (?: (?:anything|something|a note)\b)?(?: (?:about|of|on)\b)?(?P<known>.*)|

    (?:recall|remind me (?:again )?(?:of|about|what|when|where|who|which|how)|
    (?:search|look(?: (?:in|up|through))?|check|find) (?:in )?(?:(?:your|my|the) )?(?:memory|memories|notes)(?: (?:for|about))?|
    (?:have|did) i (?:ever )?(?:told|tell|mention(?:ed)?|say|said)\b(?: you)?(?: (?:about|that))?) (?P<topic>.+)|

    (?P<asked>(?:what|who|which|where|when|how(?: (?:old|tall|long|many|much|far|often))?)(?:'s| (?:is|are|was|were))? (?:my|our) .+|
    (?:what|which|who|where|when|how|why)\b[^?]{0,60}\b
    (?:did|do|does|have|had|was|were|am|are|is|will|should) (?:i|we|my|our)\b.*|
    when (?:did|is|was|are|were|do|does|will) .+|(?:who|where)(?:'s| (?:is|are|was|were)) .+|
    remember .+\?\s*)";

const REMEMBER: &str = r"(?:remember(?: for (?:me|later))?|memori[sz]e|(?:keep|bear) in mind|(?:make|take) (?:a )?note|
    (?:note|write|jot) down|note|save|store|(?:don't|do not) (?:you )?(?:ever )?forget|
    (?:bitte )?merke? dir|erinnere dich(?: daran)?|notiere?(?: dir)?|schreib(?:e)?(?: dir)? auf|vergiss nicht|behalte? im kopf|
    souviens-toi|rappelle-toi|retiens|notez?|n'oublie pas|recuerda|acuérdate|anota|apunta|no olvides|
    ricorda(?:ti)?|annota|non dimenticare|lembra-te|lembre(?:-se)?|lembra|anote|não (?:te )?esqueças?|não se esqueça|
    onthoud|noteer|vergeet niet|запомни(?:те)?|запиши(?:те)?|не забудь(?:те)?|
    θυμήσου|να θυμάσαι|σημείωσε|μην ξεχάσεις|تذكّ?ر|سجّ?ل|لا تنسَ?)(?:\s*[:,–—-])?
    (?: (?:that|of|this|the fact that|to (?:your)?self|for me|in your memory|about|bitte|mal|dass|daß|daran|s'il te plaît|
    que|qu'|de que|por favor|che|per favore|dat|alsjeblieft|что|пожалуйста|ότι|πως|أن)\b,?)*
    (?:\s*[:,–—-]\s*| |$)(?P<what>.*)|

    (?:请|請)?(?:你)?(?:记住|記住|记得|記得|别忘了|別忘了|记下|記下)[:：,，\s]*(?P<chinese>.+)|
    (?:覚えて(?:おいて)?|メモして(?:おいて)?|メモ)(?:ください|下さい|ね)?[:：、,]\s*(?P<japanese_after>.+)|
    (?:기억해|메모해?|적어)\s*(?:줘|주세요|두세요|둬)?\s*[:：,]\s*(?P<korean_after>.+)|
    (?P<japanese>.+?)(?:ということ)?(?:を|と|って)?(?:覚えて(?:おいて)?|おぼえて(?:おいて)?|メモして(?:おいて)?|忘れないで)(?:ください|下さい|ね)?[。!！\s]*|
    (?P<korean>.+?)(?:고|을|를)?\s*(?:기억해|메모해|잊지\s*마)(?:\s*(?:줘|주세요|두세요|세요))?[.!\s]*";

/// A question of another language is one about what is known: nothing else is understood of it.
const ASKED_IN_OTHER_LANGUAGES: &str = r"(?:¿.+\?|
    (?:wo|wer|wen|wem|was|wann|wie|welche[rsnm]?|wohin|woher|weißt du|
    où|qui|que|qu'est-ce|quand|quel(?:le)?s?|comment|dónde|quién|qué|cuándo|cuál|cómo|dove|chi|cosa|quando|quale|come|
    onde|quem|o que|qual|waar|wie|wat|wanneer|hoe|где|кто|что|когда|как|какой|πού|ποι[οό]ς|πότε|τι|أين|متى|ما|من)\b
    [^?؟]*[?؟]|
    .*[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}].*[?？])\s*";

fn listing(found: &Captures<'_>) -> Option<Wish> {
    let path = ["here", "path", "named", "slashed"].iter().find_map(|name| found.name(name));
    let path = path.map(|path| unquoted(path.as_str()).to_owned());
    let is_here = |path: &String| {
        ["workspace", "here", ".", "./", "it", "folder", "directory", "there"].contains(&path.as_str())
    };
    Some(Wish::List { path: path.filter(|path| !is_here(path)), recursive: found.name("deep").is_some() })
}

fn reading(found: &Captures<'_>) -> Option<Wish> {
    let path = &found["path"];
    let bare = unquoted(path);
    let is_quoted = bare.len() < path.len();
    let has_ending = bare.rsplit_once('.').is_some_and(|(name, ending)| {
        !name.is_empty()
            && (1..=8).contains(&ending.len())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
    });
    let is_called_file = found.name("file").is_some() || found.name("after").is_some();
    let only_reads = ["read", "cat"].contains(&text::lower(&found["verb"]).as_str());
    let is_pronoun =
        ["it", "this", "that", "them", "more", "me", "up", "on", "all", "files", "everything", "something"];
    let is_word = !is_pronoun.contains(&text::lower(bare).as_str());
    let is_file =
        has_ending || bare.contains('/') || is_quoted || (is_word && (is_called_file || only_reads));
    (is_file && !bare.contains("://")).then(|| Wish::Read(bare.to_owned()))
}

fn recalling(found: &Captures<'_>) -> Option<Wish> {
    let topic = ["all", "known", "topic", "asked"].iter().find_map(|name| found.name(name))?;
    Some(Wish::Recall(bare(topic.as_str()).to_owned()))
}

fn remembering(found: &Captures<'_>) -> Option<Wish> {
    let names = ["what", "chinese", "japanese_after", "korean_after", "japanese", "korean"];
    let what = names.iter().find_map(|name| found.name(name))?;
    let what = text::trim(what.as_str());
    let is_question = what.ends_with(['?', '？', '؟']);
    let points_back = ["that", "this", "it", "these", "those"].contains(&text::lower(bare(what)).as_str());
    // A bullet is one line, and ends as the speaker ended it.
    let what = if points_back { String::new() } else { text::collapse_spaces(what) };
    (!is_question).then_some(Wish::Remember(what))
}

fn unquoted(path: &str) -> &str {
    path.trim_matches(['“', '”', '‘', '’', '"', '\'', '`'])
}

/// Words without the marks at their ends.
fn bare(words: &str) -> &str {
    words.trim_matches(|c: char| text::is_space(c) || "?!.,:;…。？！".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Wish::{
        Agreement, Clock, Greeting, Heartbeat, Help, NewSession, Read, Recall, Remember, Status, Thanks,
        Unclear,
    };

    fn remember(what: &str) -> Wish {
        Remember(what.to_owned())
    }

    fn recall(topic: &str) -> Wish {
        Recall(topic.to_owned())
    }

    fn read(path: &str) -> Wish {
        Read(path.to_owned())
    }

    fn list(path: &str) -> Wish {
        let path = (!path.is_empty()).then(|| path.to_owned());
        Wish::List { path, recursive: false }
    }

    fn unclear(words: &str) -> Wish {
        Unclear(words.to_owned())
    }

    #[test]
    fn one_wish_is_read_in_a_few_spellings() {
        let table = [
            ("hi", Greeting),
            ("Hello there!", Greeting),
            ("Guten Morgen", Greeting),
            ("你好", Greeting),
            ("thanks a lot!", Thanks),
            ("Thank you so much for the help", Thanks),
            ("ok great", Agreement),
            ("Perfect!", Agreement),
            ("thanks, that is great", Thanks),
            ("yabby!", Greeting),
            ("note to self: pay rent", remember("pay rent")),
            ("help", Help),
            ("What can you do?", Help),
            ("who are you?", Help),
            ("what time is it?", Clock),
            ("What's the date today?", Clock),
            ("do you know what time it is", Clock),
            ("status", Status),
            ("show me the session status, please", Status),
            ("How full is the context?", Status),
            ("remember that my dog is called Rex.", remember("my dog is called Rex.")),
            ("Please remember: milk and\n eggs", remember("milk and eggs")),
            ("note the gate code is 1234", remember("the gate code is 1234")),
            ("Merk dir bitte, dass der Schlüssel bei Anna ist", remember("der Schlüssel bei Anna ist")),
            ("Souviens-toi que la clé est chez Anne", remember("la clé est chez Anne")),
            ("N'oublie pas : le loyer vendredi", remember("le loyer vendredi")),
            ("Recuerda que la llave la tiene Ana", remember("la llave la tiene Ana")),
            ("Ricordati che la chiave è da Anna", remember("la chiave è da Anna")),
            ("Lembre-se de que a chave está com a Ana", remember("a chave está com a Ana")),
            ("Onthoud dat de sleutel bij Anna ligt", remember("de sleutel bij Anna ligt")),
            ("Запомни, что ключ у Анны", remember("ключ у Анны")),
            ("تذكر أن المفتاح عند آنا", remember("المفتاح عند آنا")),
            ("Θυμήσου ότι το κλειδί είναι στην Άννα", remember("το κλειδί είναι στην Άννα")),
            ("请记住：钥匙在安娜那里", remember("钥匙在安娜那里")),
            ("鍵はアンナにあると覚えておいて", remember("鍵はアンナにある")),
            ("열쇠는 안나에게 있다고 기억해 줘", remember("열쇠는 안나에게 있다")),
            ("Bitte merke dir: Oma hat im Mai Geburtstag", remember("Oma hat im Mai Geburtstag")),
            ("覚えて：ゴミの日は火曜日", remember("ゴミの日は火曜日")),
            ("メモして：会議は三時", remember("会議は三時")),
            ("기억해: 쓰레기는 화요일", remember("쓰레기는 화요일")),
            ("Could you note down that Anna likes tea?", remember("Anna likes tea")),
            ("don’t forget to call Ben", remember("to call Ben")),
            ("Don't forget: rent on Friday", remember("rent on Friday")),
            ("remember", remember("")),
            ("Wo liegt der Schlüssel?", recall("Wo liegt der Schlüssel")),
            ("Où est le chat ?", recall("Où est le chat")),
            ("¿Dónde está la llave?", recall("¿Dónde está la llave")),
            ("Как зовут кошку?", recall("Как зовут кошку")),
            ("猫の名前は？", recall("猫の名前は")),
            ("我的狗叫什么？", recall("我的狗叫什么")),
            ("고양이 이름이 뭐야?", recall("고양이 이름이 뭐야")),
            ("what do you remember about my dog?", recall("my dog")),
            ("Do you remember where I parked?", recall("where I parked")),
            ("recall the gate code", recall("the gate code")),
            ("what is my dog's name?", recall("what is my dog's name")),
            ("what’s my name", recall("what’s my name")),
            ("when did I go to the dentist?", recall("when did I go to the dentist")),
            ("Where did we put the keys?", recall("Where did we put the keys")),
            ("who is Anna?", recall("who is Anna")),
            ("remember when we met?", recall("remember when we met")),
            ("what do you remember?", recall("")),
            ("do you know my birthday", recall("my birthday")),
            ("remind me what the code is", recall("the code is")),
            ("list files", list("")),
            ("ls", list("")),
            ("ls memory/", list("memory/")),
            ("What files are in the notes folder?", list("notes")),
            ("list the files in \"my notes\"", list("my notes")),
            ("what files do you have", list("")),
            ("show me all files in memory", list("memory")),
            ("list files in the workspace", list("")),
            ("read notes.txt", read("notes.txt")),
            ("Show me MEMORY.md.", read("MEMORY.md")),
            ("open `a b.md`", read("a b.md")),
            ("open 'a b.md'", read("a b.md")),
            ("read the file README", read("README")),
            ("read README", read("README")),
            ("open the door", unclear("open the door")),
            ("show up", unclear("show up")),
            ("read https://example.org/x.html", unclear("read https://example.org/x.html")),
            ("list price is 5", unclear("list price is 5")),
            ("write me a poem", unclear("write me a poem")),
            ("Schreib mir ein Gedicht", unclear("Schreib mir ein Gedicht")),
            ("notes are fine", unclear("notes are fine")),
            (BARE_RESET, NewSession),
            ("Check in. If nothing, reply HEARTBEAT_OK", Heartbeat),
        ];
        for (message, expected) in table {
            assert_eq!(wishes(message), [expected], "{message}");
        }
        assert_eq!(wishes(" \n"), []);
    }

    #[test]
    fn a_message_is_cut_only_where_another_wish_begins() {
        let table: [(&str, &[Wish]); 12] = [
            ("remember that I like bread and butter", &[remember("I like bread and butter")]),
            ("remember X and list files", &[remember("X"), list("")]),
            ("Hi! Remember that Anna likes tea. Thanks!", &[remember("Anna likes tea")]),
            (
                "list files, then read a.md and what do you remember about tea?",
                &[list(""), read("a.md"), recall("tea")],
            ),
            (
                "remember my dog is Rex. He is three years old.",
                &[remember("my dog is Rex. He is three years old.")],
            ),
            ("I moved to Berlin. Remember that!", &[remember("I moved to Berlin")]),
            ("note A\nnote B\nnote A", &[remember("A"), remember("B")]),
            ("what is my name? and what files are there?", &[recall("what is my name"), list("")]),
            ("yabby, what files are there", &[list("")]),
            ("It rains. Status?", &[unclear("It rains"), Status]),
            ("hi, thanks", &[Greeting]),
            ("hello", &[Greeting]),
        ];
        for (message, expected) in table {
            assert_eq!(wishes(message), expected, "{message}");
        }
    }
}
