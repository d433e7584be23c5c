//! How tests get hosts: as this user if it is root, and as an ordinary user in a user namespace.
//!
//! A test of the standard harness never runs on its process's only thread, and a process with two
//! cannot move into a user namespace. So the namespace is made by `unshare -Ur` around a process of
//! the test's own; that softib can make it itself is tested in `tests/`.

use std::path::PathBuf;
use std::process::Command;

use crate::namespace::has_capabilities;

/// Why a test cannot run here.
pub(crate) struct Missing(pub(crate) String);

const CHILD: &str = "SOFTIB_TEST_CHILD";

/// Whether this is the process in which the body of `test` should run. If not, it has run in
/// others: as an ordinary user, and, when this user is root, as root too.
pub(crate) fn in_own_process(test: &str) -> Result<bool, Missing> {
    if std::env::var_os(CHILD).is_some() {
        return Ok(true);
    }
    if !std::path::Path::new("/dev/net/tun").exists() {
        return Err(Missing("there is no /dev/net/tun".to_owned()));
    }
    let own = std::env::current_exe().map_err(|error| Missing(error.to_string()))?;
    let args = [test, "--exact", "--nocapture", "--test-threads=1"];
    if !has_capabilities() {
        expect_success(
            Command::new("unshare")
                .arg("-Ur")
                .arg(&own)
                .args(args)
                .env(CHILD, "1"),
        )?;
        return Ok(false);
    }
    expect_success(Command::new(&own).args(args).env(CHILD, "1"))?;
    // As an ordinary user, with the TUN device open to all as distributions ship it, in a mount
    // namespace of its own; the program where that user can reach it.
    let dir = tempfile::tempdir().map_err(|error| Missing(error.to_string()))?;
    let script = format!(
        "chmod 755 {dir} && cp {own} {dir}/test && chmod 755 {dir}/test && \
         mount -t tmpfs tmpfs /dev/net && mknod -m 666 /dev/net/tun c 10 200 && \
         exec setpriv --reuid 65534 --regid 65534 --clear-groups unshare -Ur {dir}/test {args}",
        dir = dir.path().display(),
        own = own.display(),
        args = args.join(" "),
    );
    expect_success(
        Command::new("unshare")
            .args(["-m", "sh", "-c", &script])
            .env(CHILD, "1"),
    )?;
    Ok(false)
}

/// Runs a test's process. Failing is the test's failure; not starting is a reason to skip it.
fn expect_success(command: &mut Command) -> Result<(), Missing> {
    let output = command
        .output()
        .map_err(|error| Missing(format!("{command:?}: {error}")))?;
    let text = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    eprintln!("{text}");
    if !output.status.success() && text.contains("unshare failed") {
        return Err(Missing("user namespaces are not to be had here".to_owned()));
    }
    assert!(output.status.success(), "{command:?} failed:\n{text}");
    Ok(())
}

/// Where a program is.
pub(crate) fn find_program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
}
