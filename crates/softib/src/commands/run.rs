//! `softib run`: a lab for as long as a program runs.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use anyhow::Context;
use rustix::process::Signal;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Run;
use crate::client::block_on;
use crate::failure::{Failure, Outcome};
use crate::launch::{Launch, Launched, Progress, interruptible, wait_ready};
use crate::text::note;

pub(crate) fn run(name: Option<&str>, log: Option<&str>, args: &Run) -> Outcome {
    let launch = Launch::from_file(name, log, &args.lab, true)?;
    let progress = Progress::new(&format!("lab {:?}", launch.name));
    let launched = launch.start(&progress)?;
    block_on(async {
        let client = launched.client();
        let result = match interruptible(wait_ready(&client, args.timeout, &progress)).await {
            Ok(_) => program(&launched, &args.command).await,
            Err(failure) => Err(failure),
        };
        drop(progress);
        launched.down().await?;
        result
    })
}

/// Runs the program with the lab's name in its environment.
async fn program(launched: &Launched, command: &[OsString]) -> Outcome {
    let Some((program, arguments)) = command.split_first() else {
        return Ok(());
    };
    let child = Command::new(program)
        .args(arguments)
        .env("SOFTIB_LAB", &launched.name)
        .spawn();
    let mut child = match child {
        Ok(child) => child,
        Err(error) => {
            note(format_args!(
                "error: cannot start {:?}: {error}",
                program.to_string_lossy()
            ));
            let missing = error.kind() == std::io::ErrorKind::NotFound;
            return Err(Failure::Status(if missing { 127 } else { 126 }));
        }
    };
    let status = wait(&mut child).await?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => Err(Failure::Status(u8::try_from(code).unwrap_or(1))),
        // As shells have it.
        None => Err(Failure::Status(
            status
                .signal()
                .and_then(|signal| u8::try_from(128 + signal).ok())
                .unwrap_or(1),
        )),
    }
}

/// Waits for the program; signals that reach softib alone are passed on to it.
async fn wait(child: &mut Child) -> Result<ExitStatus, Failure> {
    // At a terminal Ctrl-C reaches the program itself, and what it means is for the program to say.
    let at_terminal = std::io::stdin().is_terminal();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut hangup = signal(SignalKind::hangup())?;
    loop {
        let pass_on = tokio::select! {
            status = child.wait() => return Ok(status.context("the program can't be waited for")?),
            _ = interrupt.recv() => (!at_terminal).then_some(Signal::INT),
            _ = terminate.recv() => Some(Signal::TERM),
            _ = hangup.recv() => Some(Signal::HUP),
        };
        let pid = child
            .id()
            .and_then(|pid| i32::try_from(pid).ok())
            .and_then(rustix::process::Pid::from_raw);
        if let (Some(signal), Some(pid)) = (pass_on, pid) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}
