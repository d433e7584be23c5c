//! `softib demo`: two hosts and a switch, from nothing to a TCP stream, shown step by step.

mod story;

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use softib_subnet::view::SubnetView;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::Command;

use crate::args::Demo;
use crate::client::{Client, block_on};
use crate::failure::{Failure, Outcome};
use crate::lab::TWO_HOSTS;
use crate::launch::{Launch, Progress, interruptible, own_program};
use crate::text::say;
use story::Story;

const SERVER: &str = "10.0.0.2";
const PORT: u16 = 5201;

pub(crate) fn demo(name: Option<&str>, log: Option<&str>, args: &Demo) -> Outcome {
    let start = Instant::now();
    say("A lab of two hosts and a switch, each with InfiniBand ports in software:")?;
    say("")?;
    say("    h1 ---- s1 ---- h2")?;
    say("")?;
    say("1. Bring-up")?;
    let launch = Launch {
        name: name.unwrap_or("demo").to_owned(),
        log,
        source: "the built-in lab".to_owned(),
        text: TWO_HOSTS.to_owned(),
        tied: true,
    };
    let mut story = Story::new(start);
    let launched = launch.start(&Progress::telling(|step| story.tell(step)))?;
    block_on(async {
        let client = launched.client();
        let result = interruptible(async {
            follow(&client, &mut story).await?;
            ping(&launched.name).await?;
            throughput(&launched.name, args.seconds).await
        })
        .await;
        launched.down().await?;
        result
    })?;
    say("")?;
    say(format_args!(
        "The lab is down again, {:.1} s after the start. What to try next:",
        start.elapsed().as_secs_f64()
    ))?;
    say("")?;
    say(NEXT.trim_end())?;
    Ok(())
}

const NEXT: &str =
    "    softib up examples/two-hosts.toml            the same lab, in the background
    softib exec h1 -- ping 10.0.0.2              any program, on any host
    softib exec h1 -- ip -d addr show ib0        as on an InfiniBand machine
    softib show fabric                           also: hosts, sm, routes, drops
    softib capture h1 -w - | wireshark -k -i -   true InfiniBand packets
    softib link set h1 --loss 1% --delay 2ms     bad cables
    softib down
    softib up examples/fat-tree.toml             eight hosts, two leaves, two spines
    softib --help                                everything else
";

/// Shows what happens until all interfaces run.
async fn follow(client: &Client, story: &mut Story) -> Outcome {
    const PATIENCE: Duration = Duration::from_secs(10);
    let start = Instant::now();
    loop {
        let view: SubnetView = client.get("/view").await?;
        story.follow(&view);
        if !view.interfaces.is_empty() && view.interfaces.iter().all(|row| row.ready) {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            let waiting = view.interfaces.iter().find(|row| !row.ready);
            let why = waiting.map_or_else(String::new, |row| {
                let reason = row.reason.as_deref().unwrap_or("no reason known");
                format!("{}:{} does not run: {reason}", row.host, row.interface)
            });
            return Err(Failure::Failed(anyhow!("the lab does not come up; {why}")));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

/// `softib exec HOST -- …`, to be given a program.
fn on_host(lab: &str, host: &str) -> Result<Command, Failure> {
    let mut command = Command::new(own_program()?);
    command
        .args(["exec", "--name", lab, host, "--"])
        .stdin(Stdio::null())
        .kill_on_drop(true);
    Ok(command)
}

/// A program that is installed, wherever an ordinary user's path does not look too.
fn installed(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/bin", "/bin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

async fn ping(lab: &str) -> Outcome {
    say("")?;
    if let Some(ping) = installed("ping") {
        say(format_args!(
            "2. softib exec h1 -- ping -c 5 -i 0.2 {SERVER}"
        ))?;
        let mut command = on_host(lab, "h1")?;
        command.arg(ping).args(["-c", "5", "-i", "0.2", SERVER]);
        return told(&mut command, "ping").await;
    }
    say(format_args!(
        "2. Ping from h1 to {SERVER} (built in; no ping is installed here)"
    ))?;
    let mut command = on_host(lab, "h1")?;
    command.arg(own_program()?).args(["probe", "ping", SERVER]);
    told(&mut command, "ping").await
}

/// Runs a program, its output indented.
async fn told(command: &mut Command, what: &str) -> Outcome {
    let mut child = command
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("{what} can't be started"))?;
    let mut lines = child
        .stdout
        .take()
        .map(|stdout| BufReader::new(stdout).lines());
    while let Some(lines) = &mut lines
        && let Some(line) = lines.next_line().await?
    {
        if !line.is_empty() {
            say(format_args!("    {line}"))?;
        }
    }
    let status = child.wait().await?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Failed(anyhow!(
            "{what} from h1 to h2 failed ({status})"
        )))
    }
}

async fn throughput(lab: &str, seconds: u64) -> Outcome {
    say("")?;
    say(format_args!(
        "3. One TCP stream from h1 to h2 for {seconds} s"
    ))?;
    let program = own_program()?;
    let address = format!("{SERVER}:{PORT}");
    let mut sink = on_host(lab, "h2")?
        .arg(&program)
        .args(["probe", "sink", &address])
        .stdout(Stdio::piped())
        .spawn()
        .context("the receiver can't be started")?;
    let output = sink.stdout.take().context("the receiver says nothing")?;
    let mut lines = BufReader::new(output).lines();
    let _listening = lines.next_line().await?;
    let status = on_host(lab, "h1")?
        .arg(&program)
        .args([
            "probe",
            "source",
            &address,
            "--seconds",
            &seconds.to_string(),
        ])
        .status()
        .await
        .context("the sender can't be started")?;
    if !status.success() {
        return Err(Failure::Failed(anyhow!("the sender failed ({status})")));
    }
    let report = lines.next_line().await?.unwrap_or_default();
    let (octets, time) = report
        .split_once(' ')
        .and_then(|(octets, time)| Some((octets.parse::<f64>().ok()?, time.parse::<f64>().ok()?)))
        .with_context(|| format!("the receiver says {report:?}"))?;
    say(format_args!(
        "    {:.2} Gb/s ({:.2} GB in {time:.2} s), MTU 2044",
        octets * 8.0 / time / 1e9,
        octets / 1e9
    ))?;
    Ok(())
}
