//! `agents.files.list`: the files that an agent is told, whether they are there or not.

use yabby_domain::json::Value;

use super::agent_files::Folder;
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::on_disk;
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "agents.files.list",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("agentId", NON_EMPTY)]),
    about: "The files of a workspace that an agent is told.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let folder = Folder::of(&call)?;
    on_disk(move || {
        let mut told = folder.told();
        told.insert("files".to_owned(), folder.files().into());
        Ok(Value::Object(told))
    })
    .await?
}
