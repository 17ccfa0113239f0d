//! Telling everybody something once for all who want it told within a moment.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How long those who come after somebody wait at most to be told together.
const PAUSE: Duration = Duration::from_secs(1);

/// An announcement that many may want at once: it is made for the first of them, and after a pause once more for all
/// who came meanwhile. A thousand who come at once are not told a thousand times each.
#[derive(Default)]
pub(crate) struct Coalesced {
    /// Held while somebody announces for everybody.
    announcing: tokio::sync::Mutex<()>,
    /// Somebody came since the last announcement began.
    is_wanted: AtomicBool,
}

impl Coalesced {
    /// Sees to it that it is announced.
    pub(crate) async fn announce<F: Future<Output = ()>>(&self, announcement: impl Fn() -> F) {
        self.is_wanted.store(true, Ordering::SeqCst);
        // Who comes between the last announcement and the end of it finds that somebody announces, and is seen here.
        while self.is_wanted.load(Ordering::SeqCst) {
            let Ok(_announcing) = self.announcing.try_lock() else { return };
            if self.is_wanted.swap(false, Ordering::SeqCst) {
                announcement().await;
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_who_come_at_once_are_told_twice_and_nobody_is_missed() {
        let (coalesced, told) = (Arc::new(Coalesced::default()), Arc::new(AtomicUsize::new(0)));
        let come = || {
            let (coalesced, told) = (coalesced.clone(), told.clone());
            tokio::spawn(async move {
                let tell = || async {
                    told.fetch_add(1, Ordering::SeqCst);
                };
                coalesced.announce(tell).await;
            })
        };
        let first: Vec<_> = (0..400).map(|_| come()).collect();
        for one in first {
            one.await.unwrap();
        }
        assert_eq!(told.load(Ordering::SeqCst), 2, "the first at once, all others together");
        let first = come();
        tokio::time::sleep(PAUSE / 2).await;
        let later: Vec<_> = (0..400).map(|_| come()).collect();
        for one in later.into_iter().chain([first]) {
            one.await.unwrap();
        }
        assert_eq!(told.load(Ordering::SeqCst), 4, "those who came in the pause were told together");
    }
}
