//! `exec.approvals.set`: puts other approvals in the place of these.

use std::sync::Arc;

use yabby_domain::json::{Object, Value};
use yabby_domain::seam::approvals::ApprovalBook as _;
use yabby_domain::text;
use yabby_store::disk::LocalDisk;
use yabby_store::files::exec_approvals::ExecApprovalsFile;

use super::exec_approvals_get::{begin, told};
use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::on_disk;
use crate::schema::{BOOLEAN, COUNT, NON_EMPTY, Schema, TEXT, optional, required};

pub(super) const METHOD: Method = Method {
    name: "exec.approvals.set",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("file", FILE), optional("baseHash", NON_EMPTY)]),
    about: "Changes which programs agents may run.",
    answer: |call| Box::pin(answer(call)),
};

/// Approvals, as they are sent.
pub(super) const FILE: Schema = Schema::Object(&[
    required("version", Schema::Exactly(1)),
    optional("socket", Schema::Object(&[optional("path", TEXT), optional("token", TEXT)])),
    optional(
        "defaults",
        Schema::Object(&[
            optional("security", TEXT),
            optional("ask", TEXT),
            optional("askFallback", TEXT),
            optional("autoAllowSkills", BOOLEAN),
        ]),
    ),
    optional("agents", Schema::Map(&AGENT)),
]);

const AGENT: Schema = Schema::Object(&[
    optional("security", TEXT),
    optional("ask", TEXT),
    optional("askFallback", TEXT),
    optional("autoAllowSkills", BOOLEAN),
    optional("allowlist", Schema::List { of: &ENTRY, min: 0, max: usize::MAX }),
]);

const ENTRY: Schema = Schema::Object(&[
    optional("id", NON_EMPTY),
    required("pattern", TEXT),
    optional("lastUsedAt", COUNT),
    optional("lastUsedCommand", TEXT),
    optional("lastResolvedPath", TEXT),
]);

async fn answer(call: Call) -> Answer {
    let file = ExecApprovalsFile::of(&call.gateway.place, Arc::new(LocalDisk));
    let wanted = call.params.get("file").and_then(Value::as_object).cloned().unwrap_or_default();
    let base = call.text("baseHash").and_then(text::non_blank).map(str::to_owned);
    on_disk(move || {
        begin(&file)?;
        match base {
            None => {
                let why = "exec approvals base hash required; re-run exec.approvals.get and retry";
                return Err(Refusal::invalid(why));
            }
            Some(base) if base != file.hash()? => {
                let why = "exec approvals changed since last load; re-run exec.approvals.get and retry";
                return Err(Refusal::invalid(why));
            }
            Some(_) => {}
        }
        file.replace(with_token(wanted, file.read()?.object()))?;
        told(&file)
    })
    .await?
}

/// Whoever was shown the file without its token means the one that it has.
fn with_token(mut wanted: Object, known: &Object) -> Object {
    let Some(Value::Object(known)) = known.get("socket") else { return wanted };
    let socket = wanted.entry("socket".to_owned()).or_insert_with(|| Value::Object(Object::new()));
    if let Value::Object(socket) = socket {
        for (name, value) in known {
            let is_said = socket.get(name).and_then(Value::as_str).and_then(text::non_blank).is_some();
            if !is_said {
                socket.insert(name.clone(), value.clone());
            }
        }
    }
    wanted
}
