//! Doing what the model wants done.
//!
//! Calls of one answer are made side by side; their results stand in the order of the calls. A call that
//! may leave something behind is on record before it is made: after a crash nobody makes it again.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::join_all;
use yabby_domain::json::{Object, Value};
use yabby_domain::message::Message;
use yabby_domain::seam::StoreError;
use yabby_domain::seam::model::Purpose;
use yabby_domain::seam::tool::{Company, Effect, Sent, Tool, ToolContext, ToolOutput};
use yabby_domain::secrets::Secrets;
use yabby_domain::turn::Step;

use super::answer::Call;
use super::request::RunRequest;
use crate::events::EventKind;
use crate::hooks::{HookEvent, HookPoint};
use crate::office::SessionOffice;

/// What calls came to.
pub(crate) struct Done {
    pub(crate) results: Vec<Message>,
    pub(crate) sent: Vec<Sent>,
}

/// Makes the calls of an answer.
pub(crate) async fn call_tools(request: &RunRequest<'_>, calls: Vec<Call>) -> Result<Done, StoreError> {
    let tools: Vec<Option<Arc<dyn Tool>>> = calls.iter().map(|call| request.tool(&call.name)).collect();
    let lasting = tools.iter().flatten().any(|tool| tool.effect() == Effect::Lasting);
    let begun = calls.iter().map(|call| Step::ToolBegun { call: call.id.clone(), tool: call.name.clone() });
    let log = &request.engine.0.log;
    match lasting {
        true => log.keep(request.turn, begun).await?,
        false => log.note(request.turn, begun).await?,
    }
    let made = calls.iter().zip(tools).map(|(call, tool)| make(request, call, tool));
    let made = join_all(made).await;
    let ended = calls.iter().map(|call| Step::ToolEnded { call: call.id.clone() });
    log.note(request.turn, ended).await?;
    let mut done = Done { results: Vec::new(), sent: Vec::new() };
    for (call, output) in calls.iter().zip(made) {
        done.sent.extend(output.sent.iter().cloned());
        let message = result(call, output, request.engine.now_ms());
        let message = request
            .engine
            .0
            .hooks
            .tool_result(request.opened.key.as_str(), &call.name, &call.id, message)
            .await;
        let told =
            EventKind::ToolEnded { call: call.id.clone(), tool: call.name.clone(), result: message.clone() };
        request.engine.tell(&request.opened.key, Some(request.turn), told);
        done.results.push(message);
    }
    Ok(done)
}

/// Makes one call, unless somebody objects.
async fn make(request: &RunRequest<'_>, call: &Call, tool: Option<Arc<dyn Tool>>) -> ToolOutput {
    let RunRequest { engine, opened, turn, .. } = request;
    let arguments = call.arguments.clone().map_or(Value::Null, Value::Object);
    let started = EventKind::ToolStarted { call: call.id.clone(), tool: call.name.clone(), arguments };
    engine.tell(&opened.key, Some(turn), started);
    let Some(tool) = tool else {
        return ToolOutput::error(&format!("There is no tool {:?} here.", call.name));
    };
    let Some(arguments) = call.arguments.clone() else {
        return ToolOutput::error(
            "The arguments could not be read: they are not a JSON object. Make the call again with one.",
        );
    };
    let arguments = match engine.0.hooks.tool_call(opened.key.as_str(), &call.name, arguments).await {
        Ok(arguments) => arguments,
        Err(why) => return ToolOutput::error(&format!("The call was refused: {why}")),
    };
    let began = Instant::now();
    let output = without_secrets(run(request, call, &*tool, &arguments).await, &engine.0.secrets);
    if engine.0.hooks.has(HookPoint::AfterToolCall) {
        engine.0.hooks.tell(HookEvent::AfterToolCall {
            session_key: opened.key.as_str().to_owned(),
            tool_name: call.name.clone(),
            params: arguments,
            error: output.is_error.then(|| said(&output)),
            result: told(&output),
            duration_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
        });
    }
    output
}

/// What a tool tells, without what nobody is to see: it goes into the transcript, to the model and to hooks.
fn without_secrets(output: ToolOutput, secrets: &Secrets) -> ToolOutput {
    let hide = |value: Value| secrets.redact_value(value);
    ToolOutput {
        blocks: output.blocks.into_iter().map(hide).collect(),
        details: output.details.map(hide),
        ..output
    }
}

/// What a call came to, as hooks are told.
fn told(output: &ToolOutput) -> Object {
    let mut told = Object::new();
    told.insert("content".to_owned(), output.blocks.clone().into());
    if let Some(details) = &output.details {
        told.insert("details".to_owned(), details.clone());
    }
    told
}

fn said(output: &ToolOutput) -> String {
    let texts = output.blocks.iter().filter_map(|block| block.get("text")?.as_str());
    texts.collect::<Vec<_>>().join("\n")
}

async fn run(request: &RunRequest<'_>, call: &Call, tool: &dyn Tool, arguments: &Object) -> ToolOutput {
    let opened = &request.opened;
    let context = ToolContext {
        config: opened.config.clone(),
        office: Arc::new(SessionOffice::new(request, &call.id)),
        address: request.address.clone(),
        is_confined: request.is_confined(),
        call: call.id.clone(),
        company: match (request.purpose, request.company()) {
            // It puts down what the agent is to remember, and looks at nothing.
            (Purpose::Flush, Company::Others) => Company::OthersNoted,
            (_, company) => company,
        },
        sees_images: request.choice.info.images,
        agent: request.agent.clone(),
        session_key: opened.key.clone(),
        session_id: opened.session_id.clone(),
        workspace: opened.home.workspace.clone(),
        now: request.engine.now(),
        sender_is_owner: request.sender_is_owner,
        status: request.status.clone(),
    };
    let calling = AssertUnwindSafe(tool.call(arguments, &context)).catch_unwind();
    tokio::select! {
        biased;
        () = request.control.cancel.cancelled() => ToolOutput::error("The user stopped this call. It may or may not have done its work."),
        () = tokio::time::sleep_until(request.deadline) => ToolOutput::error("The call took too long and was given up. It may or may not have done its work."),
        output = calling => output.unwrap_or_else(|_| ToolOutput::error("The tool failed. It may or may not have done its work.")),
    }
}

/// The result as it stands in the transcript.
fn result(call: &Call, output: ToolOutput, now: i64) -> Message {
    let mut message = Message::default();
    message.set("role", "toolResult");
    message.set("toolCallId", call.id.as_str());
    message.set("toolName", call.name.as_str());
    message.set("content", output.blocks);
    if let Some(details) = output.details {
        message.set("details", details);
    }
    message.set("isError", output.is_error);
    message.set("timestamp", now);
    message
}

/// The result of a call that is not made.
pub(crate) fn refused(call: &Call, why: &str, now: i64) -> Message {
    result(call, ToolOutput::error(&format!("This call was not made. {why}")), now)
}

/// The result of a call that a crash interrupted; `ended` tells whether the call came to its end, if it
/// began at all.
pub(crate) fn interrupted(call: &Call, ended: Option<bool>, effect: Effect, now: i64) -> Message {
    let text = match (ended, effect) {
        (None, _) => "This call was not made: the program was stopped before it began.",
        (Some(_), Effect::None) => {
            "This call was interrupted: the program was stopped. It changed nothing, and may be made again."
        }
        (Some(false), Effect::Lasting) => {
            "This call was interrupted: the program was stopped while it was being made. It may or may not have done its work. Look before you make it again."
        }
        (Some(true), Effect::Lasting) => {
            "This call was made, but the program was stopped before its result was kept. Look at what it did; do not make it again."
        }
    };
    result(call, ToolOutput::error(text), now)
}
