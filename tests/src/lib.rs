//! The bench of the end-to-end tests: labs of real hosts in network namespaces, driven by the
//! `softib` binary as a person would, and judged by stock programs.
//!
//! Every test has a lab of its own under its own name, so they run side by side. A lab is taken
//! down when its [`Lab`] is dropped, whether the test passed or not.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The `softib` that is tried: `SOFTIB_BIN`, or the release binary of this checkout.
///
/// # Panics
/// It is not there.
#[must_use]
pub fn softib() -> PathBuf {
    let binary = std::env::var_os("SOFTIB_BIN").map_or_else(
        || {
            let target = std::env::var_os("CARGO_TARGET_DIR")
                .map_or_else(|| root().join("target"), PathBuf::from);
            target.join("release/softib")
        },
        PathBuf::from,
    );
    assert!(
        binary.is_file(),
        "{} is not there: run `cargo xtask test`, or `cargo build --release` and then the test",
        binary.display()
    );
    binary
}

/// The root of the checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .map_or_else(PathBuf::new, Path::to_path_buf)
}

/// A lab file of `examples/`.
#[must_use]
pub fn example(name: &str) -> PathBuf {
    root().join("examples").join(name)
}

/// Whether labs can run here; says so when they can't.
#[must_use]
pub fn can_run() -> bool {
    let tun = Path::new("/dev/net/tun").exists();
    if !tun {
        eprintln!("skipped: this machine has no /dev/net/tun");
    }
    tun
}

/// Whether a stock program is there; says so when it is not.
#[must_use]
pub fn has(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let there = std::env::split_paths(&path)
        .chain(["/usr/sbin".into(), "/sbin".into()])
        .any(|folder| folder.join(program).is_file());
    if !there {
        eprintln!("skipped: {program} is not installed (`cargo xtask setup` installs it)");
    }
    there
}

/// A running lab.
#[derive(Debug)]
pub struct Lab {
    binary: PathBuf,
    name: String,
    /// A folder for the test's files, removed with the lab.
    pub folder: tempfile::TempDir,
}

impl Lab {
    /// Brings a lab up and waits until its interfaces run.
    ///
    /// # Panics
    /// It does not come up.
    #[must_use]
    pub fn up(file: &Path) -> Self {
        let lab = Self::named();
        let output = lab.softib("up").arg(file).output().expect("softib starts");
        assert_ok("softib up", &output);
        lab
    }

    /// Brings a lab up from the text of a lab file.
    ///
    /// # Panics
    /// It does not come up.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        let lab = Self::named();
        let file = lab.folder.path().join("lab.toml");
        std::fs::write(&file, text).expect("the lab file can be written");
        let output = lab.softib("up").arg(&file).output().expect("softib starts");
        assert_ok("softib up", &output);
        lab
    }

    /// A lab's name and folder, with nothing running yet.
    ///
    /// # Panics
    /// No temporary folder can be made.
    #[must_use]
    pub fn named() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        Self {
            binary: softib(),
            name: format!("test-{}-{number}", std::process::id()),
            folder: tempfile::tempdir().expect("a temporary folder can be made"),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `softib SUBCOMMAND --name THIS`, to be given more arguments.
    #[must_use]
    pub fn softib(&self, subcommand: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .arg(subcommand)
            .args(["--name", &self.name])
            .stdin(Stdio::null());
        command
    }

    /// A program on a host, not started yet.
    #[must_use]
    pub fn on(&self, host: &str, program: &[&str]) -> Command {
        let mut command = self.softib("exec");
        command.arg(host).arg("--").args(program);
        command
    }

    /// Runs a program on a host to its end.
    ///
    /// # Panics
    /// It can't be started.
    #[must_use]
    pub fn try_run(&self, host: &str, program: &[&str]) -> Output {
        self.on(host, program).output().expect("softib starts")
    }

    /// Runs a program on a host and returns what it printed.
    ///
    /// # Panics
    /// Its exit status is not 0.
    #[must_use]
    pub fn run(&self, host: &str, program: &[&str]) -> String {
        let output = self.try_run(host, program);
        assert_ok(&format!("on {host}: {}", program.join(" ")), &output);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Starts a program on a host; it ends when the guard is dropped.
    ///
    /// # Panics
    /// It can't be started.
    #[must_use]
    pub fn spawn(&self, host: &str, program: &[&str]) -> Running {
        let child = self
            .on(host, program)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("softib starts");
        Running(Some(child))
    }

    /// Waits until something listens on a TCP port of a host.
    ///
    /// # Panics
    /// Nothing does within 15 seconds.
    pub fn wait_for_port(&self, host: &str, port: u16) {
        let wanted = format!(":{port} ");
        wait_until(
            &format!("port {port} of {host} is open"),
            Duration::from_secs(15),
            || self.run(host, &["ss", "-lnt"]).contains(&wanted),
        );
    }

    /// `softib show WHAT --json`.
    ///
    /// # Panics
    /// The command fails or prints no JSON.
    #[must_use]
    pub fn show(&self, what: &str) -> serde_json::Value {
        let output = self
            .softib("show")
            .args([what, "--json"])
            .output()
            .expect("softib starts");
        assert_ok(&format!("softib show {what} --json"), &output);
        serde_json::from_slice(&output.stdout).expect("--json prints JSON")
    }

    /// Runs `ping` with these arguments from a host; how many answers came of how many requests.
    ///
    /// # Panics
    /// `ping` prints no statistics.
    #[must_use]
    pub fn ping(&self, host: &str, arguments: &[&str]) -> (u32, u32) {
        let mut program = vec!["ping"];
        program.extend(arguments);
        let output = self.try_run(host, &program);
        let text = String::from_utf8_lossy(&output.stdout);
        ping_statistics(&text).unwrap_or_else(|| {
            panic!(
                "ping {arguments:?} on {host} printed no statistics:\n{text}{}",
                stderr(&output)
            )
        })
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.softib("down").output();
    }
}

/// Received and sent, from the statistics that `ping` prints.
#[must_use]
pub fn ping_statistics(text: &str) -> Option<(u32, u32)> {
    let line = text
        .lines()
        .find(|line| line.contains("packets transmitted"))?;
    let mut numbers = line
        .split(',')
        .filter_map(|part| part.trim().split(' ').next()?.parse().ok());
    let sent = numbers.next()?;
    let received = numbers.next()?;
    Some((received, sent))
}

/// A program that ends with its guard.
#[derive(Debug)]
pub struct Running(Option<Child>);

impl Running {
    /// Waits for its end.
    ///
    /// # Panics
    /// Waiting fails.
    #[must_use]
    pub fn wait(mut self) -> Output {
        let child = self.0.take().expect("it is taken only here");
        child.wait_with_output().expect("a child can be waited for")
    }

    /// Sends it a signal, as Ctrl-C does with [`rustix::process::Signal::INT`].
    pub fn signal(&self, signal: rustix::process::Signal) {
        if let Some(child) = &self.0 {
            let pid = rustix::process::Pid::from_child(child);
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until something is true.
///
/// # Panics
/// It is not within `limit`.
pub fn wait_until(what: &str, limit: Duration, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < limit, "waited {limit:?} in vain: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Checks that a program ended well.
///
/// # Panics
/// It did not.
pub fn assert_ok(what: &str, output: &Output) {
    assert!(
        output.status.success(),
        "{what} ended with {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        stderr(output)
    );
}

/// What a program said on standard error.
#[must_use]
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
