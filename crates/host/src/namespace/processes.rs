//! Programs that still run on a lab's hosts when it goes down.

use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use super::NetNamespace;

/// How long programs get to end by themselves after `SIGTERM`.
const GRACE: Duration = Duration::from_millis(500);

/// Ends all programs whose network namespace is one of these, first with `SIGTERM`, then with
/// `SIGKILL`. Returns how many there were.
pub fn end_processes<'a>(namespaces: impl IntoIterator<Item = &'a NetNamespace>) -> usize {
    let wanted: Vec<_> = namespaces
        .into_iter()
        .filter_map(|namespace| rustix::fs::fstat(namespace.as_fd()).ok())
        .map(|stat| (stat.st_dev, stat.st_ino))
        .collect();
    let mut ended = 0;
    // Programs may start others while they are being ended, so look again until there are none.
    for round in 0..10 {
        let found = inside(&wanted);
        if found.is_empty() {
            break;
        }
        if round == 0 {
            ended = found.len();
            signal(&found, Signal::TERM);
            wait(&found, GRACE);
        } else {
            signal(&found, Signal::KILL);
            wait(&found, GRACE);
        }
    }
    ended
}

/// Handles of the processes inside one of the namespaces.
fn inside(wanted: &[(u64, u64)]) -> Vec<OwnedFd> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let own = std::process::id();
    processes
        .flatten()
        .filter_map(|item| item.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| {
            let raw = Pid::from_raw(i32::try_from(pid).ok()?)?;
            // The handle first: once it is open, its number cannot become another process
            // unnoticed.
            let handle = pidfd_open(raw, PidfdFlags::empty()).ok()?;
            let namespace = fs::metadata(format!("/proc/{pid}/ns/net")).ok()?;
            wanted
                .contains(&(namespace.dev(), namespace.ino()))
                .then_some(handle)
        })
        .collect()
}

fn signal(processes: &[OwnedFd], signal: Signal) {
    for process in processes {
        // One that has just ended by itself is what we want.
        let _ = pidfd_send_signal(process, signal);
    }
}

/// Waits until all have ended, or for `limit`.
fn wait(processes: &[OwnedFd], limit: Duration) {
    let end = Instant::now() + limit;
    for process in processes {
        let left = end.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        let mut fds = [PollFd::new(process, PollFlags::IN)];
        // A handle becomes readable when its process ends. Interrupted: the next round looks again.
        let _ = poll(&mut fds, timeout.as_ref());
    }
}
