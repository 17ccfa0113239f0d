//! Returns memory to the system that was freed after a peak, such as a long conversation that was compacted or a list of
//! thousands of sessions. glibc keeps most of it otherwise, for as long as the process lives.

use std::time::Duration;

/// How often the memory of the process is looked at.
const INTERVAL: Duration = Duration::from_secs(5);
/// So much more than after the last time is worth returning: it takes a moment in which nothing else can allocate.
const MIN_GROWTH: u64 = 1024 * 1024;

/// Looks now and then for as long as it is polled.
pub(super) async fn return_after_peaks() {
    let mut lowest = private_memory();
    let mut looks = tokio::time::interval(INTERVAL);
    loop {
        looks.tick().await;
        let now = private_memory();
        if now.saturating_sub(lowest) >= MIN_GROWTH {
            lowest = tokio::task::spawn_blocking(return_freed_memory).await.unwrap_or(now);
            tracing::debug!(before = now, after = lowest, "freed memory returned");
        } else {
            lowest = lowest.min(now);
        }
    }
}

/// Returns what is free, and tells how much is still in use.
fn return_freed_memory() -> u64 {
    trim();
    private_memory()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library has no safe interface for this")]
fn trim() {
    // SAFETY: malloc_trim takes the locks of the allocator by itself and may be called from any thread at any time; it
    // changes nothing that is allocated.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Has all threads allocate from few heaps. To be called before there are threads.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the C library has no safe interface for this")]
pub(super) fn share_few_heaps() {
    /// By default there are eight for each processor, and what is free in one is of no use to the others.
    const HEAPS: i32 = 2;
    /// What is longer has pages of its own, which are returned at once: texts of transcripts and requests leave no holes
    /// between what stays.
    const LONG: i32 = 32 * 1024;
    // SAFETY: mallopt may be called at any time; both only say how memory is allocated from now on.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, HEAPS);
        libc::mallopt(libc::M_MMAP_THRESHOLD, LONG);
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub(super) fn share_few_heaps() {}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn trim() {}

/// The memory in bytes that belongs to this process alone, as far as the system tells.
fn private_memory() -> u64 {
    let told = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let mut pages = told.split_whitespace().skip(1).map(|count| count.parse::<u64>().unwrap_or_default());
    let (resident, shared) = (pages.next().unwrap_or_default(), pages.next().unwrap_or_default());
    resident.saturating_sub(shared).saturating_mul(rustix::param::page_size() as u64)
}

#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_is_returned_though_some_of_it_is_in_use() {
        const CHUNK: usize = 32 * 1024;
        const TAKEN: u64 = 128 * 1024 * 1024;
        let mut chunks: Vec<Option<Vec<u8>>> =
            (0..TAKEN / CHUNK as u64).map(|_| Some(vec![1; CHUNK])).collect();
        // What is left stands between what is freed.
        for (at, chunk) in chunks.iter_mut().enumerate() {
            if at % 64 != 0 {
                *chunk = None;
            }
        }
        let before = private_memory();
        let after = return_freed_memory();
        assert!(before.saturating_sub(after) > TAKEN / 2, "{before} before, {after} after");
        assert_eq!(chunks.iter().flatten().count() as u64, TAKEN / CHUNK as u64 / 64);
    }
}
