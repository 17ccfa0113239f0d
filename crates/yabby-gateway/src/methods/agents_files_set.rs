//! `agents.files.set`: writes one of the files that an agent is told.

use yabby_domain::json::Object;
use yabby_domain::json::Value;

use super::agent_files::Folder;
use super::{Access, Call, Listing, Method};
use crate::frames::Answer;
use crate::on_disk;
use crate::schema::{NON_EMPTY, Schema, TEXT, required};

pub(super) const METHOD: Method = Method {
    name: "agents.files.set",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Object(&[
        required("agentId", NON_EMPTY),
        required("name", NON_EMPTY),
        required("content", TEXT),
    ]),
    about: "Writes one of them.",
    answer: |call| Box::pin(answer(call)),
};

async fn answer(call: Call) -> Answer {
    let folder = Folder::of(&call)?;
    let file = folder.file(&call)?;
    let content = call.text("content").unwrap_or_default().to_owned();
    on_disk(move || {
        file.write(&content)?;
        let mut told = Object::from_iter([("ok".to_owned(), Value::Bool(true))]);
        told.extend(folder.told());
        told.insert("file".to_owned(), Value::Object(file.with_content()?));
        Ok(Value::Object(told))
    })
    .await?
}
