//! Days in questions of Chinese, Japanese and Korean, where no space tells them from what is asked about them.

use std::sync::LazyLock;

use crate::analysis::{self, Word};

/// The days, and what they are in words of which [`super::dates`] knows. Longer ones stand before their parts.
const DAYS: [(&str, &[&str]); 31] = [
    ("一昨日", &["ereyesterday"]),
    ("おととい", &["ereyesterday"]),
    ("昨日", &["yesterday"]),
    ("きのう", &["yesterday"]),
    ("昨夜", &["yesterday"]),
    ("今日", &["today"]),
    ("本日", &["today"]),
    ("先週", &["last", "week"]),
    ("今週", &["this", "week"]),
    ("先月", &["last", "month"]),
    ("今月", &["this", "month"]),
    ("昨天", &["yesterday"]),
    ("今天", &["today"]),
    ("前天", &["ereyesterday"]),
    ("上个星期", &["last", "week"]),
    ("上個星期", &["last", "week"]),
    ("上星期", &["last", "week"]),
    ("上周", &["last", "week"]),
    ("上週", &["last", "week"]),
    ("这周", &["this", "week"]),
    ("這週", &["this", "week"]),
    ("本周", &["this", "week"]),
    ("上个月", &["last", "month"]),
    ("上個月", &["last", "month"]),
    ("그저께", &["ereyesterday"]),
    ("어제", &["yesterday"]),
    ("오늘", &["today"]),
    ("지난주", &["last", "week"]),
    ("이번주", &["this", "week"]),
    ("지난달", &["last", "month"]),
    ("去年", &["last", "year"]),
];

/// What people ask with when they ask for all that was noted or said, and for nothing else.
const TELLING: [&str; 78] = [
    "書きました",
    "書いた",
    "書いて",
    "書き",
    "メモ",
    "ノート",
    "しました",
    "した",
    "して",
    "言いました",
    "言った",
    "話しました",
    "話した",
    "記録",
    "ありました",
    "あった",
    "起きた",
    "教えて",
    "見せて",
    "なに",
    "何",
    "って",
    "私",
    "僕",
    "を",
    "は",
    "が",
    "の",
    "に",
    "か",
    "と",
    "も",
    "什么",
    "什麼",
    "笔记",
    "筆記",
    "发生",
    "發生",
    "哪些",
    "我",
    "你",
    "们",
    "們",
    "记",
    "記",
    "录",
    "錄",
    "了",
    "说",
    "說",
    "写",
    "寫",
    "过",
    "過",
    "的",
    "下",
    "做",
    "聊",
    "讲",
    "講",
    "有",
    "吗",
    "嗎",
    "呢",
    "都",
    "뭐",
    "뭘",
    "무엇",
    "무슨",
    "내가",
    "나는",
    "우리",
    "적었",
    "썼",
    "메모",
    "기록",
    "말했",
    "했",
];

/// The words of a question with its days as words of their own.
pub(super) fn with_days_apart(words: Vec<Word>) -> Vec<Word> {
    static FOLDED: LazyLock<Vec<(String, &[&str])>> =
        LazyLock::new(|| DAYS.iter().map(|(day, english)| (analysis::folded(day), *english)).collect());
    if !words.iter().any(Word::is_unspaced) {
        return words;
    }
    let mut apart = Vec::with_capacity(words.len() + 2);
    for word in words {
        let found = FOLDED.iter().filter(|_| word.is_unspaced()).find_map(|(day, english)| {
            let at = word.folded.find(day.as_str())?;
            (at == 0 || !word.is_hangul()).then_some((at, day.len(), *english))
        });
        let Some((at, length, english)) = found else {
            apart.push(word);
            continue;
        };
        let (before, after) = (&word.folded[..at], &word.folded[at + length..]);
        if !before.is_empty() {
            apart.push(word.part(before));
        }
        apart.extend(english.iter().map(|english| Word::spaced(english)));
        // Behind a Korean day stands nothing but a particle.
        let after = after.trim_start_matches(['の', 'は', 'に', 'も', '的']);
        if !after.is_empty() && !word.is_hangul() {
            apart.push(word.part(after));
        }
    }
    apart
}

/// Whether a word of a script without spaces only asks what was noted or said.
pub(super) fn only_tells(word: &Word) -> bool {
    static FOLDED: LazyLock<Vec<String>> =
        LazyLock::new(|| TELLING.iter().map(|telling| analysis::folded(telling)).collect());
    if word.is_hangul() {
        return FOLDED.iter().any(|telling| word.folded.starts_with(telling));
    }
    let mut rest = word.folded.as_str();
    while !rest.is_empty() {
        match FOLDED.iter().find_map(|telling| rest.strip_prefix(telling.as_str())) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    true
}
