//! The events of a response, one after the other.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::{Stream, StreamExt as _, stream};
use reqwest::Response;
use sse_stream::{Error, SseStream};

use crate::failure::Failure;

/// As much as an event may take. A picture fits into it.
const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;

/// Why there are no more bytes.
#[derive(Debug, thiserror::Error)]
enum BodyError {
    #[error(transparent)]
    Transport(reqwest::Error),
    #[error("an event without an end")]
    EndlessEvent,
}

/// The data of each event; events without data are only there to keep the line open. An event is held until it is
/// complete, so that one without an end ends the response.
pub(crate) fn events(response: Response) -> impl Stream<Item = Result<String, Failure>> + Send + Unpin {
    // An event ends with an empty line, which not everybody sends after the last one.
    let end = stream::once(std::future::ready(Ok("\n\n".into())));
    let since_event = Arc::new(AtomicUsize::new(0));
    let received = since_event.clone();
    let bytes = response.bytes_stream().chain(end).map(move |chunk| {
        let chunk = chunk.map_err(BodyError::Transport)?;
        let held = received.fetch_add(chunk.len(), Ordering::Relaxed).saturating_add(chunk.len());
        if held > MAX_EVENT_BYTES { Err(BodyError::EndlessEvent) } else { Ok(chunk) }
    });
    let data = move |event: Result<sse_stream::Sse, Error>| {
        since_event.store(0, Ordering::Relaxed);
        let data = match event {
            Ok(event) => Ok(event.data?),
            Err(Error::Body(error)) => Err(match error.downcast_ref() {
                Some(BodyError::Transport(error)) => Failure::of_transport(error),
                Some(BodyError::EndlessEvent) => {
                    Failure::unreadable("it sent a line without an end, which was cut off after 32 MB")
                }
                None => Failure::of_transport(&*error),
            }),
            Err(error) => Err(Failure::unreadable(error.to_string())),
        };
        Some(data)
    };
    Box::pin(SseStream::from_bytes_stream(bytes).filter_map(move |event| std::future::ready(data(event))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_without_an_end_is_not_held_for_ever() {
        const CHUNK: usize = 1024 * 1024;
        let sent = Arc::new(AtomicUsize::new(0));
        let counted = sent.clone();
        let begin = stream::iter([Ok::<_, std::io::Error>(b"data: one\n\ndata: ".to_vec())]);
        let endless = stream::repeat_with(move || {
            counted.fetch_add(CHUNK, Ordering::Relaxed);
            Ok(vec![b'x'; CHUNK])
        });
        let body = reqwest::Body::wrap_stream(begin.chain(endless));
        let mut events = events(axum::http::Response::new(body).into());
        assert_eq!(events.next().await.unwrap().unwrap(), "one");
        let failure = events.next().await.unwrap().unwrap_err();
        assert!(format!("{failure:?}").contains("a line without an end"), "{failure:?}");
        assert!(sent.load(Ordering::Relaxed) <= MAX_EVENT_BYTES + 2 * CHUNK);
    }
}
