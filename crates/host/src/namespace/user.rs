//! The user namespace that gives an ordinary user the rights of root over own namespaces, and only
//! there.

use std::fs;
use std::io;

use rustix::io::Errno;
use rustix::process::{getegid, geteuid};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities, unshare_unsafe};

use crate::error::HostError;

/// Gets the rights to make network namespaces and devices: those that the process has, or else
/// those of root in a new user namespace, in which this user is root and there is nobody else.
///
/// Returns whether it made a user namespace.
///
/// # Errors
/// When user namespaces are not to be had, with the setting that is in the way; and when the
/// process has more than one thread.
pub fn prepare() -> Result<bool, HostError> {
    if has_capabilities() {
        return Ok(false);
    }
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    let threads = fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
    if threads > 1 {
        return Err(HostError::NotSingleThreaded { threads });
    }
    // JUSTIFICATION: there is no safe way to make a namespace.
    // SAFETY: the process has one thread, so no other one can be surprised by new credentials.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }.map_err(explain)?;
    // Groups can be mapped by their owner only when setgroups is given up: else dropping a group
    // could win rights (user_namespaces(7)).
    let denied = write("/proc/self/setgroups", "deny");
    if let Err(error) = denied
        && error.kind() != io::ErrorKind::NotFound
    {
        return Err(HostError::system("write /proc/self/setgroups", error));
    }
    write("/proc/self/uid_map", &format!("0 {uid} 1\n"))
        .and_then(|()| write("/proc/self/gid_map", &format!("0 {gid} 1\n")))
        .map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied if app_armor_restricts() => {
                HostError::UserNamespacesAppArmor
            }
            _ => HostError::system("map this user into a user namespace", error),
        })?;
    if has_capabilities() {
        return Ok(true);
    }
    // AppArmor lets the namespace be made and then takes its capabilities away.
    Err(if app_armor_restricts() {
        HostError::UserNamespacesAppArmor
    } else {
        HostError::UserNamespacesRefused {
            source: io::Error::from_raw_os_error(libc::EPERM),
        }
    })
}

/// Whether this process may make network namespaces and configure them.
#[must_use]
pub fn has_capabilities() -> bool {
    capabilities(None).is_ok_and(|sets| {
        sets.effective
            .contains(CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN)
    })
}

/// The user id of this process as seen from outside its user namespace: the person behind it.
#[must_use]
pub fn outer_uid() -> u32 {
    let uid = geteuid().as_raw();
    read_uid_map()
        .into_iter()
        .find_map(|(inside, outside, count)| {
            let offset = uid.checked_sub(inside)?;
            (offset < count).then(|| outside.saturating_add(offset))
        })
        .unwrap_or(uid)
}

/// Whether this process is in the machine's own user namespace and not in one made for a user or a
/// container.
#[must_use]
pub fn is_initial_user_namespace() -> bool {
    read_uid_map() == [(0, 0, u32::MAX)]
}

fn read_uid_map() -> Vec<(u32, u32, u32)> {
    let text = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    text.lines()
        .filter_map(|line| {
            let mut numbers = line
                .split_ascii_whitespace()
                .map_while(|word| word.parse().ok());
            Some((numbers.next()?, numbers.next()?, numbers.next()?))
        })
        .collect()
}

fn explain(error: Errno) -> HostError {
    if read_number("/proc/sys/user/max_user_namespaces") == Some(0) {
        HostError::UserNamespacesOff
    } else if read_number("/proc/sys/kernel/unprivileged_userns_clone") == Some(0) {
        HostError::UserNamespacesForRoot
    } else if app_armor_restricts() {
        HostError::UserNamespacesAppArmor
    } else {
        HostError::UserNamespacesRefused {
            source: error.into(),
        }
    }
}

fn app_armor_restricts() -> bool {
    read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
        .is_some_and(|value| value > 0)
}

fn read_number(path: &str) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// One `write` call: the kernel takes a map whole or not at all.
fn write(path: &str, text: &str) -> io::Result<()> {
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()))
}
