//! OpenClaw's page in a browser, served by yabby.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{House, PATIENCE, PORT, TOKEN};
use crate::interop::{Stage, Told};
use crate::peer::Peer;
use crate::reference::cache;

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

/// What the other tabs show, each by a text that only the gateway knows.
const TABS: [(&str, &str); 9] = [
    ("overview", "Connected"),
    ("channels", "Channel health"),
    ("instances", "gateway"),
    ("sessions", "agent:main:main"),
    ("agents", "main"),
    ("skills", "skill"),
    ("nodes", "Devices"),
    ("debug", "heartbeat"),
    ("logs", "listening on ws://"),
];

/// The same, and then every other tab.
pub fn every_tab(stage: &Stage, _: &mut Peer) -> Told {
    let mut house = House::open(stage)?;
    house.said_before("Which crab is it?", "It is the blue one.")?;
    let mut page = Page::open(&house)?;
    chat(&mut house, &mut page)?;
    for (tab, text) in TABS {
        page.visit(tab)?;
        page.wait(&shows(text))?;
        page.photograph(tab)?;
        page.ensure_well(tab)?;
    }
    page.visit("config")?;
    page.wait("document.querySelectorAll('.config-section-card, .config-form .field').length > 0")?;
    page.photograph("config")?;
    page.ensure_well("config")?;
    // There are no jobs yet, and the page says so.
    page.visit("cron")?;
    page.wait(&shows("yabby runs no jobs yet"))?;
    page.photograph("cron")?;
    page.close()?;
    house.close()?;
    Ok(format!("{} tabs; see {}", TABS.len() + 3, artefacts()?.display()))
}

fn chat(house: &mut House, page: &mut Page) -> Result<()> {
    page.wait(&shows("It is the blue one."))?;
    page.wait(&shows("Which crab is it?"))?;
    house.model_will_say("It likes **clams**, and mussels.")?;
    page.wait("document.querySelector('.chat-compose textarea')?.disabled === false")?;
    page.ask(
        &json!({"do": "evaluate", "expression": "document.querySelector('.chat-compose textarea').focus()"}),
    )?;
    page.ask(&json!({"do": "type", "text": "What does it eat?"}))?;
    page.wait("[...document.querySelectorAll('.chat-group.user')].some(group => group.innerText.includes('What does it eat?'))")?;
    page.wait("[...document.querySelectorAll('.chat-group.assistant strong')].some(word => word.innerText === 'clams')")?;
    // It is no longer being written.
    page.wait(&shows("New session"))?;
    page.photograph("chat")?;
    page.ensure_well("chat")?;
    house.ensure_said(&[
        "Which crab is it?",
        "It is the blue one.",
        "What does it eat?",
        "It likes **clams**, and mussels.",
    ])
}

fn shows(text: &str) -> String {
    format!("document.body?.innerText.includes({})", json!(text))
}

struct Page {
    browser: Peer,
}

impl Page {
    fn open(house: &House) -> Result<Self> {
        let program = chromium()?;
        let profile = house.guest.join("browser");
        let mut browser = house.script("the browser", "browser.mjs")?;
        let address = format!("http://127.0.0.1:{PORT}/?token={TOKEN}");
        browser
            .ask(&json!({"do": "open", "program": program, "profile": profile, "address": address}))
            .context("opening the page")?;
        Ok(Self { browser })
    }

    fn ask(&mut self, errand: &Value) -> Result<Value> {
        self.browser.ask(errand)
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
        self.ask(&json!({"do": "evaluate", "expression": link}))?;
        self.wait(&format!("location.pathname === '/{tab}'"))
    }

    fn photograph(&mut self, name: &str) -> Result<()> {
        let file = artefacts()?.join(format!("page-{name}.png"));
        self.ask(&json!({"do": "photograph", "file": file}))?;
        Ok(())
    }

    /// No tab shows an error, and nothing went wrong behind it.
    fn ensure_well(&mut self, tab: &str) -> Result<()> {
        let shown =
            "[...document.querySelectorAll('.callout.danger')].map(error => error.innerText).join('; ')";
        let shown = self.ask(&json!({"do": "evaluate", "expression": shown}))?;
        ensure!(shown == "", "{tab} shows an error: {shown}");
        let problems = self.ask(&json!({"do": "problems"}))?;
        ensure!(problems == json!([]), "{tab} tells of {problems:#}");
        Ok(())
    }

    fn close(mut self) -> Result<()> {
        self.ask(&json!({"do": "close"}))?;
        self.browser.end()
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
