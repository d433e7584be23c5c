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
    uptime_ms: u64,
    source: String,
}

pub(crate) fn ps(args: &Ps) -> Outcome {
    let rows = block_on(async {
        let mut rows = Vec::new();
        for lab in running()? {
            // One that just starts or goes down does not answer.
            let status = Client::new(&lab).status().await.ok();
            rows.push(Row {
                name: lab.name,
                pid: lab.pid,
                state: match &status {
                    Some(status) if status.ready => "up",
                    Some(_) => "coming up",
                    None => "not answering",
                },
                hosts: status.as_ref().map_or(0, |status| status.hosts),
                switches: status.as_ref().map_or(0, |status| status.switches),
                uptime_ms: status.as_ref().map_or(0, |status| status.uptime_ms),
                source: status.map_or_else(String::new, |status| status.source),
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
        [
            row.name,
            row.pid.map_or_else(String::new, |pid| pid.to_string()),
            row.state.to_owned(),
            row.hosts.to_string(),
            row.switches.to_string(),
            format!("{} s", row.uptime_ms / 1000),
            row.source,
        ]
    });
    print(&table(
        &["lab", "pid", "state", "hosts", "switches", "up for", "file"],
        cells,
    ))
}
