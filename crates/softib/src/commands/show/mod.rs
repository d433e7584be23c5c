//! `softib show`: the state of a lab as tables or as JSON; both say the same.

mod host;
mod tables;
#[cfg(test)]
mod tests;

use std::io::Write;

use comfy_table::{ContentArrangement, Table};
use serde::Serialize;
use softib_subnet::view::{RoutesView, SubnetView};

use crate::args::{Show, Shown};
use crate::client::{Client, block_on, find, query_value};
use crate::failure::{Failure, Outcome};
use crate::text::some_of;

pub(crate) fn show(name: Option<&str>, args: &Show) -> Outcome {
    let client = Client::new(&find(name)?);
    let view: SubnetView = block_on(client.get("/view"))?;
    let json = args.json;
    match args.what.as_ref().unwrap_or(&Shown::Hosts) {
        Shown::Fabric => either(json, &view.nodes, || tables::fabric(&view.nodes)),
        Shown::Hosts => either(json, &view.interfaces, || {
            tables::interfaces(&view.interfaces)
        }),
        Shown::Host { host } => show_host(json, &view, host),
        Shown::Sm => either(json, &view.manager, || tables::manager(&view.manager)),
        Shown::Groups => either(json, &view.groups, || tables::groups(&view.groups)),
        Shown::Routes { switch } => {
            let path = format!("/routes?node={}", query_value(switch));
            let routes: RoutesView = block_on(client.get(&path))?;
            either(json, &routes, || tables::routes(&routes))
        }
        Shown::Paths => either(json, &view.paths, || tables::paths(&view.paths)),
        Shown::Neighbours => either(json, &view.neighbours, || {
            tables::neighbours(&view.neighbours)
        }),
        Shown::Counters => either(json, &view.counters, || tables::counters(&view.counters)),
        Shown::Drops => either(json, &view.drops, || tables::drops(&view.drops)),
    }
}

fn show_host(json: bool, view: &SubnetView, name: &str) -> Outcome {
    let Some(host) = host::HostView::new(view, name) else {
        let names = some_of(
            view.nodes
                .iter()
                .filter(|n| n.kind == "host")
                .map(|n| &n.name),
        );
        let is_switch = view.nodes.iter().any(|node| node.name == name);
        return Err(Failure::Usage(if is_switch {
            format!(
                "{name} is a switch; `softib show fabric` and `softib show routes {name}` show it"
            )
        } else {
            format!("the lab has no host {name:?}; it has {names}")
        }));
    };
    either(json, &host, || host.text())
}

fn either(json: bool, rows: &impl Serialize, text: impl FnOnce() -> String) -> Outcome {
    if json {
        print_json(rows)
    } else {
        print(&text())
    }
}

pub(crate) fn print_json(rows: &impl Serialize) -> Outcome {
    let mut text = serde_json::to_string_pretty(rows).map_err(anyhow::Error::from)?;
    text.push('\n');
    print(&text)
}

pub(crate) fn print(text: &str) -> Outcome {
    Ok(std::io::stdout().lock().write_all(text.as_bytes())?)
}

/// A table without lines, each row on one line however wide, so that `grep` and `awk` work.
pub(crate) fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(|name| name.to_uppercase()));
    for row in rows {
        table.add_row(row);
    }
    // Cells have a space on both sides.
    let tidy = |line: String| format!("{}\n", line.strip_prefix(' ').unwrap_or(&line).trim_end());
    table.lines().map(tidy).collect()
}
