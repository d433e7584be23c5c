//! `softib down`.

use crate::args::Down;
use crate::client::{block_on, find, running};
use crate::failure::Outcome;
use crate::launch::take_down;

pub(crate) fn down(name: Option<&str>, args: &Down) -> Outcome {
    let labs = if args.all {
        running()?
    } else {
        vec![find(name)?]
    };
    block_on(async {
        for lab in &labs {
            take_down(lab).await?;
            eprintln!("lab {:?} is down", lab.name);
        }
        Ok(())
    })
}
