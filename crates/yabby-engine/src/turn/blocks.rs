//! Block replies: a long answer is sent in pieces while it is being written (`sessions.md` §16).

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use yabby_domain::config::Config;
use yabby_domain::config::agents::streaming::{BlockChunks, BlockStreaming};
use yabby_domain::reply::payload::ReplyPayload;
use yabby_domain::reply::stream::{DirectiveStream, Piece};
use yabby_domain::reply::tokens::SILENT_TOKEN;
use yabby_domain::text;

use super::deliver::{Fate, Outbox, shaped};
use super::open::Opened;
use crate::Engine;
use crate::events::EventKind;
use crate::inbound::Inbound;

/// The way to whoever sends the pieces.
pub(crate) struct Blocks {
    sender: mpsc::UnboundedSender<Told>,
    task: JoinHandle<Vec<ReplyPayload>>,
}

enum Told {
    Text(String),
    MessageEnd,
}

/// How long pieces are, in UTF-16 units.
#[derive(Clone, Copy, Debug)]
struct Size {
    least: usize,
    most: usize,
}

impl Blocks {
    /// Begins to send pieces, where the channel likes them or the configuration asks for them.
    pub(crate) fn start(engine: &Engine, inbound: &Inbound, opened: &Opened) -> Option<Self> {
        let outbox = Outbox::of(engine, inbound, Some(&opened.entry), &opened.config)?;
        let defaults = &opened.config.agents.defaults;
        let wanted = match defaults.block_streaming_default {
            Some(BlockStreaming::On) => true,
            Some(BlockStreaming::Off) => false,
            None => outbox.likes_blocks(),
        };
        if !wanted {
            return None;
        }
        let (chunk, usual) = (&defaults.block_streaming_chunk, BlockChunks::default());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at least one, and saturates"
        )]
        let number = |asked: f64, usual: f64| if asked >= 1.0 { asked as usize } else { usual as usize };
        let most = number(chunk.max_chars(), usual.max_chars());
        let size = Size { least: number(chunk.min_chars(), usual.min_chars()).min(most), most };
        let (sender, receiver) = mpsc::unbounded_channel();
        let count = inbound.resume.as_ref().map_or(0, |progress| progress.blocks.len());
        let sending = Sending {
            outbox,
            config: opened.config.clone(),
            engine: engine.clone(),
            inbound: Arc::new(inbound.clone()),
            stream: DirectiveStream::default(),
            waiting: String::new(),
            size,
            count,
            sent: Vec::new(),
            is_broken: false,
        };
        Some(Self { sender, task: tokio::spawn(sending.run(receiver)) })
    }

    /// The model said this.
    pub(crate) fn text(&self, text: &str) {
        let _ = self.sender.send(Told::Text(text.to_owned()));
    }

    /// The model has ended a message; what waits is sent.
    pub(crate) fn message_end(&self) {
        let _ = self.sender.send(Told::MessageEnd);
    }

    /// Waits until everything is sent; what that was.
    pub(crate) async fn finish(self) -> Vec<ReplyPayload> {
        drop(self.sender);
        self.task.await.unwrap_or_default()
    }
}

struct Sending {
    outbox: Outbox,
    config: Arc<Config>,
    engine: Engine,
    inbound: Arc<Inbound>,
    stream: DirectiveStream,
    waiting: String,
    size: Size,
    count: usize,
    sent: Vec<ReplyPayload>,
    is_broken: bool,
}

impl Sending {
    async fn run(mut self, mut told: mpsc::UnboundedReceiver<Told>) -> Vec<ReplyPayload> {
        while let Some(told) = told.recv().await {
            match told {
                Told::Text(text) => {
                    self.waiting.push_str(&text);
                    while let Some(piece) = cut(&mut self.waiting, self.size) {
                        self.send(&piece, Piece::More).await;
                    }
                }
                Told::MessageEnd => {
                    let rest = std::mem::take(&mut self.waiting);
                    self.send(&rest, Piece::Last).await;
                    self.stream.reset();
                }
            }
        }
        // What waits now belongs to an answer that broke off; the reply tells of it.
        self.sent
    }

    async fn send(&mut self, piece: &str, position: Piece) {
        if self.is_broken {
            return;
        }
        let Some(parsed) = self.stream.read(piece, position, SILENT_TOKEN).filter(|parsed| !parsed.is_silent)
        else {
            return;
        };
        let payload = ReplyPayload {
            text: Some(parsed.text).filter(|text| !text.is_empty()),
            media_urls: Some(parsed.sources).filter(|sources| !sources.is_empty()),
            reply_to_id: parsed.tags.reply_to_id,
            audio_as_voice: parsed.audio_as_voice.then_some(true),
            ..ReplyPayload::default()
        };
        let Some(shaped) = shaped(payload.clone(), &self.config).filter(ReplyPayload::is_renderable) else {
            return;
        };
        let delivery = self.inbound.turn.block(self.count);
        self.count += 1;
        match self.outbox.send(&self.engine, &self.inbound, &delivery, &shaped, Some(&payload)).await {
            Fate::Sent => {
                let told = EventKind::Block(shaped);
                self.engine.tell(self.inbound.key(), Some(&self.inbound.turn), told);
                self.sent.push(payload);
            }
            // It is done with: nobody wants it sent, or it may have been.
            Fate::Cancelled | Fate::InDoubt(_) => self.sent.push(payload),
            // What comes after it would arrive out of order. All of it is left to the reply.
            Fate::Failed(_) | Fate::Unrecorded(_) => self.is_broken = true,
        }
    }
}

/// Takes a piece off the front once there is more than enough: up to a paragraph, else a line, else a
/// sentence, else a word.
fn cut(waiting: &mut String, size: Size) -> Option<String> {
    if text::units(waiting) < size.most {
        return None;
    }
    let limit = text::head(waiting, size.most).len();
    let least = text::head(waiting, size.least).len();
    let window = waiting.get(..floor(waiting, limit))?;
    let after = |needle: &str| window.rfind(needle).map(|at| at + needle.len()).filter(|at| *at >= least);
    let breaks = ["\n\n", "\n", ". ", "! ", "? ", " "];
    let at = breaks.into_iter().find_map(after).unwrap_or(window.len());
    // A fence that is open stays in one piece as long as it can.
    let at = match window[..at].matches("```").count() % 2 {
        0 => at,
        _ => window[..at].rfind("```").filter(|fence| *fence > 0).unwrap_or(at),
    };
    let rest = waiting.split_off(at);
    Some(std::mem::replace(waiting, rest))
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_ends_where_a_paragraph_does() {
        let size = Size { least: 4, most: 12 };
        let table = [
            ("short", None, "short"),
            ("one two\n\nthree four", Some("one two\n\n"), "three four"),
            ("one two. three four", Some("one two. "), "three four"),
            ("onetwothreefour", Some("onetwothreef"), "our"),
            ("ééééééééééééé", Some("éééééééééééé"), "é"),
        ];
        for (text, piece, rest) in table {
            let mut waiting = text.to_owned();
            assert_eq!(cut(&mut waiting, size).as_deref(), piece, "{text}");
            assert_eq!(waiting, rest, "{text}");
        }
    }
}
