//! `softib link`: cables.

use softib_wire::time::Duration;

use crate::args::{Cable, Link, LinkAction, LinkSet, RateSetting};
use crate::client::{Client, block_on, find};
use crate::daemon::messages::{ImpairmentChange, LinkRequest, LinkState};
use crate::failure::Outcome;
use crate::text::note;

pub(crate) fn link(name: Option<&str>, args: &Link) -> Outcome {
    let client = Client::new(&find(name)?);
    let request = match &args.action {
        LinkAction::Down(cable) => LinkRequest {
            up: Some(false),
            ..nothing(cable)
        },
        LinkAction::Up(cable) => LinkRequest {
            up: Some(true),
            ..nothing(cable)
        },
        LinkAction::Set(LinkSet { cable, change }) => LinkRequest {
            change: ImpairmentChange {
                loss: change.loss,
                corrupt: change.corrupt,
                duplicate: change.duplicate,
                reorder: change.reorder,
                delay_ns: change.delay.map(nanos),
                jitter_ns: change.jitter.map(nanos),
                rate: change.rate.map(|rate| match rate {
                    RateSetting::None => 0,
                    RateSetting::Bits(bits) => bits,
                }),
            },
            ..nothing(cable)
        },
    };
    let state: LinkState = block_on(client.post("/link", &request))?;
    let plugged = if state.up { "up" } else { "down" };
    let rest = if state.impairment.is_empty() {
        String::new()
    } else {
        format!(", {}", state.impairment)
    };
    note(format_args!("{} - {}: {plugged}{rest}", state.a, state.b));
    Ok(())
}

/// A request that changes nothing.
fn nothing(cable: &Cable) -> LinkRequest {
    LinkRequest {
        end: cable.end.clone(),
        other: cable.other.clone(),
        up: None,
        change: ImpairmentChange::default(),
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
