//! ClassPortInfo: what a class manager can do (IBA 13.4.8.1).

use crate::addr::{Gid, Lid, PKey, QKey, Qpn, Sl};

layout! {
    /// ClassPortInfo.
    pub struct ClassPortInfo [72] {
        /// 1.
        base_version: u8 = 0, 8;
        /// Version of the class.
        class_version: u8 = 8, 8;
        /// Capabilities of the class.
        capability_mask: u16 = 16, 16;
        /// More of them.
        capability_mask2: u32 = 32, 27;
        /// How long answers take, 4.096 µs × 2^n.
        resp_time_value: u8 = 59, 5;
        /// Ask there instead.
        redirect_gid: Gid = 64, 128;
        /// Traffic class.
        redirect_traffic_class: u8 = 192, 8;
        /// SL.
        redirect_sl: Sl = 200, 4;
        /// Flow label.
        redirect_flow_label: u32 = 204, 20;
        /// LID.
        redirect_lid: Lid = 224, 16;
        /// P_Key.
        redirect_pkey: PKey = 240, 16;
        /// QP.
        redirect_qpn: Qpn = 264, 24;
        /// Q_Key.
        redirect_qkey: QKey = 288, 32;
        /// Where traps go.
        trap_gid: Gid = 320, 128;
        /// Traffic class.
        trap_traffic_class: u8 = 448, 8;
        /// SL.
        trap_sl: Sl = 456, 4;
        /// Flow label.
        trap_flow_label: u32 = 460, 20;
        /// LID.
        trap_lid: Lid = 480, 16;
        /// P_Key.
        trap_pkey: PKey = 496, 16;
        /// Hop limit.
        trap_hop_limit: u8 = 512, 8;
        /// QP.
        trap_qpn: Qpn = 520, 24;
        /// Q_Key.
        trap_qkey: QKey = 544, 32;
    }
}
