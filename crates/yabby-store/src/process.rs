//! What the system knows about another process, to tell whether it can still hold a lock.

use std::fs;
use std::path::Path;

use yabby_domain::session::store_lock::Process;

/// Looks a process up. Where there is no `/proc` it is only known whether it runs.
pub(crate) fn look_up(pid: i64) -> Process {
    if let Some(known) = in_proc(pid) {
        return known;
    }
    if Path::new("/proc/self/stat").exists() && !Path::new(&format!("/proc/{pid}")).exists() {
        return Process::Gone;
    }
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    match pid.map(rustix::process::test_kill_process) {
        None | Some(Err(rustix::io::Errno::SRCH)) => Process::Gone,
        Some(_) => Process::Alive,
    }
}

/// When a process started, to the second. One that ended and waits to be buried is gone.
fn in_proc(pid: i64) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program, in parentheses, may hold anything.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    if matches!(fields.first(), Some(&("Z" | "X"))) {
        return Some(Process::Gone);
    }
    let ticks: f64 = fields.get(19)?.parse().ok()?;
    let boot = fs::read_to_string("/proc/stat").ok()?;
    let boot: f64 = boot.lines().find_map(|line| line.strip_prefix("btime "))?.parse().ok()?;
    #[expect(clippy::cast_precision_loss, reason = "about a hundred")]
    let per_second = rustix::param::clock_ticks_per_second() as f64;
    Some(Process::Since((boot + ticks / per_second) * 1000.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_known_by_its_start() {
        let now = jiff::Timestamp::now().as_millisecond() as f64;
        let own = look_up(i64::from(std::process::id()));
        assert!(!own.is_not_the_one(now), "{own:?} at {now}");
        assert!(own.is_not_the_one(0.0), "{own:?}");
        assert_eq!(look_up(i64::from(i32::MAX)), Process::Gone);
        assert_eq!(look_up(0), Process::Gone);
    }

    #[test]
    fn a_process_that_ended_is_gone() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = i64::from(child.id());
        child.wait().unwrap();
        assert!(look_up(pid).is_not_the_one(f64::MAX));
    }
}
