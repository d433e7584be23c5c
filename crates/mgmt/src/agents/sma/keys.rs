//! The M_Key of a port: who may read and change it (IBA 14.2.4).

use softib_wire::addr::MKey;
use softib_wire::mad::method;
use softib_wire::mad::port_info::PortInfo;
use softib_wire::time::{Duration, Instant};

/// The key, how it protects, and who tried without it.
#[derive(Debug, Clone, Default)]
pub(super) struct Keys {
    m_key: MKey,
    protect: u8,
    /// Seconds; 0: protection never ends.
    lease_period: u16,
    violations: u16,
    /// When protection ends, unless somebody shows the key before.
    lease_ends: Option<Instant>,
}

/// What comes of showing a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// The key is right, or none is needed.
    Trusted,
    /// A wrong key, but anybody may do this.
    Untrusted,
    /// A wrong key.
    Violation,
}

impl Keys {
    /// Checks the key that came with a method.
    pub(super) fn check(&mut self, now: Instant, method: u8, key: MKey) -> Access {
        self.handle_timeout(now);
        if self.m_key == MKey::NONE || self.m_key == key {
            // C14-19: who shows the key keeps it.
            self.lease_ends = None;
            return Access::Trusted;
        }
        // IBA 14.2.4.1: protection 0 and 1 let anybody read; Set and TrapRepress need the key.
        if method == method::GET && self.protect < 2 {
            return Access::Untrusted;
        }
        self.violations = self.violations.saturating_add(1);
        if self.lease_period > 0 && self.lease_ends.is_none() {
            let lease = Duration::from_secs(u64::from(self.lease_period));
            self.lease_ends = Some(now + lease);
        }
        Access::Violation
    }

    pub(super) const fn poll_timeout(&self) -> Option<Instant> {
        self.lease_ends
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        if self.lease_ends.is_some_and(|end| end <= now) {
            // IBA 14.2.4.2: when the lease ends, anybody may read the key, and so take over.
            self.lease_ends = None;
            self.protect = 0;
        }
    }

    /// Fills in PortInfo as somebody with this access may see it.
    pub(super) fn show(&self, info: &mut PortInfo, access: Access) {
        let hidden = access != Access::Trusted && self.protect != 0;
        info.m_key = if hidden { MKey::NONE } else { self.m_key };
        info.m_key_protect = self.protect;
        info.m_key_lease_period = self.lease_period;
        info.m_key_violations = self.violations;
    }

    /// Takes over what a Set(PortInfo) asks for.
    pub(super) const fn set(&mut self, asked: &PortInfo) {
        self.m_key = asked.m_key;
        self.protect = asked.m_key_protect;
        self.lease_period = asked.m_key_lease_period;
        self.violations = asked.m_key_violations;
        self.lease_ends = None;
    }
}
