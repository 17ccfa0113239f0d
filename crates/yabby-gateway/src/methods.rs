//! What can be asked for (`gateway.md` §3, §5–§7): one table, and a file for each method.
//!
//! Who may ask stands beside each method; what is advertised to clients, and the list in the documentation, are
//! this table.

mod agent;
mod agent_wait;
mod attachments;
mod chat_abort;
mod chat_inject;
mod chat_send;
mod health;

use std::pin::Pin;
use std::sync::Arc;

use yabby_domain::device::Role;
use yabby_domain::json::Value;

use crate::Gateway;
use crate::frames::{self, Answer, Refusal, Request};
use crate::hub::{ADMIN, APPROVALS, Client, PAIRING};
use crate::schema::Schema;

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

pub(crate) type Handler = fn(Call) -> Pin<Box<dyn Future<Output = Answer> + Send>>;

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

/// Whether clients are told that it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    Advertised,
    Known,
}

/// A request, for a method.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) client: Arc<Client>,
    /// The name of the request.
    pub(crate) id: String,
    /// As the method's schema has it.
    pub(crate) params: Value,
}

impl Call {
    /// Answers before the answer.
    pub(crate) fn answer_first(&self, payload: Value) {
        self.client.out.send(frames::response(&self.id.clone().into(), &Ok(payload)));
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

/// In the order in which they are advertised.
static METHODS: [&Method; 6] = [
    &health::METHOD,
    &agent::METHOD,
    &agent_wait::METHOD,
    &chat_abort::METHOD,
    &chat_send::METHOD,
    &chat_inject::METHOD,
];

/// What clients are told that they can ask for.
pub(crate) fn advertised() -> Vec<&'static str> {
    let listed = METHODS.iter().filter(|method| method.listing == Listing::Advertised);
    listed.map(|method| method.name).collect()
}

/// Answers a request, if whoever asks may.
pub(crate) async fn answer(gateway: &Arc<Gateway>, client: &Arc<Client>, request: Request) -> Answer {
    let Request { id, method: name, params } = request;
    let method = METHODS.iter().find(|method| method.name == name);
    if let Some(refusal) = refused(client, method.map_or(Access::Admin, |method| method.access)) {
        return Err(Refusal::invalid(refusal));
    }
    let Some(method) = method else { return Err(Refusal::invalid(format!("unknown method: {name}"))) };
    if let Some(fault) = method.params.fault(&params) {
        return Err(Refusal::invalid(format!("invalid {name} params: {fault}")));
    }
    let call = Call { gateway: gateway.clone(), client: client.clone(), id, params };
    (method.answer)(call).await
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
