//! The directory of a running lab: where its daemon is found by the lab's name.
//!
//! `$XDG_RUNTIME_DIR/softib/NAME/`, `/run/softib/NAME/` for root, or `softib-UID/NAME/` in the
//! temporary directory when there is neither. Only its owner can enter it, and that is the whole
//! access control of the control socket inside.
//!
//! `daemon.pid` is locked (`flock`) by the daemon as long as it lives, so a daemon that was killed
//! is told from a living one without guessing by process number, and what it left is cleared by the
//! next one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::error::HostError;
use crate::namespace::{is_initial_user_namespace, outer_uid};

/// Name of a lab that was given none.
pub const DEFAULT_NAME: &str = "default";

/// Longest path of a Unix socket, without its final NUL.
const SOCKET_PATH_MAX: usize = 107;

/// The directory of a lab that this process runs. Removed, with everything in it, on drop.
#[derive(Debug)]
pub struct RunDir {
    name: String,
    path: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Makes the directory of lab `name` and locks it. Clears what a dead daemon left in it.
    ///
    /// # Errors
    /// [`HostError::AlreadyRunning`], a bad name, or a base directory that is not this user's
    /// alone.
    pub fn create(name: &str) -> Result<Self, HostError> {
        Self::create_in(&base_dir()?, name)
    }

    /// As [`RunDir::create`], in a given base directory.
    ///
    /// # Errors
    /// As [`RunDir::create`].
    pub fn create_in(base: &Path, name: &str) -> Result<Self, HostError> {
        check_name(name)?;
        make_private_dir(base)?;
        let path = base.join(name);
        let longest = path.join("control.sock");
        if longest.as_os_str().as_bytes().len() > SOCKET_PATH_MAX {
            return Err(HostError::PathTooLong(longest));
        }
        // A daemon that goes down may remove the directory between two of our steps: then begin
        // again.
        for attempt in 0..100 {
            make_private_dir(&path)?;
            let pid_file = path.join("daemon.pid");
            let opened = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .mode(0o600)
                .open(&pid_file);
            let mut lock = match opened {
                Ok(file) => file,
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    return Err(HostError::system(
                        format!("create {}", pid_file.display()),
                        error,
                    ));
                }
            };
            if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
                // Somebody who lists the labs at this moment holds it too, for a microsecond; and
                // a daemon that was killed, until the last of its threads is gone.
                let pid = read_pid(&mut lock);
                if attempt < 5 {
                    std::thread::sleep(Duration::from_millis(2));
                } else if is_dying(pid) {
                    std::thread::sleep(Duration::from_millis(20));
                } else {
                    return Err(HostError::AlreadyRunning {
                        name: name.to_owned(),
                        pid,
                    });
                }
                continue;
            }
            if !is_same_file(&lock, &pid_file) {
                continue;
            }
            clear(&path, true);
            lock.set_len(0)
                .and_then(|()| lock.write_all(format!("{}\n", std::process::id()).as_bytes()))
                .map_err(|error| {
                    HostError::system(format!("write {}", pid_file.display()), error)
                })?;
            return Ok(Self {
                name: name.to_owned(),
                path,
                _lock: lock,
            });
        }
        Err(HostError::system(
            format!("make {}", path.display()),
            io::Error::other("another process keeps removing it"),
        ))
    }

    /// The lab's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the HTTP API listens.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// Where namespaces are handed out ([`crate::enter`]).
    #[must_use]
    pub fn exec_socket(&self) -> PathBuf {
        self.path.join("exec.sock")
    }

    /// The daemon's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }

    /// The hosts file that programs see on the lab's hosts.
    #[must_use]
    pub fn hosts_file(&self) -> PathBuf {
        self.path.join("hosts")
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        clear(&self.path, false);
        // Errors have nobody to go to; what stays is cleared by the next lab of this name.
        let _ = fs::remove_dir(&self.path);
    }
}

/// A lab as seen from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabEntry {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: PathBuf,
    /// Its daemon's process; `None`: the daemon is dead.
    pub pid: Option<u32>,
}

impl LabEntry {
    /// Where the HTTP API listens.
    #[must_use]
    pub fn control_socket(&self) -> PathBuf {
        self.path.join("control.sock")
    }

    /// Where namespaces are handed out ([`crate::enter`]).
    #[must_use]
    pub fn exec_socket(&self) -> PathBuf {
        self.path.join("exec.sock")
    }

    /// The daemon's log.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.path.join("log")
    }
}

/// The running lab of this name.
///
/// # Errors
/// [`HostError::NotRunning`], also when its daemon was killed.
pub fn find(name: &str) -> Result<LabEntry, HostError> {
    check_name(name)?;
    let entry = entry(&base_dir()?, name);
    entry
        .filter(|entry| entry.pid.is_some())
        .ok_or_else(|| HostError::NotRunning {
            name: name.to_owned(),
        })
}

/// All labs of this user in the order of their names, dead ones too.
///
/// # Errors
/// When the base directory cannot be read.
pub fn list() -> Result<Vec<LabEntry>, HostError> {
    let base = base_dir()?;
    let dir = match fs::read_dir(&base) {
        Ok(dir) => dir,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(HostError::system(format!("read {}", base.display()), error)),
    };
    let mut labs: Vec<_> = dir
        .filter_map(|item| item.ok()?.file_name().into_string().ok())
        .filter_map(|name| entry(&base, &name))
        .collect();
    labs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(labs)
}

/// Removes the directory of a lab whose daemon is dead.
///
/// # Errors
/// [`HostError::AlreadyRunning`] when it is not.
pub fn remove_stale(name: &str) -> Result<(), HostError> {
    RunDir::create(name).map(drop)
}

/// The directory that holds the directories of this user's labs.
///
/// # Errors
/// None at present: a directory that is missing is made by [`RunDir::create`].
pub fn base_dir() -> Result<PathBuf, HostError> {
    let uid = outer_uid();
    if uid == 0 && is_initial_user_namespace() {
        return Ok(PathBuf::from("/run/softib"));
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    if let Some(runtime) = runtime
        && fs::metadata(&runtime)
            .is_ok_and(|meta| meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw())
    {
        return Ok(runtime.join("softib"));
    }
    Ok(std::env::temp_dir().join(format!("softib-{uid}")))
}

/// Whether `name` can be the name of a lab: it becomes a directory and part of a socket's path.
///
/// # Errors
/// [`HostError::BadLabName`].
pub fn check_name(name: &str) -> Result<(), HostError> {
    let good = (1..=48).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if good {
        Ok(())
    } else {
        Err(HostError::BadLabName(name.to_owned()))
    }
}

fn entry(base: &Path, name: &str) -> Option<LabEntry> {
    let path = base.join(name);
    let mut file = File::open(path.join("daemon.pid")).ok()?;
    // A shared lock is refused exactly as long as the daemon lives.
    let alive = flock(&file, FlockOperation::NonBlockingLockShared).is_err();
    let pid = alive.then(|| read_pid(&mut file));
    Some(LabEntry {
        name: name.to_owned(),
        path,
        pid,
    })
}

fn read_pid(file: &mut File) -> u32 {
    let mut text = String::new();
    // 0 stands for a daemon that has not yet written its number.
    file.read_to_string(&mut text)
        .ok()
        .and_then(|_| text.trim().parse().ok())
        .unwrap_or(0)
}

/// Whether a process has ended, or is about to: a killed one still has its locks for some milliseconds.
fn is_dying(pid: u32) -> bool {
    /// `PF_EXITING` of the flags in `/proc/PID/stat`.
    const EXITING: u64 = 4;

    if pid == 0 {
        return false;
    }
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return true;
    };
    // Fields follow the program's name, which may hold any character: state, five more, flags.
    let mut fields = stat.rsplit(')').next().unwrap_or("").split_whitespace();
    let state = fields.next();
    let flags = fields.nth(5).and_then(|flags| flags.parse::<u64>().ok());
    matches!(state, Some("Z" | "X")) || flags.is_some_and(|flags| flags & EXITING != 0)
}

fn is_same_file(file: &File, path: &Path) -> bool {
    let (Ok(ours), Ok(named)) = (file.metadata(), fs::metadata(path)) else {
        return false;
    };
    (ours.dev(), ours.ino()) == (named.dev(), named.ino())
}

/// Makes `path` a directory that only this user can enter, or checks that it is one.
fn make_private_dir(path: &Path) -> Result<(), HostError> {
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path);
    if let Err(error) = made
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(HostError::system(
            format!("make the directory {}", path.display()),
            error,
        ));
    }
    let meta = fs::symlink_metadata(path)
        .map_err(|error| HostError::system(format!("look at {}", path.display()), error))?;
    let uid = rustix::process::geteuid().as_raw();
    if !meta.is_dir() || meta.uid() != uid || meta.permissions().mode() & 0o077 != 0 {
        return Err(HostError::DirectoryNotOurs {
            path: path.to_owned(),
            owner: meta.uid(),
            uid,
        });
    }
    Ok(())
}

/// Removes the files in a lab's directory.
fn clear(path: &Path, keep_lock: bool) {
    let Ok(dir) = fs::read_dir(path) else { return };
    for item in dir.flatten() {
        if keep_lock && item.file_name() == "daemon.pid" {
            continue;
        }
        // Errors have nobody to go to; binding the socket says it if one stays in the way.
        let _ = fs::remove_file(item.path());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lab_runs_once_and_leaves_nothing() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().join("softib");
        let lab = RunDir::create_in(&base, "a").unwrap();
        fs::write(lab.control_socket(), "").unwrap();
        assert!(matches!(
            RunDir::create_in(&base, "a"),
            Err(HostError::AlreadyRunning { pid, .. }) if pid == std::process::id()
        ));
        assert_eq!(entry(&base, "a").unwrap().pid, Some(std::process::id()));
        let path = lab.path().to_owned();
        drop(lab);
        assert!(!path.exists());
        assert_eq!(entry(&base, "a"), None);
    }

    #[test]
    fn what_a_killed_daemon_left_is_cleared() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().join("softib");
        let path = base.join("a");
        make_private_dir(&path).unwrap();
        fs::write(path.join("daemon.pid"), "1\n").unwrap();
        fs::write(path.join("control.sock"), "").unwrap();
        assert_eq!(entry(&base, "a").unwrap().pid, None);
        let lab = RunDir::create_in(&base, "a").unwrap();
        assert!(!lab.control_socket().exists());
    }

    #[test]
    fn the_living_are_told_from_the_dying() {
        assert!(!is_dying(std::process::id()));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        while !is_dying(pid) {
            std::thread::sleep(Duration::from_millis(1));
        }
        child.wait().unwrap();
        assert!(is_dying(pid));
    }

    #[test]
    fn a_directory_open_to_others_is_refused() {
        let base = tempfile::tempdir().unwrap();
        let base = base.path().join("softib");
        make_private_dir(&base).unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(
            RunDir::create_in(&base, "a"),
            Err(HostError::DirectoryNotOurs { .. })
        ));
    }

    #[test]
    fn names_that_would_leave_the_directory_are_refused() {
        for name in ["", ".", "..", "a/b", "-x", "a b", "\u{e4}", &"x".repeat(49)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert!(check_name("two-hosts.1").is_ok());
    }
}
