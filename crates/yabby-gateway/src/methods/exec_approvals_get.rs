//! `exec.approvals.get`: which programs agents may run (`gateway.md` §7, `state-files.md` §4).

use std::sync::Arc;

use serde_json::json;
use yabby_domain::json::Value;
use yabby_domain::seam::approvals::ApprovalBook as _;
use yabby_store::disk::LocalDisk;
use yabby_store::files::exec_approvals::ExecApprovalsFile;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::on_disk;
use crate::schema::NOTHING;

pub(super) const METHOD: Method = Method {
    name: "exec.approvals.get",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: NOTHING,
    about: "Which programs agents may run.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let file = ExecApprovalsFile::of(&call.gateway.place, Arc::new(LocalDisk));
    on_disk(move || {
        begin(&file)?;
        told(&file)
    })
    .await?
}

/// The first look makes the file, as in the reference.
pub(super) fn begin(file: &ExecApprovalsFile) -> Result<(), Refusal> {
    if file.text()?.is_none() {
        file.update(&mut |_| {})?;
    }
    Ok(())
}

pub(super) fn told(file: &ExecApprovalsFile) -> Result<Value, Refusal> {
    let text = file.text()?;
    Ok(json!({
        "path": file.path().to_string_lossy(),
        "exists": text.is_some(),
        "hash": file.hash()?,
        "file": file.read()?.without_token(),
    }))
}
