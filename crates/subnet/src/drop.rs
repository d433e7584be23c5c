//! Why a node drops a MAD before any agent has looked at it.

macro_rules! reasons {
    ($( $(#[doc = $doc:literal])+ $reason:ident = $name:literal; )*) => {
        /// Why a node dropped a MAD.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum NodeDropReason {
            $( $(#[doc = $doc])+ $reason, )*
        }

        impl NodeDropReason {
            pub(crate) const ALL: &'static [Self] = &[$( Self::$reason, )*];

            /// Its name in lists of counters.
            pub(crate) const fn name(self) -> &'static str {
                match self { $( Self::$reason => $name, )* }
            }

            /// What it means, in a sentence.
            pub(crate) const fn meaning(self) -> &'static str {
                match self { $( Self::$reason => concat!($($doc),+).trim_ascii_start(), )* }
            }
        }
    };
}

reasons! {
    /// A management packet that is not 256 octets long.
    MadLength = "mad_length";
    /// A MAD at QP0 that is not of the subnet management class.
    ClassOfQp0 = "class_of_qp0";
    /// A MAD at QP1 of a class that nobody here serves.
    ClassOfQp1 = "class_of_qp1";
    /// A MAD for a subnet manager where none runs.
    NoManager = "no_manager";
    /// An answer that nobody waits for.
    NobodyWaits = "nobody_waits";
    /// A MAD that the port could not send: no link, no room or no such address.
    MadNotSent = "mad_not_sent";
}

/// Drops by reason.
#[derive(Debug, Default)]
pub(crate) struct NodeDrops([u64; NodeDropReason::ALL.len()]);

impl NodeDrops {
    pub(crate) const fn add(&mut self, reason: NodeDropReason) {
        self.0[reason as usize] += 1;
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (NodeDropReason, u64)> + '_ {
        NodeDropReason::ALL
            .iter()
            .map(|&reason| (reason, self.0[reason as usize]))
    }
}
