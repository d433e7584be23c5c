//! `softib ps`: which labs are up.

use serde::Serialize;

use super::show::{print, print_json, table};
use crate::args::Ps;
use crate::client::{Client, block_on, running};
use crate::failure::Outcome;
use crate::text::note;

#[derive(Serialize)]
struct Row {
    name: String,
    pid: Option<u32>,
    state: &'static str,
    hosts: usize,
    switches: usize,
    interfaces: usize,
    interfaces_ready: usize,
    uptime_ms: u64,
    source: String,
    /// Where `control.sock` is, and the daemon's log.
    directory: String,
}

pub(crate) fn ps(args: &Ps) -> Outcome {
    let rows = block_on(async {
        let mut rows = Vec::new();
        for lab in running()? {
            let status = Client::new(&lab).status().await.ok();
            let interfaces = status.as_ref().map_or(&[][..], |status| &status.interfaces);
            let ready = interfaces.iter().filter(|interface| interface.ready);
            rows.push(Row {
                name: lab.name,
                pid: lab.pid,
                // One that just starts or goes down does not answer.
                state: match &status {
                    Some(_) => "up",
                    None => "not answering",
                },
                interfaces: interfaces.len(),
                interfaces_ready: ready.count(),
                hosts: status.as_ref().map_or(0, |status| status.hosts),
                switches: status.as_ref().map_or(0, |status| status.switches),
                uptime_ms: status.as_ref().map_or(0, |status| status.uptime_ms),
                source: status.map_or_else(String::new, |status| status.source),
                directory: lab.path.display().to_string(),
            });
        }
        Ok(rows)
    })?;
    if args.json {
        return print_json(&rows);
    }
    if rows.is_empty() {
        note("no lab is up; `softib up LAB` brings one up");
        return Ok(());
    }
    let cells = rows.into_iter().map(|row| {
        vec![
            row.name,
            row.pid.map_or_else(String::new, |pid| pid.to_string()),
            row.state.to_owned(),
            row.hosts.to_string(),
            row.switches.to_string(),
            format!("{} of {} run", row.interfaces_ready, row.interfaces),
            age(row.uptime_ms / 1000),
            row.source,
        ]
    });
    let header = [
        "lab",
        "pid",
        "state",
        "hosts",
        "switches",
        "interfaces",
        "up for",
        "file",
    ];
    print(&table(&header, cells))
}

/// A time in the unit that suits it.
fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}
