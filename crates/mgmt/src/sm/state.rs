//! The states of a subnet manager (IBA 14.4.1), as one table.
//!
//! ```text
//!                Alone                    Disable
//!  Discovering ─────────▶ Master   Standby ──────▶ NotActive
//!    │     ▲                │ ▲      ▲ ▲  ◀──────
//!    │     │          Yield │ │ Handover│  Standby
//!    │     │                └─┼──────┘ │
//!    │     └── Discover, MasterLost ───┤
//!    └──────────── OtherFound ─────────┘
//! ```

use softib_wire::mad::sm_info::{SmInfo, SmState};

/// What can happen to a manager.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transition {
    /// Discovery ended, and nobody has the better claim.
    Alone,
    /// Discovery ended, and there is a master or somebody who has the better claim to be.
    OtherFound,
    /// The master is silent.
    MasterLost,
    /// Set(SMInfo) HANDOVER: the master gives way.
    Handover,
    /// Set(SMInfo) DISABLE.
    Disable,
    /// Set(SMInfo) STANDBY.
    Standby,
    /// Set(SMInfo) DISCOVER.
    Discover,
    /// A better one took the subnet over from this master.
    Yield,
}

#[cfg(test)]
pub(super) const STATES: [SmState; 4] = [
    SmState::NotActive,
    SmState::Discovering,
    SmState::Standby,
    SmState::Master,
];

#[cfg(test)]
pub(super) const TRANSITIONS: [Transition; 8] = [
    Transition::Alone,
    Transition::OtherFound,
    Transition::MasterLost,
    Transition::Handover,
    Transition::Disable,
    Transition::Standby,
    Transition::Discover,
    Transition::Yield,
];

/// The state that follows, or `None` if this cannot happen in `state`.
pub(super) const fn next(state: SmState, transition: Transition) -> Option<SmState> {
    use SmState::{Discovering, Master, NotActive, Standby};
    Some(match (state, transition) {
        (Discovering, Transition::Alone) | (Standby, Transition::Handover) => Master,
        // A master that is handed over to stays master: two subnets were joined.
        (Master, Transition::Handover) => Master,
        (Discovering, Transition::OtherFound)
        | (NotActive, Transition::Standby)
        | (Master, Transition::Yield) => Standby,
        (Standby, Transition::MasterLost | Transition::Discover) => Discovering,
        (Standby, Transition::Disable) => NotActive,
        _ => return None,
    })
}

/// Whether `a` has the better claim to be master: higher priority, then lower GUID (IBA 14.4.1.2).
pub(super) fn outranks(a: &SmInfo, b: &SmInfo) -> bool {
    (a.priority, b.guid) > (b.priority, a.guid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use softib_wire::addr::Guid;

    /// All pairs of state and transition. `.`: cannot happen.
    const TABLE: &str = "
            NotActive   Discovering Standby     Master
Alone       .           Master      .           .
OtherFound  .           Standby     .           .
MasterLost  .           .           Discovering .
Handover    .           .           Master      Master
Disable     .           .           NotActive   .
Standby     Standby     .           .           .
Discover    .           .           Discovering .
Yield       .           .           .           Standby
";

    #[test]
    fn every_pair() {
        use std::fmt::Write as _;
        let mut table = format!("\n{:12}", "");
        for state in STATES {
            write!(table, "{:12}", format!("{state:?}")).unwrap();
        }
        for transition in TRANSITIONS {
            write!(table, "\n{:12}", format!("{transition:?}")).unwrap();
            for state in STATES {
                let cell = next(state, transition)
                    .map_or_else(|| ".".to_owned(), |next| format!("{next:?}"));
                write!(table, "{cell:12}").unwrap();
            }
        }
        let lines: Vec<_> = table.lines().map(str::trim_end).collect();
        assert_eq!(lines.join("\n") + "\n", TABLE);
    }

    #[test]
    fn priority_first_then_the_lower_guid() {
        let manager = |priority, guid| SmInfo {
            guid: Guid::new(guid),
            sm_key: 0,
            activity_count: 0,
            priority,
            state: SmState::Standby,
        };
        assert!(outranks(&manager(2, 9), &manager(1, 1)));
        assert!(outranks(&manager(1, 1), &manager(1, 2)));
        assert!(!outranks(&manager(1, 2), &manager(1, 1)));
        assert!(!outranks(&manager(1, 1), &manager(1, 1)));
    }
}
