//! `softib set`: an interface's settings.

use crate::args::{MtuSetting, Set, Setting};
use crate::client::{Client, block_on, find};
use crate::daemon::messages::{MtuRequest, MtuState};
use crate::failure::Outcome;
use crate::text::note;

pub(crate) fn set(name: Option<&str>, args: &Set) -> Outcome {
    let client = Client::new(&find(name)?);
    let Setting::Mtu { mtu } = args.setting;
    let request = MtuRequest {
        host: args.interface.host.clone(),
        interface: args.interface.interface.clone(),
        mtu: match mtu {
            MtuSetting::Auto => None,
            MtuSetting::Octets(octets) => Some(octets),
        },
    };
    let state: MtuState = block_on(client.post("/mtu", &request))?;
    match request.mtu {
        Some(mtu) => note(format_args!("{} has an MTU of {mtu}", state.interface)),
        None => note(format_args!(
            "{} has the MTU of its broadcast group",
            state.interface
        )),
    }
    Ok(())
}
