//! OpenClaw's page in a browser, served by yabby.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{House, PATIENCE, PORT, TOKEN};
use crate::interop::{Stage, Told};
use crate::peer::Peer;
use crate::reference::{cache, state_folder};

/// It connects, shows what was said before, sends a message and shows what is answered.
pub fn page(stage: &Stage, _: &mut Peer) -> Told {
    let mut house = House::open(stage)?;
    house.said_before("Which crab is it?", "It is the blue one.")?;
    let mut page = Page::open(&house)?;
    chat(&mut house, &mut page)?;
    page.close()?;
    house.close()?;
    Ok(format!("see {}", artefacts()?.join("page-chat.png").display()))
}

/// A text of each other tab that comes from the gateway, and what the tab complains of.
const TABS: [(&str, &str, &[&str]); 11] = [
    ("overview", "Connected", &[]),
    // Nostr is a plugin of OpenClaw's.
    ("channels", "\"channelOrder\"", &["Channel config schema unavailable."]),
    ("instances", "Reason self", &[]),
    // OpenClaw's command line names a channel whether it is meant or not, and the session is called by it, there as here.
    ("sessions", "whatsapp:g-agent-main-main", &[]),
    // There are no jobs yet, and the page says so.
    ("cron", "yabby runs no jobs yet", &[]),
    ("agents", "1 configured.", &[]),
    ("skills", "openclaw-bundled", &[]),
    ("nodes", "roles: operator", &[]),
    // It says the same with a gateway of OpenClaw's: there is room for other channels.
    (
        "config",
        "No changes",
        &["Form view can't safely edit some fields. Use Raw to avoid losing config entries."],
    ),
    ("debug", "\"heartbeatSeconds\": 1800", &[]),
    ("logs", "listening on ws://", &[]),
];

/// The same, and then every other tab.
pub fn every_tab(stage: &Stage, _: &mut Peer) -> Told {
    let mut house = House::open(stage)?;
    house.said_before("Which crab is it?", "It is the blue one.")?;
    let mut page = Page::open(&house)?;
    chat(&mut house, &mut page)?;
    for (tab, text, complaints) in TABS {
        page.visit(tab)?;
        page.wait(&shows(text))?;
        page.wait("!document.body.textContent.includes('Loading')")?;
        page.photograph(tab)?;
        page.ensure_well(tab, complaints)?;
    }
    settings(&house, &mut page)?;
    page.close()?;
    house.close()?;
    Ok(format!("{} tabs; see {}", TABS.len() + 1, artefacts()?.display()))
}

fn chat(house: &mut House, page: &mut Page) -> Result<()> {
    page.wait(&shows("It is the blue one."))?;
    page.wait(&shows("Which crab is it?"))?;
    house.model_will_say("It likes **clams**, and mussels.")?;
    page.wait("document.querySelector('.chat-compose textarea')?.disabled === false")?;
    page.evaluate("document.querySelector('.chat-compose textarea').focus()")?;
    page.ask(&json!({"do": "type", "text": "What does it eat?"}))?;
    page.wait("[...document.querySelectorAll('.chat-group.user')].some(group => group.innerText.includes('What does it eat?'))")?;
    page.wait("[...document.querySelectorAll('.chat-group.assistant strong')].some(word => word.innerText === 'clams')")?;
    // It is no longer being written.
    page.wait(&shows("New session"))?;
    page.photograph("chat")?;
    page.ensure_well("chat", &[])?;
    house.ensure_said(&[
        "Which crab is it?",
        "It is the blue one.",
        "What does it eat?",
        "It likes **clams**, and mussels.",
    ])
}

/// Changes a setting on the form. The page was never told the token, and sends all settings back; the token stays.
fn settings(house: &House, page: &mut Page) -> Result<()> {
    page.visit("config")?;
    page.click(".config-nav__item", "Messages")?;
    page.click(".config-subnav__item", "All")?;
    page.wait(&format!("{FIELD} !== undefined"))?;
    page.evaluate(&format!("{FIELD}.querySelector('input').focus()"))?;
    page.ask(&json!({"do": "type", "text": "[crab]"}))?;
    page.wait(&shows("1 unsaved change"))?;
    page.photograph("settings")?;
    page.click(".config-actions .btn", "Save")?;
    page.wait(&shows("No changes"))?;
    let file = fs::read_to_string(state_folder(&house.home).join("openclaw.json"))?;
    let config: Value = serde_json::from_str(&file)?;
    ensure!(config["messages"]["responsePrefix"] == "[crab]", "it is not saved: {config:#}");
    ensure!(config["gateway"]["auth"]["token"] == TOKEN, "the token is lost: {config:#}");
    // Whatever the gateway did about it, the page is connected again.
    page.visit("overview")?;
    page.wait(&shows("Connected"))?;
    page.ensure_well("overview", &[])
}

const FIELD: &str = "[...document.querySelectorAll('.cfg-field')].find(field => /response ?prefix/i.test(field.querySelector('label')?.textContent))";

fn shows(text: &str) -> String {
    format!("document.body?.textContent.includes({})", json!(text))
}

struct Page {
    browser: Peer,
    is_open: bool,
}

/// Whatever went wrong, no browser stays behind.
impl Drop for Page {
    fn drop(&mut self) {
        if self.is_open {
            self.browser.be_patient(Duration::from_secs(10));
            let _ = self.ask(&json!({"do": "close"}));
        }
    }
}

impl Page {
    fn open(house: &House) -> Result<Self> {
        let program = chromium()?;
        // Of an earlier time.
        let _ = fs::remove_file(artefacts()?.join("page-failed.png"));
        let profile = house.guest.join("browser");
        let mut browser = house.script("the browser", "browser.mjs")?;
        let address = format!("http://127.0.0.1:{PORT}/?token={TOKEN}");
        browser
            .ask(&json!({"do": "open", "program": program, "profile": profile, "address": address}))
            .context("opening the page")?;
        Ok(Self { browser, is_open: true })
    }

    fn ask(&mut self, errand: &Value) -> Result<Value> {
        self.browser.ask(errand)
    }

    fn evaluate(&mut self, expression: &str) -> Result<Value> {
        self.ask(&json!({"do": "evaluate", "expression": expression}))
    }

    /// The first of these that has this text.
    fn click(&mut self, selector: &str, text: &str) -> Result<()> {
        let found = format!(
            "[...document.querySelectorAll({})].find(element => element.innerText.trim() === {})",
            json!(selector),
            json!(text)
        );
        self.wait(&format!("{found} !== undefined"))?;
        self.evaluate(&format!("{found}.click()"))?;
        Ok(())
    }

    fn wait(&mut self, expression: &str) -> Result<()> {
        let errand = json!({"do": "wait", "expression": expression, "seconds": PATIENCE.as_secs()});
        if let Err(error) = self.ask(&errand) {
            self.photograph("failed")?;
            let problems = self.ask(&json!({"do": "problems"}))?;
            return Err(error.context(format!("the page tells of {problems}")));
        }
        Ok(())
    }

    /// By its link, as a person does.
    fn visit(&mut self, tab: &str) -> Result<()> {
        let link = format!("document.querySelector('a.nav-item[href$=\"/{tab}\"]').click()");
        self.evaluate(&link)?;
        self.wait(&format!("location.pathname === '/{tab}'"))
    }

    fn photograph(&mut self, name: &str) -> Result<()> {
        let file = artefacts()?.join(format!("page-{name}.png"));
        self.ask(&json!({"do": "photograph", "file": file}))?;
        Ok(())
    }

    /// No tab shows errors but these, and nothing went wrong behind it.
    fn ensure_well(&mut self, tab: &str, complaints: &[&str]) -> Result<()> {
        let shown = "[...document.querySelectorAll('.callout.danger')].map(error => error.innerText)";
        let shown = self.evaluate(shown)?;
        ensure!(shown == json!(complaints), "{tab} shows errors: {shown:#}");
        let problems = self.ask(&json!({"do": "problems"}))?;
        ensure!(problems == json!([]), "{tab} tells of {problems:#}");
        Ok(())
    }

    fn close(mut self) -> Result<()> {
        self.is_open = false;
        self.ask(&json!({"do": "close"}))?;
        Ok(())
    }
}

/// Debian's browser, or whatever has its name.
fn chromium() -> Result<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join("chromium")).find(|file| file.is_file());
    found.context("there is no `chromium` to show OpenClaw's page with; install it: apt-get install chromium")
}

/// Where what was seen is kept.
fn artefacts() -> Result<PathBuf> {
    let folder = cache()?.join("artefacts");
    fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
    Ok(folder)
}
