//! The port state machine (IBA 7.2.7), as one table.
//!
//! ```text
//!             LinkUp            SetArmed           SetActive, Data
//!   Polling ─────────▶ Init ──────────▶ Armed ───────────────▶ Active
//!      ▲                │                 │                     │  ▲ Recovered
//!      └── LinkDown, SetDown from any ────┴─────────────────────┤  │
//!                                                    Recovering ▼  │
//!   Disabled, Sleep: by SetPhysical, from any               ActiveDefer
//! ```
//!
//! Logical and physical state are one value here, as only these pairs exist.

use softib_wire::units::{PhysState, PortState};

macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $( $(#[$variant_meta:meta])* $variant:ident, )* }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $( $(#[$variant_meta])* $variant, )*
        }

        impl $name {
            /// Every value.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];
        }
    };
}

named! {
    /// State of a port, logical and physical.
    pub enum LinkState {
        /// Down, switched off by management.
        Disabled,
        /// Down, sleeping: wakes when the peer does.
        Sleep,
        /// Down, looking for a peer.
        Polling,
        /// Trained: only subnet management packets pass.
        Init,
        /// Data is received, not yet sent.
        Armed,
        /// Everything passes.
        Active,
        /// Was Active, and the link recovers from errors: nothing passes until it has.
        ActiveDefer,
    }
}

named! {
    /// What can happen to a port.
    pub enum LinkEvent {
        /// The link trained with its peer.
        LinkUp,
        /// The link is gone.
        LinkDown,
        /// Link error recovery began.
        Recovering,
        /// Link error recovery succeeded.
        Recovered,
        /// A data packet (not on VL15) came in.
        Data,
        /// Management: PortState Down, to poll after it.
        SetDown,
        /// Management: PortState Armed.
        SetArmed,
        /// Management: PortState Active.
        SetActive,
        /// Management: physical state Sleep.
        SetSleep,
        /// Management: physical state Polling.
        SetPolling,
        /// Management: physical state Disabled.
        SetDisabled,
    }
}

/// What an event does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transition {
    /// The port goes to this state. Management going to Polling while it is there retrains the link.
    To(LinkState),
    /// Nothing.
    Stay,
    /// Management asked for what is not allowed in this state.
    Refuse,
}

/// `event: [states] => state that they go to, else what happens in others;`
macro_rules! transitions {
    ($state:ident, $event:ident; $( $name:ident: [$( $from:ident )|+] => $to:ident, else $rest:ident; )*) => {
        match $event {
            $( LinkEvent::$name => match $state {
                $( LinkState::$from )|+ => Transition::To(LinkState::$to),
                #[allow(unreachable_patterns, reason = "a row may name all states")]
                _ => Transition::$rest,
            }, )*
        }
    };
}

impl LinkState {
    /// What `event` does in this state.
    #[must_use]
    pub const fn on(self, event: LinkEvent) -> Transition {
        transitions! { self, event;
            LinkUp:      [Sleep | Polling] => Init, else Stay;
            LinkDown:    [Init | Armed | Active | ActiveDefer] => Polling, else Stay;
            Recovering:  [Active] => ActiveDefer, else Stay;
            Recovered:   [ActiveDefer] => Active, else Stay;
            // IBA 7.2.7.4: the first data packet says that the peer is Active.
            Data:        [Armed] => Active, else Stay;
            SetDown:     [Sleep | Polling | Init | Armed | Active | ActiveDefer] => Polling, else Stay;
            SetArmed:    [Init] => Armed, else Refuse;
            SetActive:   [Armed] => Active, else Refuse;
            SetSleep:    [Disabled | Sleep | Polling | Init | Armed | Active | ActiveDefer] => Sleep, else Stay;
            SetPolling:  [Disabled | Sleep | Polling | Init | Armed | Active | ActiveDefer] => Polling, else Stay;
            SetDisabled: [Disabled | Sleep | Polling | Init | Armed | Active | ActiveDefer] => Disabled, else Stay;
        }
    }

    /// PortInfo.PortState.
    #[must_use]
    pub const fn logical(self) -> PortState {
        match self {
            Self::Disabled | Self::Sleep | Self::Polling => PortState::Down,
            Self::Init => PortState::Init,
            Self::Armed => PortState::Armed,
            Self::Active => PortState::Active,
            Self::ActiveDefer => PortState::ActiveDefer,
        }
    }

    /// PortInfo.PortPhysicalState.
    #[must_use]
    pub const fn physical(self) -> PhysState {
        match self {
            Self::Disabled => PhysState::Disabled,
            Self::Sleep => PhysState::Sleep,
            Self::Polling => PhysState::Polling,
            Self::Init | Self::Armed | Self::Active => PhysState::LinkUp,
            Self::ActiveDefer => PhysState::ErrorRecovery,
        }
    }

    /// Whether subnet management packets pass.
    #[inline]
    #[must_use]
    pub const fn passes_smps(self) -> bool {
        matches!(self, Self::Init | Self::Armed | Self::Active)
    }

    /// Whether data is received.
    #[inline]
    #[must_use]
    pub const fn receives_data(self) -> bool {
        matches!(self, Self::Armed | Self::Active)
    }

    /// Whether data is sent.
    #[inline]
    #[must_use]
    pub const fn sends_data(self) -> bool {
        matches!(self, Self::Active)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// All pairs of state and event. `.`: stays; `!`: refused.
    const TABLE: &str = "
            Disabled    Sleep       Polling     Init        Armed       Active      ActiveDefer
LinkUp      .           Init        Init        .           .           .           .
LinkDown    .           .           .           Polling     Polling     Polling     Polling
Recovering  .           .           .           .           .           ActiveDefer .
Recovered   .           .           .           .           .           .           Active
Data        .           .           .           .           Active      .           .
SetDown     .           Polling     Polling     Polling     Polling     Polling     Polling
SetArmed    !           !           !           Armed       !           !           !
SetActive   !           !           !           !           Active      !           !
SetSleep    Sleep       Sleep       Sleep       Sleep       Sleep       Sleep       Sleep
SetPolling  Polling     Polling     Polling     Polling     Polling     Polling     Polling
SetDisabled Disabled    Disabled    Disabled    Disabled    Disabled    Disabled    Disabled
";

    #[test]
    fn every_pair() {
        let mut table = format!("\n{:12}", "");
        for state in LinkState::ALL {
            write!(table, "{:12}", format!("{state:?}")).unwrap();
        }
        for &event in LinkEvent::ALL {
            write!(table, "\n{:12}", format!("{event:?}")).unwrap();
            for state in LinkState::ALL {
                let cell = match state.on(event) {
                    Transition::To(to) => format!("{to:?}"),
                    Transition::Stay => ".".into(),
                    Transition::Refuse => "!".into(),
                };
                write!(table, "{cell:12}").unwrap();
            }
        }
        let trimmed: Vec<_> = table.lines().map(str::trim_end).collect();
        assert_eq!(trimmed.join("\n") + "\n", TABLE);
    }

    #[test]
    fn what_passes_agrees_with_the_logical_state() {
        for state in LinkState::ALL {
            let logical = state.logical();
            assert_eq!(state.sends_data(), logical == PortState::Active);
            assert!(!state.sends_data() || state.receives_data());
            assert!(!state.receives_data() || state.passes_smps());
            assert_eq!(state.passes_smps(), state.physical() == PhysState::LinkUp,);
        }
    }
}
