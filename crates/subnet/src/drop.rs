//! Why a node drops a MAD before any agent has looked at it.

softib_wire::reasons! {
    /// Why a node dropped a MAD.
    pub(crate) enum NodeDropReason, NodeDrops {
        /// A management packet that is not 256 octets long.
        MadLength = "mad-length";
        /// A MAD at QP0 that is not of the subnet management class.
        ClassOfQp0 = "class-of-qp0";
        /// A MAD at QP1 of a class that nobody here serves.
        ClassOfQp1 = "class-of-qp1";
        /// A MAD for a subnet manager where none runs.
        NoManager = "no-manager";
        /// An answer that nobody waits for.
        NobodyWaits = "nobody-waits";
        /// A MAD that the port could not send: no link, no room or no such address.
        MadNotSent = "mad-not-sent";
    }
}
