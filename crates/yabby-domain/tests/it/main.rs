//! Rules against whatever files and people may hold.

mod transcripts;
