//! Starts a lab's daemon, waits for the lab with progress shown, and takes it down again.

use std::cell::RefCell;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressStyle};
use softib_host::run_dir::{self, DEFAULT_NAME, LabEntry};
use tokio::signal::unix::{SignalKind, signal};

use crate::client::Client;
use crate::daemon::messages::{Started, Status};
use crate::failure::{Failure, Outcome};
use crate::lab::{self, Lab};
use crate::text::{note, some_of};

/// What to start.
#[derive(Debug)]
pub(crate) struct Launch<'a> {
    /// What to call the lab.
    pub name: String,
    /// The log filter.
    pub log: Option<&'a str>,
    /// What errors call the file.
    pub source: String,
    /// The file's text.
    pub text: String,
    /// Whether the lab goes down with this process.
    pub tied: bool,
}

/// A lab that this process started.
#[derive(Debug)]
pub(crate) struct Launched {
    /// Its name.
    pub name: String,
    /// Where it is found.
    pub entry: LabEntry,
    daemon: Child,
}

impl<'a> Launch<'a> {
    /// A lab from a file, which is checked; `-` is standard input. Its name is the one given, or the
    /// one in the file.
    pub(crate) fn from_file(
        name: Option<&'a str>,
        log: Option<&'a str>,
        file: &Path,
        tied: bool,
    ) -> Result<Self, Failure> {
        let source = if file == Path::new("-") {
            "standard input".to_owned()
        } else {
            file.display().to_string()
        };
        let text = lab::read(file).map_err(|error| {
            Failure::Usage(format!("the lab file {source} can't be read: {error}"))
        })?;
        let lab = Lab::parse(&source, &text)?;
        let name = name.or(lab.name.as_deref()).unwrap_or(DEFAULT_NAME);
        Ok(Self {
            name: name.to_owned(),
            log,
            source,
            text,
            tied,
        })
    }

    /// Starts the daemon and returns when its API is there.
    pub(crate) fn start(&self, progress: &Progress<'_>) -> Result<Launched, Failure> {
        let mut command = Command::new(own_program()?);
        command.args(["daemon", "--name", &self.name, "--source", &self.source]);
        if self.tied {
            command.arg("--tied");
        }
        match self.log {
            Some(filter) => command.args(["--log", filter]),
            None => command.env_remove("SOFTIB_LOG"),
        };
        let mut daemon = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("the lab's daemon can't be started")?;
        if let Some(mut stdin) = daemon.stdin.take() {
            // A daemon that refuses to read says why on its output.
            let _ = stdin.write_all(self.text.as_bytes());
        }
        let output = daemon.stdout.take();
        match wait_for_api(output.map(BufReader::new), progress) {
            Ok(()) => {}
            Err(failure) => {
                let _ = daemon.wait();
                return Err(failure);
            }
        }
        let entry = run_dir::find(&self.name)?;
        Ok(Launched {
            name: self.name.clone(),
            entry,
            daemon,
        })
    }
}

/// Follows what the daemon says of its start.
fn wait_for_api(output: Option<impl BufRead>, progress: &Progress<'_>) -> Outcome {
    for line in output.into_iter().flat_map(BufRead::lines) {
        let line = line.context("the lab's daemon says nothing")?;
        match serde_json::from_str(&line) {
            Ok(Started::Step(step)) => progress.step(&step),
            Ok(Started::Ready) => return Ok(()),
            Ok(Started::Usage(sentence)) => return Err(Failure::Usage(sentence)),
            Ok(Started::Failed(sentence)) => return Err(Failure::Failed(anyhow!(sentence))),
            Err(error) => tracing::debug!("{line}: {error}"),
        }
    }
    Err(Failure::Failed(anyhow!(
        "the lab's daemon ended before the lab was up; `--log debug` may show why"
    )))
}

impl Launched {
    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        Client::new(&self.entry)
    }

    /// Takes the lab down and waits until it is gone.
    pub(crate) async fn down(mut self) -> Outcome {
        let _ = self.client().ask("/down").await;
        let start = Instant::now();
        loop {
            match self.daemon.try_wait() {
                Ok(None) if start.elapsed() < PATIENCE => tokio::time::sleep(MOMENT).await,
                Ok(None) => {
                    let _ = self.daemon.kill();
                    let _ = self.daemon.wait();
                    let _ = run_dir::remove_stale(&self.name);
                    break;
                }
                Ok(Some(_)) | Err(_) => break,
            }
        }
        Ok(())
    }
}

/// How long a lab has for going down before it is killed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Between two looks.
const MOMENT: Duration = Duration::from_millis(10);

/// Takes down a lab that another process started, and waits until it is gone.
pub(crate) async fn take_down(lab: &LabEntry) -> Outcome {
    let asked = Client::new(lab).ask("/down").await;
    let pid = lab
        .pid
        .and_then(|pid| i32::try_from(pid).ok())
        .and_then(rustix::process::Pid::from_raw);
    if asked.is_err()
        && let Some(pid) = pid
    {
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    }
    let start = Instant::now();
    let mut killed = false;
    while run_dir::find(&lab.name).is_ok_and(|found| found.pid == lab.pid) || pid.is_some_and(lives)
    {
        if start.elapsed() > PATIENCE {
            let Some(pid) = pid.filter(|_| !killed) else {
                return Err(Failure::Failed(anyhow!(
                    "lab {:?} does not go down",
                    lab.name
                )));
            };
            killed = true;
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            tokio::time::sleep(MOMENT * 10).await;
            let _ = run_dir::remove_stale(&lab.name);
        }
        tokio::time::sleep(MOMENT).await;
    }
    Ok(())
}

/// Whether a process does something still: one that waits for its parent to look does not.
fn lives(pid: rustix::process::Pid) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).is_ok_and(|stat| {
        !stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .trim_start()
            .starts_with('Z')
    })
}

/// Waits until every interface that can run does.
pub(crate) async fn wait_ready(
    client: &Client,
    timeout: Duration,
    progress: &Progress<'_>,
) -> Result<Status, Failure> {
    let start = Instant::now();
    loop {
        let status = client.status().await?;
        let expected = status
            .interfaces
            .iter()
            .filter(|interface| interface.expected);
        let (mut running, mut missing) = (0_usize, Vec::new());
        for interface in expected {
            if interface.ready {
                running += 1;
            } else {
                missing.push(interface);
            }
        }
        if missing.is_empty() {
            return Ok(status);
        }
        progress.count(running, running + missing.len());
        if start.elapsed() > timeout {
            let first = missing.iter().take(3).map(|interface| {
                let reason = interface.reason.as_deref().unwrap_or("no reason known");
                format!("{}:{} ({reason})", interface.host, interface.interface)
            });
            return Err(Failure::Failed(anyhow!(
                "{} of {} interfaces do not run after {}s: {}",
                missing.len(),
                running + missing.len(),
                timeout.as_secs(),
                some_of(first)
            )));
        }
        tokio::time::sleep(MOMENT * 2).await;
    }
}

/// Does `work` unless somebody interrupts it.
pub(crate) async fn interruptible<T>(
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::select! {
        done = work => done,
        _ = interrupt.recv() => Err(Failure::Interrupted),
        _ = terminate.recv() => Err(Failure::Interrupted),
        _ = hangup.recv() => Err(Failure::Interrupted),
    }
}

/// The path of this program, to start it again.
pub(crate) fn own_program() -> Result<std::path::PathBuf, Failure> {
    Ok(std::env::current_exe().context("the path of softib itself is not known")?)
}

/// Takes each step of a start.
type Teller<'a> = Box<dyn FnMut(&str) + 'a>;

/// Shows how far a lab is.
pub(crate) struct Progress<'a> {
    bar: ProgressBar,
    tell: Option<RefCell<Teller<'a>>>,
}

impl<'a> Progress<'a> {
    /// A moving line on a terminal; elsewhere a line at the start.
    pub(crate) fn new(what: &str) -> Self {
        if !std::io::stderr().is_terminal() {
            note(format_args!("{what}: starting"));
            return Self {
                bar: ProgressBar::hidden(),
                tell: None,
            };
        }
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {prefix}: {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        bar.set_prefix(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(80));
        Self { bar, tell: None }
    }

    /// Each step is told.
    pub(crate) fn telling(tell: impl FnMut(&str) + 'a) -> Self {
        Self {
            bar: ProgressBar::hidden(),
            tell: Some(RefCell::new(Box::new(tell))),
        }
    }

    fn step(&self, step: &str) {
        self.bar.set_message(step.to_owned());
        if let Some(tell) = &self.tell {
            (tell.borrow_mut())(step);
        }
    }

    fn count(&self, running: usize, all: usize) {
        self.bar
            .set_message(format!("{running} of {all} interfaces run"));
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
