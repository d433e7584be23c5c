//! Methods (IBA 13.4.5, 15.2.2).

/// Get.
pub const GET: u8 = 0x01;
/// Set.
pub const SET: u8 = 0x02;
/// Send.
pub const SEND: u8 = 0x03;
/// Trap.
pub const TRAP: u8 = 0x05;
/// Report (subnet administration).
pub const REPORT: u8 = 0x06;
/// TrapRepress.
pub const TRAP_REPRESS: u8 = 0x07;
/// GetTable (subnet administration).
pub const GET_TABLE: u8 = 0x12;
/// GetTraceTable (subnet administration).
pub const GET_TRACE_TABLE: u8 = 0x13;
/// GetMulti (subnet administration).
pub const GET_MULTI: u8 = 0x14;
/// Delete (subnet administration).
pub const DELETE: u8 = 0x15;
/// Set in every answer but TrapRepress.
pub const RESPONSE: u8 = 0x80;
/// GetResp: answers Get and Set.
pub const GET_RESP: u8 = 0x81;
/// ReportResp.
pub const REPORT_RESP: u8 = 0x86;
/// GetTableResp.
pub const GET_TABLE_RESP: u8 = 0x92;
/// GetMultiResp.
pub const GET_MULTI_RESP: u8 = 0x94;
/// DeleteResp.
pub const DELETE_RESP: u8 = 0x95;

/// The method that answers a method: a Set is answered by GetResp, a Trap by TrapRepress.
#[must_use]
pub const fn response(method: u8) -> u8 {
    match method {
        GET | SET => GET_RESP,
        TRAP => TRAP_REPRESS,
        other => other | RESPONSE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_has_its_answer() {
        assert_eq!(response(GET), GET_RESP);
        assert_eq!(response(SET), GET_RESP);
        assert_eq!(response(TRAP), TRAP_REPRESS);
        assert_eq!(response(GET_TABLE), GET_TABLE_RESP);
        assert_eq!(response(GET_MULTI), GET_MULTI_RESP);
        assert_eq!(response(DELETE), DELETE_RESP);
        assert_eq!(response(REPORT), REPORT_RESP);
    }
}
