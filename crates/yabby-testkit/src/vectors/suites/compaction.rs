//! `compaction.json`.

use serde_json::json;
use yabby_domain::compaction::branch::{self as left_branch, BranchPreparation};
use yabby_domain::compaction::cut::{find_cut_point, find_turn_start};
use yabby_domain::compaction::files::{FileLists, FileOperations, FileSet};
use yabby_domain::compaction::prepare::{Preparation, prepare};
use yabby_domain::compaction::summary::{Answers, Focus, Reasoning, SummaryCall, SummaryKind, plan};
use yabby_domain::compaction::{Settings, is_due, reserve, safeguard, summary, tokens};
use yabby_domain::config::Config;
use yabby_domain::json::{self, Value};
use yabby_domain::message::Message;
use yabby_domain::transcript::context::for_model;
use yabby_domain::transcript::entry::Entry;

use super::list_rows;
use crate::vectors::{Case, Difference, Suite};

pub const SUITE: Suite =
    Suite { file: "compaction.json", cases, answer, differences: &[MISSING_USAGE_PARTS, EMPTY_COMPACTION] };

fn cases(document: &Value) -> Vec<Case> {
    list_rows(document, &[("conversation", "conversations"), ("set", "messageSets")], expected)
}

fn expected(rule: &str, row: &Value) -> Value {
    let pick = |fields: &[&str]| -> Value {
        fields.iter().map(|field| ((*field).to_owned(), row[*field].clone())).collect()
    };
    match rule {
        "estimateTokens" | "calculateContextTokens" => row["tokens"].clone(),
        "serializeConversation" | "formatFileOperations" => row["text"].clone(),
        "splitMessagesByTokenShare" | "chunkMessagesByMaxTokens" => row["sizes"].clone(),
        "computeAdaptiveChunkRatio" => row["ratio"].clone(),
        "reserveTokensFloor" => pick(&["floor", "effective", "didOverride"]),
        "compact" => {
            let mut expected = pick(&["modelCalls", "result"]);
            for call in expected["modelCalls"].as_array_mut().into_iter().flatten() {
                // Our instructions are in our own words; what follows them is compared.
                let tail = call["promptTail"].as_str().unwrap_or_default();
                call["promptTail"] = tail.split_once(" instructions>").map_or(tail, |(_, rest)| rest).into();
            }
            expected
        }
        "generateBranchSummary" => pick(&["maxTokens", "promptHead", "result"]),
        _ => row["expected"].clone(),
    }
}

fn answer(case: &Case) -> Option<Value> {
    let number = |field: &str| case.arg(field).as_f64().unwrap_or_default();
    let whole = |field: &str| number(field) as u64;
    let index = |field: &str| number(field) as usize;
    Some(match case.rule.as_str() {
        "estimateTokens" => tokens::estimate(&message(case.arg("message"))).into(),
        "calculateContextTokens" => json::number(tokens::context_tokens(case.arg("usage"))),
        "shouldCompact" => {
            is_due(number("contextTokens"), whole("contextWindow"), &settings(case.arg("settings"))).into()
        }
        "estimateContextTokens" => context_estimate(&messages(case.arg("messages"))),
        "findCutPoint" => {
            let range = index("startIndex")..index("endIndex");
            let cut = find_cut_point(&branch(&conversation(case)), range, whole("keepRecentTokens"));
            json!({
                "firstKeptEntryIndex": cut.first_kept,
                "turnStartIndex": or_minus_one(cut.split_turn_start),
                "isSplitTurn": cut.split_turn_start.is_some(),
            })
        }
        "findTurnStartIndex" => or_minus_one(find_turn_start(
            &branch(&conversation(case)),
            index("entryIndex"),
            index("startIndex"),
        )),
        "prepareCompaction" => prepare(&branch(&conversation(case)), &settings(case.arg("settings")))
            .map_or(Value::Null, preparation),
        "getLastAssistantUsage" => {
            let entries = conversation(case);
            entries.iter().rev().find_map(tokens::reported_usage).unwrap_or_default()
        }
        "serializeConversation" => {
            summary::conversation_text(&for_model(messages(case.arg("messages")))).into()
        }
        "convertToLlm" => {
            for_model(messages(case.arg("messages"))).into_iter().map(Message::into_value).collect()
        }
        "formatFileOperations" => {
            let lists =
                FileLists { read: texts(case.arg("readFiles")), modified: texts(case.arg("modifiedFiles")) };
            lists.sections().into()
        }
        "computeFileLists" => {
            let set = |name: &str| file_set(&case.arg("fileOps")[name]);
            let files = FileOperations { read: set("read"), written: set("written"), edited: set("edited") };
            file_lists(&files.lists())
        }
        "compact" => compact(case),
        "prepareBranchEntries" => {
            let budget = Some(whole("tokenBudget")).filter(|budget| *budget > 0);
            branch_preparation(&left_branch::prepare(&branch(&conversation(case)), budget))
        }
        "generateBranchSummary" => branch_summary(case),
        "splitMessagesByTokenShare" => {
            sizes(&safeguard::split_by_token_share(&messages(case.arg("set")), index("parts")))
        }
        "chunkMessagesByMaxTokens" => {
            sizes(&safeguard::chunk_by_max_tokens(&messages(case.arg("set")), whole("maxTokens")))
        }
        "computeAdaptiveChunkRatio" => {
            safeguard::adaptive_chunk_ratio(&messages(case.arg("set")), whole("contextWindow")).into()
        }
        "pruneHistoryForContextShare" => {
            let share = case.arg("maxHistoryShare").as_f64().unwrap_or(safeguard::DEFAULT_HISTORY_SHARE);
            let messages = messages(case.arg("set"));
            let pruned = safeguard::prune_to_share(&messages, whole("maxContextTokens"), share);
            json!({
                "kept": pruned.kept.len(),
                "droppedChunks": pruned.rounds,
                "droppedMessages": pruned.dropped.len(),
                "droppedTokens": pruned.dropped_tokens,
                "keptTokens": pruned.kept_tokens,
                "budgetTokens": pruned.budget_tokens,
            })
        }
        "isOversizedForSummary" => {
            safeguard::is_oversized(&message(case.arg("message")), whole("contextWindow")).into()
        }
        "reserveTokensFloor" => {
            let floor = reserve::floor_from_config(&Config::new(case.arg("config").clone()));
            let reserve = reserve::reserve(whole("piDefault"), floor);
            json!({"floor": floor, "effective": reserve.tokens, "didOverride": reserve.raised})
        }
        _ => return None,
    })
}

pub fn context_estimate(messages: &[Message]) -> Value {
    let estimate = tokens::estimate_context(messages);
    json!({
        "tokens": json::number(estimate.tokens()),
        "usageTokens": json::number(estimate.reported),
        "trailingTokens": estimate.trailing,
        "lastUsageIndex": estimate.reported_at,
    })
}

fn message(value: &Value) -> Message {
    Message::from_value(value.clone()).unwrap_or_default()
}

fn messages(list: &Value) -> Vec<Message> {
    list.as_array().into_iter().flatten().map(message).collect()
}

fn conversation(case: &Case) -> Vec<Entry> {
    let entries = case.arg("conversation").as_array().into_iter().flatten();
    entries.filter_map(Value::as_object).cloned().map(Entry::from_object).collect()
}

fn branch(entries: &[Entry]) -> Vec<&Entry> {
    entries.iter().collect()
}

fn settings(value: &Value) -> Settings {
    let number = |field: &str| value[field].as_f64().unwrap_or_default() as u64;
    Settings {
        enabled: value["enabled"].as_bool().unwrap_or_default(),
        reserve_tokens: number("reserveTokens"),
        keep_recent_tokens: number("keepRecentTokens"),
    }
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn or_minus_one(index: Option<usize>) -> Value {
    index.map_or_else(|| Value::from(-1), Value::from)
}

fn roles(messages: &[Message]) -> Value {
    messages.iter().map(|message| message.get("role").cloned().unwrap_or_default()).collect()
}

fn sizes(chunks: &[&[Message]]) -> Value {
    chunks.iter().map(|chunk| Value::from(chunk.len())).collect()
}

fn file_set(list: &Value) -> FileSet {
    let mut set = FileSet::default();
    set.extend(texts(list).iter().map(String::as_str));
    set
}

pub fn file_operations(files: &FileOperations) -> Value {
    let list = |set: &FileSet| set.iter().map(Value::from).collect::<Value>();
    json!({"read": list(&files.read), "written": list(&files.written), "edited": list(&files.edited)})
}

fn file_lists(lists: &FileLists) -> Value {
    json!({"readFiles": lists.read, "modifiedFiles": lists.modified})
}

fn preparation(prepared: Preparation) -> Value {
    json!({
        "firstKeptEntryId": prepared.first_kept_entry_id,
        "isSplitTurn": prepared.splits_turn,
        "tokensBefore": json::number(prepared.tokens_before),
        "messagesToSummarize": roles(&prepared.history),
        "turnPrefixMessages": roles(&prepared.turn_prefix),
        "previousSummary": prepared.previous_summary,
        "fileOps": file_operations(&prepared.files),
        "fileLists": file_lists(&prepared.files.lists()),
    })
}

/// A compaction whose model answers `SUMMARY-1`, `SUMMARY-2`, … in call order.
fn compact(case: &Case) -> Value {
    let Some(prepared) = prepare(&branch(&conversation(case)), &settings(case.arg("settings"))) else {
        return nothing_compacted();
    };
    let Ok(plan) = plan(&prepared, case.text("customInstructions")) else {
        return nothing_compacted();
    };
    let calls: Vec<Value> =
        [plan.history_call(), plan.turn_prefix_call()].into_iter().flatten().map(model_call).collect();
    let prefix_answer = format!("SUMMARY-{}", calls.len());
    let answers = Answers { history: "SUMMARY-1".to_owned(), turn_prefix: prefix_answer };
    let made = plan.assemble(answers);
    json!({
        "modelCalls": calls,
        "result": {
            "summary": made.summary,
            "firstKeptEntryId": made.first_kept_entry_id,
            "tokensBefore": json::number(made.tokens_before),
            "details": file_lists(&made.files),
        },
    })
}

fn model_call(call: &SummaryCall) -> Value {
    let kind = match call.kind {
        SummaryKind::Initial => "initial",
        SummaryKind::Update => "update",
        SummaryKind::TurnPrefix => "turn-prefix",
        SummaryKind::Branch => "branch",
    };
    let instructions = call.instructions();
    json!({
        "kind": kind,
        "promptHead": call.prompt().strip_suffix(&instructions),
        "promptTail": instructions.strip_prefix(call.kind.instructions()),
        "maxTokens": call.max_tokens,
        "reasoning": match call.reasoning { Reasoning::High => Some("high"), Reasoning::Unset => None },
    })
}

fn nothing_compacted() -> Value {
    json!({"modelCalls": [], "result": null})
}

fn branch_preparation(prepared: &BranchPreparation) -> Value {
    json!({
        "roles": roles(&prepared.messages),
        "totalTokens": prepared.tokens,
        "fileOps": file_operations(&prepared.files),
    })
}

fn branch_summary(case: &Case) -> Value {
    let budget = left_branch::token_budget(None, Settings::default().reserve_tokens);
    let prepared = left_branch::prepare(&branch(&conversation(case)), budget);
    match prepared.call(Focus::None) {
        None => {
            let made = prepared.assemble(None);
            json!({"maxTokens": null, "promptHead": null, "result": {"summary": made.summary}})
        }
        Some(call) => {
            let made = prepared.assemble(Some("SUMMARY-1"));
            let mut result = file_lists(&made.files);
            result["summary"] = made.summary.into();
            json!({"maxTokens": call.max_tokens, "promptHead": call.material, "result": result})
        }
    }
}

/// Parts that a usage lacks count as nothing; the reference gets lost in NaN.
const MISSING_USAGE_PARTS: Difference = Difference {
    name: "usage-without-cache-fields",
    applies: |case| {
        let rules = ["calculateContextTokens", "estimateContextTokens", "prepareCompaction", "compact"];
        rules.contains(&case.rule.as_str()) && usages(&case.input).any(|usage| complete(usage) != *usage)
    },
    expected: |case| {
        let mut completed = case.clone();
        complete_usages(&mut completed.input);
        answer(&completed).unwrap_or_default()
    },
};

const USAGE_PARTS: [&str; 4] = ["input", "output", "cacheRead", "cacheWrite"];

/// Every usage of an input, of its own or in messages and entries.
fn usages(input: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    let own = input.get("usage").into_iter();
    let message = input.get("message").into_iter();
    let lists = ["messages", "conversation"].into_iter().filter_map(|field| input.get(field)?.as_array());
    Box::new(own.chain(message.chain(lists.flatten()).flat_map(usages)))
}

fn complete_usages(input: &mut Value) {
    if let Some(usage) = input.get_mut("usage") {
        *usage = complete(usage);
    }
    if let Some(message) = input.get_mut("message") {
        complete_usages(message);
    }
    for field in ["messages", "conversation"] {
        input.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten().for_each(complete_usages);
    }
}

/// The usage with every part, where the reference would have to add them up.
pub fn complete(usage: &Value) -> Value {
    let mut usage = usage.clone();
    let has_total = usage.get("totalTokens").is_some_and(json::truthy);
    if let Some(usage) = usage.as_object_mut().filter(|_| !has_total) {
        for part in USAGE_PARTS {
            usage.entry(part).or_insert_with(|| 0.into());
        }
    }
    usage
}

/// A compaction with nothing to summarise is reported; the reference asks the model for a summary of
/// nothing and changes nothing. Whether there is anything is asked of our own rule, which the cases of
/// `prepareCompaction` hold against the reference.
const EMPTY_COMPACTION: Difference = Difference {
    name: "empty-compaction-is-reported",
    applies: |case| {
        let prepared = || prepare(&branch(&conversation(case)), &settings(case.arg("settings")));
        case.rule == "compact" && prepared().is_some_and(|prepared| prepared.summarizes_nothing())
    },
    expected: |_| nothing_compacted(),
};
