//! Management datagrams in a few words: `SMP Get(NodeInfo) route 0,1,3`, `SA GetResp(PathRecord)`.

use core::fmt::Write;

use softib_wire::mad::header::MadHeader;
use softib_wire::mad::notice::Notice;
use softib_wire::mad::sa::{McMemberRecord, PathRecord, SaMad};
use softib_wire::mad::smp::DirectedSmp;
use softib_wire::mad::{attribute, class, method};

pub(super) fn describe(bytes: &[u8]) -> String {
    let header = match MadHeader::parse(bytes) {
        Ok(header) => header,
        Err(error) => return format!("MAD, malformed: {error}"),
    };
    let attribute = attribute_name(header.class, header.attribute_id).map_or_else(
        || format!("attribute {:#06x}", header.attribute_id),
        str::to_owned,
    );
    let mut text = match header.class {
        class::SUBN_LID | class::SUBN_DIRECTED => "SMP".to_owned(),
        class::SUBN_ADM => "SA".to_owned(),
        class::PERF_MGT => "PM".to_owned(),
        class::COM_MGT => return format!("CM {attribute}"),
        other => format!("MAD class {other:#04x}"),
    };
    let method = method_name(header.method)
        .map_or_else(|| format!("method {:#04x}", header.method), str::to_owned);
    // Writing to a string can't fail.
    let _ = write!(text, " {method}({attribute})");
    if header.attribute_modifier != 0 {
        let _ = write!(text, " modifier {:#x}", header.attribute_modifier);
    }
    let status = header.status.without_direction();
    if !status.is_ok() {
        let _ = write!(text, " status {:#06x}", status.bits());
    }
    let details = match header.class {
        class::SUBN_DIRECTED => DirectedSmp::parse(bytes).ok().map(|smp| route(&smp)),
        class::SUBN_ADM => SaMad::parse(bytes).ok().and_then(|mad| record(&mad)),
        class::SUBN_LID if header.attribute_id == attribute::NOTICE => bytes
            .get(64..)
            .and_then(|data| Notice::parse(data).ok())
            .map(|n| notice(&n)),
        _ => None,
    };
    if let Some(details) = details {
        text.push(' ');
        text.push_str(&details);
    }
    text
}

/// The ports that a directed route leaves by, and which of its hops the packet is on.
fn route(smp: &DirectedSmp) -> String {
    let ports: Vec<_> = smp
        .initial_path
        .iter()
        .take(usize::from(smp.hop_count) + 1)
        .map(u8::to_string)
        .collect();
    let direction = if smp.returning { "back" } else { "hop" };
    format!("route {} {direction} {}", ports.join(","), smp.hop_pointer)
}

fn notice(notice: &Notice) -> String {
    format!("trap {}", notice.trap_number.bits())
}

fn record(mad: &SaMad) -> Option<String> {
    match mad.header.attribute_id {
        attribute::PATH_RECORD => PathRecord::parse(&mad.data).ok().map(|path| {
            let mut text = format!("{} > {}", path.sgid, path.dgid);
            if mad.header.is_response() {
                let _ = write!(text, " LID {} > {} SL {}", path.slid, path.dlid, path.sl);
            }
            text
        }),
        attribute::MC_MEMBER_RECORD => McMemberRecord::parse(&mad.data).ok().map(|member| {
            let what = match mad.header.method & !method::RESPONSE {
                method::DELETE => "leave",
                method::SET => "join",
                // GetResp answers both.
                _ => "group",
            };
            let mut text = format!("{what} {} port {}", member.mgid, member.port_gid);
            if mad.header.is_response() {
                let _ = write!(text, " MLID {:#06x}", member.mlid.bits());
            }
            text
        }),
        attribute::NOTICE => Notice::parse(&mad.data).ok().map(|n| notice(&n)),
        _ => None,
    }
}

const fn method_name(method: u8) -> Option<&'static str> {
    Some(match method {
        method::GET => "Get",
        method::SET => "Set",
        method::SEND => "Send",
        method::TRAP => "Trap",
        method::REPORT => "Report",
        method::TRAP_REPRESS => "TrapRepress",
        method::GET_TABLE => "GetTable",
        method::GET_TRACE_TABLE => "GetTraceTable",
        method::GET_MULTI => "GetMulti",
        method::DELETE => "Delete",
        method::GET_RESP => "GetResp",
        method::REPORT_RESP => "ReportResp",
        method::GET_TABLE_RESP => "GetTableResp",
        method::GET_MULTI_RESP => "GetMultiResp",
        method::DELETE_RESP => "DeleteResp",
        _ => return None,
    })
}

const fn attribute_name(class: u8, id: u16) -> Option<&'static str> {
    Some(match (class, id) {
        // IBA 12.6: communication management has its own.
        (class::COM_MGT, 0x10) => "REQ",
        (class::COM_MGT, 0x11) => "MRA",
        (class::COM_MGT, 0x12) => "REJ",
        (class::COM_MGT, 0x13) => "REP",
        (class::COM_MGT, 0x14) => "RTU",
        (class::COM_MGT, 0x15) => "DREQ",
        (class::COM_MGT, 0x16) => "DREP",
        (class::COM_MGT, 0x17) => "SIDR_REQ",
        (class::COM_MGT, 0x18) => "SIDR_REP",
        (class::COM_MGT, 0x19) => "LAP",
        (class::COM_MGT, 0x1A) => "APR",
        (_, attribute::CLASS_PORT_INFO) => "ClassPortInfo",
        (_, attribute::NOTICE) => "Notice",
        (_, attribute::INFORM_INFO) => "InformInfo",
        (class::SUBN_ADM, attribute::NODE_RECORD) => "NodeRecord",
        (class::SUBN_ADM, attribute::PORT_INFO_RECORD) => "PortInfoRecord",
        (class::SUBN_ADM, attribute::SL_TO_VL_RECORD) => "SLtoVLMappingTableRecord",
        (class::SUBN_ADM, attribute::SWITCH_INFO_RECORD) => "SwitchInfoRecord",
        (class::SUBN_ADM, attribute::LINEAR_FDB_RECORD) => "LinearForwardingTableRecord",
        (class::SUBN_ADM, attribute::MULTICAST_FDB_RECORD) => "MulticastForwardingTableRecord",
        (class::SUBN_ADM, attribute::SM_INFO_RECORD) => "SMInfoRecord",
        (class::SUBN_ADM, attribute::LINK_RECORD) => "LinkRecord",
        (class::SUBN_ADM, attribute::GUID_INFO_RECORD) => "GuidInfoRecord",
        (class::SUBN_ADM, attribute::SERVICE_RECORD) => "ServiceRecord",
        (class::SUBN_ADM, attribute::PKEY_TABLE_RECORD) => "P_KeyTableRecord",
        (class::SUBN_ADM, attribute::PATH_RECORD) => "PathRecord",
        (class::SUBN_ADM, attribute::VL_ARBITRATION_RECORD) => "VLArbitrationTableRecord",
        (class::SUBN_ADM, attribute::MC_MEMBER_RECORD) => "MCMemberRecord",
        (class::SUBN_ADM, attribute::TRACE_RECORD) => "TraceRecord",
        (class::SUBN_ADM, attribute::MULTI_PATH_RECORD) => "MultiPathRecord",
        (class::SUBN_ADM, attribute::INFORM_INFO_RECORD) => "InformInfoRecord",
        (class::PERF_MGT, attribute::PORT_COUNTERS) => "PortCounters",
        (class::PERF_MGT, attribute::PORT_COUNTERS_EXTENDED) => "PortCountersExtended",
        (_, attribute::NODE_DESCRIPTION) => "NodeDescription",
        (_, attribute::NODE_INFO) => "NodeInfo",
        (_, attribute::SWITCH_INFO) => "SwitchInfo",
        (_, attribute::GUID_INFO) => "GUIDInfo",
        (_, attribute::PORT_INFO) => "PortInfo",
        (_, attribute::PKEY_TABLE) => "P_KeyTable",
        (_, attribute::SL_TO_VL) => "SLtoVLMappingTable",
        (_, attribute::VL_ARBITRATION) => "VLArbitrationTable",
        (_, attribute::LINEAR_FDB) => "LinearForwardingTable",
        (_, attribute::MULTICAST_FDB) => "MulticastForwardingTable",
        (_, attribute::SM_INFO) => "SMInfo",
        _ => return None,
    })
}
