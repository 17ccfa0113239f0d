//! Who wrote a message: labels and the `[from: …]` line (`sessions.md` §11).
