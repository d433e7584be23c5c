//! `softib up`: a lab in the background.

use crate::args::Up;
use crate::client::block_on;
use crate::failure::{Failure, Outcome};
use crate::launch::{Launch, Progress, interruptible, wait_ready};
use crate::text::{count, note};

pub(crate) fn up(name: Option<&str>, log: Option<&str>, args: &Up) -> Outcome {
    let launch = Launch::from_file(name, log, &args.lab, false)?;
    let progress = Progress::new(&format!("lab {:?}", launch.name));
    let launched = launch.start(&progress)?;
    block_on(async {
        let client = launched.client();
        if args.no_wait {
            drop(progress);
            note("`softib show hosts` says how far it is");
            return Ok(());
        }
        let ready = interruptible(wait_ready(&client, args.timeout, &progress)).await;
        drop(progress);
        match ready {
            Ok(status) => {
                let waiting = status
                    .interfaces
                    .iter()
                    .filter(|interface| !interface.ready)
                    .count();
                note(format_args!(
                    "lab {:?} is up: {}, {}, {} of {} interfaces run",
                    launched.name,
                    count(status.hosts, "host", "hosts"),
                    count(status.switches, "switch", "switches"),
                    status.interfaces.len() - waiting,
                    status.interfaces.len()
                ));
                if waiting > 0 {
                    note("`softib show hosts` says why the others do not");
                }
                Ok(())
            }
            Err(Failure::Interrupted) => {
                launched.down().await?;
                Err(Failure::Interrupted)
            }
            Err(Failure::Failed(error)) => Err(Failure::Failed(error.context(format!(
                "lab {:?} is not all up (it stays; `softib down` takes it down)",
                launched.name
            )))),
            Err(other) => Err(other),
        }
    })
}
