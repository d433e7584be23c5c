//! `softib down`.

use crate::args::Down;
use crate::client::{block_on, find, running};
use crate::failure::Outcome;
use crate::launch::take_down;
use crate::text::note;

pub(crate) fn down(name: Option<&str>, args: &Down) -> Outcome {
    let labs = if args.all {
        running()?
    } else {
        vec![find(name)?]
    };
    block_on(async {
        for lab in &labs {
            take_down(lab).await?;
            note(format_args!("lab {:?} is down", lab.name));
        }
        Ok(())
    })
}
