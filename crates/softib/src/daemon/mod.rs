//! The process behind `softib up`: it holds the running lab and answers on a Unix socket.
//!
//! It is this binary again, started by `launch` with the lab file on standard
//! input. On standard output it says how far it is ([`messages::Started`]) until the API is there;
//! then it lets go of everything that it shares with who started it.

mod api;
pub mod messages;
mod places;
mod readiness;
mod state;

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;
use softib_host::run_dir::RunDir;
use softib_host::runtime::Runtime;
use tokio::net::UnixListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Daemon;
use crate::failure::{Failure, Outcome};
use crate::lab::Lab;
use messages::Started;
use state::State;

pub(crate) fn main(name: Option<&str>, args: &Daemon) -> Outcome {
    let parent = rustix::process::getppid();
    let mut started = std::io::stdout();
    // Fails when who started it is gone.
    let mut say = |message: &Started| {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        started.write_all(&line).and_then(|()| started.flush())
    };
    let result = start(name, args, &mut say);
    let (runtime, dir, state) = match result {
        Ok(parts) => parts,
        Err(failure) => {
            let _ = say(&match failure {
                Failure::Usage(sentence) => Started::Usage(sentence),
                Failure::Failed(error) => Started::Failed(format!("{error:#}")),
                Failure::Status(_) | Failure::Interrupted => Started::Failed(String::new()),
            });
            return Err(Failure::Status(1));
        }
    };
    if args.tied {
        // Set only now: making a user namespace clears it.
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))
            .map_err(std::io::Error::from)?;
        if rustix::process::getppid() != parent {
            return Err(Failure::Interrupted);
        }
    }
    runtime.block_on(serve(&dir, Arc::clone(&state), &mut say))?;
    let programs = state.stop();
    if programs > 0 {
        tracing::info!("ended {programs} programs that still ran on hosts");
    }
    drop(dir);
    Ok(())
}

type Parts = (tokio::runtime::Runtime, RunDir, Arc<State>);

/// Everything up to the running lab, on one thread.
fn start(
    name: Option<&str>,
    args: &Daemon,
    say: &mut impl FnMut(&Started) -> std::io::Result<()>,
) -> Result<Parts, Failure> {
    // Away from the terminal, its signals and the current directory.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/").map_err(std::io::Error::from)?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o077));

    let mut text = String::new();
    std::io::stdin()
        .read_to_string(&mut text)
        .context("the lab file can't be read")?;
    let lab = Lab::parse(&args.source, &text)?;
    let name = name.map(str::to_owned).or_else(|| lab.name.clone());
    let name = name.unwrap_or_else(|| softib_host::run_dir::DEFAULT_NAME.to_owned());

    let dir = RunDir::create(&name)?;
    let log = std::fs::File::create(dir.log()).context("the log can't be made")?;
    rustix::stdio::dup2_stderr(&log).map_err(std::io::Error::from)?;

    let spec = lab.into_spec(name, seed());
    let lab = Runtime::start(&spec, |step| {
        let _ = say(&Started::Step(step.to_string()));
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the control thread can't start")?;
    let exec = lab.serve_exec(&dir)?;
    let state = Arc::new(State::new(spec, args.source.clone(), lab, exec));
    Ok((runtime, dir, state))
}

/// Where all that is random in this lab begins.
fn seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::hash::RandomState::new().build_hasher().finish()
}

/// Answers until the lab is to go down.
async fn serve(
    dir: &RunDir,
    state: Arc<State>,
    say: &mut impl FnMut(&Started) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let listener = UnixListener::bind(dir.control_socket())
        .with_context(|| format!("{} can't be made", dir.control_socket().display()))?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    if say(&Started::Ready).is_err() {
        // Interrupted while the lab was starting.
        return Ok(());
    }
    let null = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null).map_err(std::io::Error::from)?;
    rustix::stdio::dup2_stdout(&null).map_err(std::io::Error::from)?;
    let down = Arc::clone(&state);
    tokio::select! {
        served = axum::serve(listener, api::router(state)).into_future() => served?,
        // Who asked for it gets an answer yet.
        () = async { down.down().await; tokio::time::sleep(Duration::from_millis(5)).await } => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}
