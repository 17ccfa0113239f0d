//! What a stand-in sends back: a status, headers, and a body piece by piece.

use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) pieces: Vec<Piece>,
}

/// A piece of a body.
#[derive(Clone, Debug)]
pub enum Piece {
    Bytes(Vec<u8>),
    /// Nothing for a while.
    Wait(Duration),
    /// The line is cut.
    Cut,
}

impl Reply {
    /// A stream of events.
    pub fn events(events: Vec<String>) -> Self {
        let pieces = events.into_iter().map(|event| Piece::Bytes(event.into_bytes())).collect();
        Self { status: 200, headers: vec![("content-type".into(), "text/event-stream".into())], pieces }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        let pieces = vec![Piece::Bytes(body.to_string().into_bytes())];
        Self { status, headers: vec![("content-type".into(), "application/json".into())], pieces }
    }

    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same bytes in pieces of this size, wherever that cuts them.
    pub fn in_pieces_of(mut self, size: usize) -> Self {
        let mut bytes = Vec::new();
        for piece in &self.pieces {
            if let Piece::Bytes(piece) = piece {
                bytes.extend_from_slice(piece);
            }
        }
        self.pieces = bytes.chunks(size).map(|piece| Piece::Bytes(piece.to_vec())).collect();
        self
    }

    /// Only so many pieces, and then this.
    pub fn then(mut self, pieces: usize, piece: Piece) -> Self {
        self.pieces.truncate(pieces);
        self.pieces.push(piece);
        self
    }

    /// Only so many pieces, and then an event of this data.
    pub fn then_event(self, pieces: usize, data: &str) -> Self {
        self.then(pieces, Piece::Bytes(format!("data: {data}\n\n").into_bytes()))
    }

    /// How many pieces there are.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }
}
