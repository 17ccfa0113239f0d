//! What can be asked for (`gateway.md` §3, §5–§7): one table, and a file for each method.
//!
//! Who may ask stands beside each method; what is advertised to clients, and the list in the documentation, are
//! this table.

mod agent;
mod agent_files;
mod agent_identity_get;
mod agent_wait;
mod agents_files_get;
mod agents_files_list;
mod agents_files_set;
mod agents_list;
mod attachments;
mod channels_logout;
mod channels_status;
mod chat_abort;
mod chat_history;
mod chat_inject;
mod chat_send;
mod config_apply;
mod config_edit;
mod config_get;
mod config_patch;
mod config_schema;
mod config_set;
mod connect;
mod device_pair_approve;
mod device_pair_list;
mod device_pair_reject;
mod device_token_revoke;
mod device_token_rotate;
mod exec_approval_request;
mod exec_approval_resolve;
mod exec_approvals_get;
mod exec_approvals_node_get;
mod exec_approvals_node_set;
mod exec_approvals_set;
mod health;
mod later;
mod logs_tail;
mod memory_search;
mod memory_status;
mod models_list;
mod node_describe;
mod node_event;
mod node_invoke;
mod node_invoke_result;
mod node_list;
mod node_pair_approve;
mod node_pair_list;
mod node_pair_reject;
mod node_pair_request;
mod node_pair_verify;
mod node_rename;
mod remembering;
mod send;
mod sessions_compact;
mod sessions_delete;
mod sessions_fork;
mod sessions_list;
mod sessions_patch;
mod sessions_preview;
mod sessions_reset;
mod sessions_resolve;
mod sessions_search;
mod sessions_tree;
mod sessions_undo_compaction;
mod skills;
mod skills_bins;
mod skills_status;
mod skills_update;
mod status;
mod system_event;
mod system_presence;
mod usage_cost;
mod usage_status;

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use yabby_domain::device::Role;
use yabby_domain::json::Value;

use crate::frames::{self, Payload, Refusal, Request};
use crate::hub::{ADMIN, APPROVALS, Client, PAIRING};
use crate::in_turn::Turn;
use crate::kept::Moment;
use crate::schema::Schema;
use crate::{Gateway, unpoisoned};

/// Something that can be asked for.
pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) access: Access,
    pub(crate) listing: Listing,
    pub(crate) params: Schema,
    /// What it does, for the documentation.
    pub(crate) about: &'static str,
    pub(crate) answer: Handler,
}

/// Whether the answer to a method takes as long as a run or a person does. A client may ask for many of these, and
/// is heard all the same.
pub(crate) fn is_patient(name: &str) -> bool {
    [agent::METHOD.name, agent_wait::METHOD.name, exec_approval_request::METHOD.name].contains(&name)
}

pub(crate) type Handler = fn(Call) -> Pin<Box<dyn Answering>>;

/// A call that is being answered, with a value or with a payload that is written already.
pub(crate) trait Answering: Send {
    fn poll_payload(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Payload, Refusal>>;
}

impl<F, P> Answering for F
where
    F: Future<Output = Result<P, Refusal>> + Send,
    P: Into<Payload>,
{
    fn poll_payload(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Payload, Refusal>> {
        self.poll(cx).map_ok(P::into)
    }
}

/// Who may ask for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    Admin,
    Pairing,
    Approvals,
    /// Nodes, and nobody else.
    Node,
}

impl Access {
    /// Whether an answer may be long, so that only a few are made for a client at once. Whoever says something or
    /// stops it is answered in a few words, and must not wait behind lists.
    fn may_be_long(self) -> bool {
        !matches!(self, Self::Write | Self::Approvals)
    }
}

/// Whether clients are told that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    Advertised,
    Known,
}

/// How long somebody may wait for a run or a person.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);
/// Why somebody who left gets no answer.
const LEFT: &str = "Error: the connection was closed";

/// A request, for a method.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) client: Arc<Client>,
    /// The name of the request.
    pub(crate) id: String,
    /// As the method's schema has it.
    pub(crate) params: Value,
    /// When the request came.
    pub(crate) came: Moment,
    after: After,
}

/// What is done once the answer to a request is on its way: what comes of a request is told after its answer.
#[derive(Clone, Default)]
pub(crate) struct After(Arc<Mutex<Option<Act>>>);

type Act = Box<dyn FnOnce() + Send>;

impl After {
    /// The answer is on its way.
    pub(crate) fn answered(&self) {
        let act = unpoisoned(&self.0).take();
        if let Some(act) = act {
            act();
        }
    }
}

impl Call {
    /// Answers before the answer.
    pub(crate) fn answer_first(&self, payload: Value) {
        self.client.out.send(frames::response(self.id.clone().into(), Ok(payload)));
    }

    /// Waits until whatever this client sent to a session before is accepted. What it sends is accepted in the order
    /// in which it came, so this is called before anything is waited for.
    pub(crate) fn turn_in(&self, key: &str) -> impl Future<Output = Option<Turn>> + Send + use<> {
        self.client.accepting.turn(self.gateway.address(key).key.as_str())
    }

    /// Does something once the answer is on its way.
    pub(crate) fn after_answer(&self, act: impl FnOnce() + Send + 'static) {
        *unpoisoned(&self.after.0) = Some(Box::new(act));
    }

    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.params.get(name)?.as_str()
    }

    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        self.params.get(name)?.as_bool()
    }

    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.params.get(name)?.as_f64()
    }
}

/// In the order in which they are advertised: those of the reference as it has them, then ours; those that are only
/// known come last.
static METHODS: &[&Method] = &[
    &health::METHOD,
    &logs_tail::METHOD,
    &channels_status::METHOD,
    &channels_logout::METHOD,
    &status::METHOD,
    &usage_status::METHOD,
    &usage_cost::METHOD,
    &later::TTS_STATUS,
    &later::TTS_PROVIDERS,
    &later::TTS_ENABLE,
    &later::TTS_DISABLE,
    &later::TTS_CONVERT,
    &later::TTS_SET_PROVIDER,
    &config_get::METHOD,
    &config_set::METHOD,
    &config_apply::METHOD,
    &config_patch::METHOD,
    &config_schema::METHOD,
    &exec_approvals_get::METHOD,
    &exec_approvals_set::METHOD,
    &exec_approvals_node_get::METHOD,
    &exec_approvals_node_set::METHOD,
    &exec_approval_request::METHOD,
    &exec_approval_resolve::METHOD,
    &later::WIZARD_START,
    &later::WIZARD_NEXT,
    &later::WIZARD_CANCEL,
    &later::WIZARD_STATUS,
    &later::TALK_MODE,
    &models_list::METHOD,
    &agents_list::METHOD,
    &agents_files_list::METHOD,
    &agents_files_get::METHOD,
    &agents_files_set::METHOD,
    &skills_status::METHOD,
    &skills_bins::METHOD,
    &later::SKILLS_INSTALL,
    &skills_update::METHOD,
    &later::UPDATE_RUN,
    &later::VOICEWAKE_GET,
    &later::VOICEWAKE_SET,
    &sessions_list::METHOD,
    &sessions_preview::METHOD,
    &sessions_patch::METHOD,
    &sessions_reset::METHOD,
    &sessions_delete::METHOD,
    &sessions_compact::METHOD,
    &later::LAST_HEARTBEAT,
    &later::SET_HEARTBEATS,
    &later::WAKE,
    &node_pair_request::METHOD,
    &node_pair_list::METHOD,
    &node_pair_approve::METHOD,
    &node_pair_reject::METHOD,
    &node_pair_verify::METHOD,
    &device_pair_list::METHOD,
    &device_pair_approve::METHOD,
    &device_pair_reject::METHOD,
    &device_token_rotate::METHOD,
    &device_token_revoke::METHOD,
    &node_rename::METHOD,
    &node_list::METHOD,
    &node_describe::METHOD,
    &node_invoke::METHOD,
    &node_invoke_result::METHOD,
    &node_event::METHOD,
    &later::CRON_LIST,
    &later::CRON_STATUS,
    &later::CRON_ADD,
    &later::CRON_UPDATE,
    &later::CRON_REMOVE,
    &later::CRON_RUN,
    &later::CRON_RUNS,
    &system_presence::METHOD,
    &system_event::METHOD,
    &send::METHOD,
    &agent::METHOD,
    &agent_identity_get::METHOD,
    &agent_wait::METHOD,
    &later::BROWSER_REQUEST,
    &chat_history::METHOD,
    &chat_abort::METHOD,
    &chat_send::METHOD,
    &sessions_tree::METHOD,
    &sessions_fork::METHOD,
    &sessions_undo_compaction::METHOD,
    &sessions_search::METHOD,
    &memory_status::METHOD,
    &memory_search::METHOD,
    &sessions_resolve::METHOD,
    &chat_inject::METHOD,
    &later::POLL,
    &later::WEB_LOGIN_START,
    &later::WEB_LOGIN_WAIT,
    &connect::METHOD,
];

/// What clients are told that they can ask for.
pub(crate) fn advertised() -> Vec<&'static str> {
    let listed = METHODS.iter().filter(|method| method.listing == Listing::Advertised);
    listed.map(|method| method.name).collect()
}

/// Answers a request, if whoever asks may.
pub(crate) async fn answer(
    gateway: &Arc<Gateway>,
    client: &Arc<Client>,
    request: Request,
    came: Moment,
    after: After,
) -> Result<Payload, Refusal> {
    let Request { id, method: name, params } = request;
    let method = METHODS.iter().find(|method| method.name == name);
    if let Some(refusal) = refused(client, method.map_or(Access::Admin, |method| method.access)) {
        return Err(Refusal::invalid(refusal));
    }
    let Some(method) = method else { return Err(Refusal::invalid(format!("unknown method: {name}"))) };
    if let Some(fault) = method.params.fault(&params) {
        return Err(Refusal::invalid(format!("invalid {name} params: {fault}")));
    }
    // Where another folder has the name of ours, everything that is read and written there is somebody else's.
    if let Err(moved) = gateway.folder.check()
        && name != health::METHOD.name
    {
        return Err(Refusal::unavailable(format!("Error: {moved}")));
    }
    let _room = if method.access.may_be_long() { client.out.room().await } else { None };
    let call = Call { gateway: gateway.clone(), client: client.clone(), id, params, came, after };
    let mut answering = (method.answer)(call);
    std::future::poll_fn(|cx| answering.as_mut().poll_payload(cx)).await
}

/// The response to a frame that is at fault, before anything is done for it; `None` to any other, and to what is no
/// JSON. For those who try everything.
pub fn response_to_fault(text: &str) -> Option<String> {
    let mut frame = yabby_domain::json::parse(text).ok()?;
    let (id, fault) = match Request::take(&mut frame) {
        Err(fault) => (frame.get("id").cloned(), format!("invalid request frame: {fault}")),
        Ok(Request { id, method, params }) => {
            let schema = match method.as_str() {
                frames::CONNECT => crate::handshake::CONNECT,
                name => METHODS.iter().find(|method| method.name == name)?.params,
            };
            (Some(id.into()), format!("invalid {method} params: {}", schema.fault(&params)?))
        }
    };
    Some(frames::response(id.unwrap_or_default(), Err(Refusal::invalid(fault))))
}

/// Why somebody may not ask; `None` if they may.
fn refused(client: &Client, access: Access) -> Option<String> {
    if (access == Access::Node) != (client.role == Role::Node) {
        return Some(format!("unauthorized role: {}", client.role.as_str()));
    }
    let (wanted, also): (&str, &str) = match access {
        Access::Node => return None,
        Access::Read => ("operator.read", "operator.write"),
        Access::Write => ("operator.write", "operator.write"),
        Access::Admin => (ADMIN, ADMIN),
        Access::Pairing => (PAIRING, PAIRING),
        Access::Approvals => (APPROVALS, APPROVALS),
    };
    let may = client.has_scope(wanted) || client.has_scope(also);
    (!may).then(|| format!("missing scope: {wanted}"))
}

/// Refuses to hand out scopes that whoever asks has not got.
fn check_scopes(client: &Client, scopes: &[String]) -> Result<(), Refusal> {
    match scopes.iter().find(|scope| !client.has_scope(scope)) {
        Some(missing) => Err(Refusal::invalid(format!("missing scope: {missing}"))),
        None => Ok(()),
    }
}

const HEAD: &str = "# Methods of the gateway

What can be asked for over the WebSocket, and who may: `read` and `write` are the scopes `operator.read` and
`operator.write` (whoever may write may read), and so on; `operator.admin` allows everything but what is for nodes.
This page is made from the table in `crates/yabby-gateway/src/methods.rs`, and a test says if it is not up to date.

| method | who may | what it does |
|---|---|---|
";

/// The page of the documentation.
pub fn page() -> String {
    let row = |method: &&Method| {
        let may = match method.access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Admin => "admin",
            Access::Pairing => "pairing",
            Access::Approvals => "approvals",
            Access::Node => "nodes",
        };
        let mark = if method.listing == Listing::Known { " (not advertised)" } else { "" };
        format!("| `{}`{mark} | {may} | {} |\n", method.name, method.about)
    };
    METHODS.iter().map(row).fold(HEAD.to_owned(), |page, row| page + &row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_methods_is_up_to_date() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gateway-methods.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(file, page()).unwrap();
        }
        let written = std::fs::read_to_string(file).unwrap_or_default();
        assert_eq!(written, page(), "run the tests of yabby-gateway with UPDATE_DOCS=1");
    }

    #[test]
    fn every_method_has_one_name() {
        let mut names: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        names.sort_unstable();
        let count = names.len();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
