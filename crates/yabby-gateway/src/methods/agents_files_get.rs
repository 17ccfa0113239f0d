//! `agents.files.get`: one of the files that an agent is told.

use yabby_domain::json::Value;

use super::agent_files::Folder;
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::on_disk;
use crate::schema::{NON_EMPTY, Schema, required};

pub(super) const METHOD: Method = Method {
    name: "agents.files.get",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[required("agentId", NON_EMPTY), required("name", NON_EMPTY)]),
    about: "What is in one of them.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let folder = Folder::of(&call)?;
    let file = folder.file(&call)?;
    on_disk(move || {
        let mut told = folder.told();
        told.insert("file".to_owned(), Value::Object(file.with_content()?));
        Ok(Value::Object(told))
    })
    .await?
}
