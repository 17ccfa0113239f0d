//! What is known by name and not here yet: it answers `UNAVAILABLE`, and says why. What is wrong with a request is
//! told all the same.

use yabby_domain::json::Value;

use super::{Access, Call, Listing, Method};
use crate::frames::{Answer, Refusal};
use crate::schema::{
    BOOLEAN, COUNT, NON_EMPTY, NOTHING, Schema, TEXT, at_least, between, optional, required,
};

const SPEECH: &str = "yabby does not speak yet";
const WIZARD: &str = "yabby has no wizard yet; edit the configuration, or run `yabby setup`";
const VOICE: &str = "yabby does not listen to voices yet";
const INSTALLING: &str =
    "yabby installs no programs; install what the skill needs yourself, as `yabby skills info` says";
const UPDATES: &str = "yabby does not update itself; install a newer release, then restart the gateway";
const HEARTBEATS: &str = "yabby has no heartbeat yet that could be woken";
const BROWSER: &str = "yabby drives no browser yet";
const POLLS: &str = "yabby serves no channels yet, so that no polls can be sent";
const LOGIN: &str = "yabby serves no channels yet, so that none can be linked";
const CRON: &str = "yabby runs no jobs yet; what is in cron/jobs.json is left as it is";

/// Methods that say why they are not there.
macro_rules! later {
    ($($constant:ident $name:literal $access:ident $listing:ident $about:literal $why:ident $params:expr;)*) => {$(
        pub(super) const $constant: Method = Method {
            name: $name,
            access: Access::$access,
            listing: Listing::$listing,
            params: $params,
            about: concat!($about, " Not here yet."),
            answer: |_| Box::pin(async { Err::<Value, _>(Refusal::unavailable($why)) }),
        };
    )*};
}

later! {
    TTS_STATUS "tts.status" Read Advertised "Whether replies are spoken." SPEECH Schema::Any;
    TTS_PROVIDERS "tts.providers" Read Advertised "Who could speak." SPEECH Schema::Any;
    TTS_ENABLE "tts.enable" Write Advertised "Has replies spoken." SPEECH Schema::Any;
    TTS_DISABLE "tts.disable" Write Advertised "Has replies spoken no longer." SPEECH Schema::Any;
    TTS_CONVERT "tts.convert" Write Advertised "Speaks a text." SPEECH Schema::Any;
    TTS_SET_PROVIDER "tts.setProvider" Write Advertised "Chooses who speaks." SPEECH Schema::Any;
    WIZARD_START "wizard.start" Admin Advertised "Begins to set things up." WIZARD Schema::Object(&[
        optional("mode", Schema::OneOf(&[Schema::Constant("local"), Schema::Constant("remote")])),
        optional("workspace", TEXT),
    ]);
    WIZARD_NEXT "wizard.next" Admin Advertised "Goes on with it." WIZARD Schema::Object(&[
        required("sessionId", NON_EMPTY),
        optional("answer", Schema::Object(&[required("stepId", NON_EMPTY), optional("value", Schema::Any)])),
    ]);
    WIZARD_CANCEL "wizard.cancel" Admin Advertised "Gives it up." WIZARD Schema::Object(&[required("sessionId", NON_EMPTY)]);
    WIZARD_STATUS "wizard.status" Admin Advertised "How far it is." WIZARD Schema::Object(&[required("sessionId", NON_EMPTY)]);
    TALK_MODE "talk.mode" Write Advertised "Whether somebody talks." VOICE Schema::Object(&[required("enabled", BOOLEAN), optional("phase", TEXT)]);
    SKILLS_INSTALL "skills.install" Admin Advertised "Installs what a skill needs." INSTALLING Schema::Object(&[
        required("name", NON_EMPTY),
        required("installId", NON_EMPTY),
        optional("timeoutMs", at_least(1000)),
    ]);
    UPDATE_RUN "update.run" Admin Advertised "Updates the program." UPDATES Schema::Object(&[
        optional("sessionKey", TEXT),
        optional("note", TEXT),
        optional("restartDelayMs", COUNT),
        optional("timeoutMs", at_least(1)),
    ]);
    VOICEWAKE_GET "voicewake.get" Read Advertised "The words that wake." VOICE Schema::Any;
    WAKE "wake" Write Advertised "Wakes the agent." HEARTBEATS Schema::Object(&[
        required("mode", Schema::OneOf(&[Schema::Constant("now"), Schema::Constant("next-heartbeat")])),
        required("text", NON_EMPTY),
    ]);
    BROWSER_REQUEST "browser.request" Write Advertised "Has a browser do something." BROWSER Schema::Any;
    POLL "poll" Admin Known "Sends a poll." POLLS Schema::Object(&[
        required("to", NON_EMPTY),
        required("question", NON_EMPTY),
        required("options", Schema::List { of: &NON_EMPTY, min: 2, max: 12 }),
        optional("maxSelections", between(1, 12)),
        optional("durationHours", at_least(1)),
        optional("channel", TEXT),
        optional("accountId", TEXT),
        required("idempotencyKey", NON_EMPTY),
    ]);
    WEB_LOGIN_START "web.login.start" Admin Known "Begins to link WhatsApp." LOGIN Schema::Object(&[
        optional("force", BOOLEAN),
        optional("timeoutMs", COUNT),
        optional("verbose", BOOLEAN),
        optional("accountId", TEXT),
    ]);
    WEB_LOGIN_WAIT "web.login.wait" Admin Known "Waits until it is linked." LOGIN Schema::Object(&[optional("timeoutMs", COUNT), optional("accountId", TEXT)]);
    CRON_LIST "cron.list" Read Advertised "The jobs." CRON Schema::Object(&[optional("includeDisabled", BOOLEAN)]);
    CRON_STATUS "cron.status" Read Advertised "Whether jobs are run." CRON NOTHING;
    CRON_ADD "cron.add" Admin Advertised "Adds a job." CRON Schema::Object(&[
        required("name", NON_EMPTY),
        optional("agentId", Schema::OneOf(&[NON_EMPTY, Schema::Null])),
        optional("description", TEXT),
        optional("enabled", BOOLEAN),
        optional("deleteAfterRun", BOOLEAN),
        required("schedule", Schema::OpenObject),
        required("sessionTarget", Schema::OneOf(&[Schema::Constant("main"), Schema::Constant("isolated")])),
        optional("wakeMode", Schema::OneOf(&[Schema::Constant("next-heartbeat"), Schema::Constant("now")])),
        required("payload", Schema::OpenObject),
        optional("delivery", Schema::OpenObject),
    ]);
    CRON_UPDATE "cron.update" Admin Advertised "Changes a job." CRON Schema::OneOf(&[
        Schema::Object(&[required("id", NON_EMPTY), required("patch", Schema::OpenObject)]),
        Schema::Object(&[required("jobId", NON_EMPTY), required("patch", Schema::OpenObject)]),
    ]);
    CRON_REMOVE "cron.remove" Admin Advertised "Removes a job." CRON Schema::OneOf(&[
        Schema::Object(&[required("id", NON_EMPTY)]),
        Schema::Object(&[required("jobId", NON_EMPTY)]),
    ]);
    CRON_RUN "cron.run" Admin Advertised "Runs a job." CRON Schema::OneOf(&[
        Schema::Object(&[required("id", NON_EMPTY), optional("mode", Schema::OneOf(&[Schema::Constant("due"), Schema::Constant("force")]))]),
        Schema::Object(&[required("jobId", NON_EMPTY), optional("mode", Schema::OneOf(&[Schema::Constant("due"), Schema::Constant("force")]))]),
    ]);
    CRON_RUNS "cron.runs" Read Advertised "What became of a job." CRON Schema::OneOf(&[
        Schema::Object(&[required("id", NON_EMPTY), optional("limit", between(1, 5000))]),
        Schema::Object(&[required("jobId", NON_EMPTY), optional("limit", between(1, 5000))]),
    ]);
}

pub(super) const VOICEWAKE_SET: Method = Method {
    name: "voicewake.set",
    access: Access::Write,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "Changes the words that wake. Not here yet.",
    answer: |call| Box::pin(set_voicewake(call)),
};

async fn set_voicewake(call: Call) -> Answer {
    match call.params.get("triggers") {
        Some(Value::Array(_)) => Err(Refusal::unavailable(VOICE)),
        _ => Err(Refusal::invalid("voicewake.set requires triggers: string[]")),
    }
}

pub(super) const SET_HEARTBEATS: Method = Method {
    name: "set-heartbeats",
    access: Access::Admin,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "Switches heartbeats on or off. Not here yet.",
    answer: |call| Box::pin(set_heartbeats(call)),
};

async fn set_heartbeats(call: Call) -> Answer {
    match call.flag("enabled") {
        Some(_) => Err(Refusal::unavailable(HEARTBEATS)),
        None => Err(Refusal::invalid("invalid set-heartbeats params: enabled (boolean) required")),
    }
}

/// There was none. OpenClaw's own pages ask for this together with other things, and show none of them if it is
/// refused.
pub(super) const LAST_HEARTBEAT: Method = Method {
    name: "last-heartbeat",
    access: Access::Read,
    listing: Listing::Advertised,
    params: Schema::Any,
    about: "The last heartbeat; there are none yet.",
    answer: |_| Box::pin(async { Ok(Value::Null) }),
};
