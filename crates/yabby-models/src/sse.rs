//! The events of a response, one after the other.

use futures_util::{Stream, StreamExt as _, stream};
use reqwest::Response;
use sse_stream::{Error, SseStream};

use crate::failure::Failure;

/// The data of each event; events without data are only there to keep the line open.
pub(crate) fn events(response: Response) -> impl Stream<Item = Result<String, Failure>> + Send + Unpin {
    // An event ends with an empty line, which not everybody sends after the last one.
    let end = stream::once(std::future::ready(Ok("\n\n".into())));
    let bytes = response.bytes_stream().chain(end);
    let data = |event: Result<sse_stream::Sse, Error>| {
        let data = match event {
            Ok(event) => Ok(event.data?),
            Err(Error::Body(error)) => Err(Failure::of_transport(&*error)),
            Err(error) => Err(Failure::unreadable(error.to_string())),
        };
        Some(data)
    };
    Box::pin(SseStream::from_bytes_stream(bytes).filter_map(move |event| std::future::ready(data(event))))
}
