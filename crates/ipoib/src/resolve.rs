//! Who a neighbour is and how to get there: address resolution and path queries, joined.

use core::net::IpAddr;

use softib_fabric::frame::Frame;
use softib_fabric::hca::AddressVector;
use softib_mgmt::sa_client::{SaError, SaReply, SaRequest};
use softib_wire::addr::{Gid, Lid, Qpn};
use softib_wire::ipoib::{EtherType, HardwareAddress};
use softib_wire::mad::sa::PathRecord;
use softib_wire::time::Instant;

use crate::counters::DropReason;
use crate::interface::{Asked, Interface, SaToken, Timer};
use crate::neighbour::{
    self, Due, IDLE, MAX_NEIGHBOURS, Neighbour, RETRANSMIT, Reachability, Slot, Transport,
};
use crate::path::{self, MAX_WAITING, Path, REFRESH_PAUSE};

/// What a message says about its sender.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Learnt {
    pub(crate) hardware: HardwareAddress,
    /// It answers a question of ours, so that the neighbour is known to hear us.
    pub(crate) confirmed: bool,
    /// Worth an entry when there is none.
    pub(crate) create: bool,
}

impl Interface {
    /// Makes room for one more neighbour. Answers whether there is some.
    pub(crate) fn make_room(&mut self) -> bool {
        if self.neighbours.len() < MAX_NEIGHBOURS {
            return true;
        }
        match self.neighbours.eviction_candidate() {
            Some(slot) => {
                self.remove_neighbour(slot, DropReason::NeighbourTableFull);
                true
            }
            None => false,
        }
    }

    /// Asks for the hardware address of a neighbour that a packet waits for.
    pub(crate) fn start_resolution(&mut self, now: Instant, slot: Slot) {
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return;
        };
        neighbour.state = Reachability::Incomplete { asked: 1 };
        self.timers.set(Timer::Neighbour(slot), now + RETRANSMIT);
        self.solicit(now, slot, None);
    }

    /// A neighbour's deadline has been reached.
    pub(crate) fn neighbour_due(&mut self, now: Instant, slot: Slot) {
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return;
        };
        let hardware = neighbour.hardware;
        let due = neighbour.due();
        if matches!(due, Due::AskAll { .. } | Due::AskOne) {
            self.timers.set(Timer::Neighbour(slot), now + RETRANSMIT);
        }
        match due {
            Due::AskAll { fell_back } => {
                if fell_back && let Some(hardware) = hardware {
                    // The address that we know does not answer. Perhaps it is not the address that
                    // has changed but the way to it.
                    self.doubt_path(now, hardware.gid);
                }
                self.solicit(now, slot, None);
            }
            Due::AskOne => self.solicit(now, slot, hardware),
            Due::GiveUp => self.give_up(slot),
            Due::Nothing => {}
        }
    }

    /// Takes note of who has an address.
    pub(crate) fn learn(&mut self, now: Instant, ip: IpAddr, learnt: Learnt) -> Option<Slot> {
        let slot = match self.neighbours.find(ip) {
            Some(slot) => slot,
            None if !learnt.create => return None,
            None if self.make_room() => self.neighbours.insert(now, ip),
            None => {
                self.counters.drop(DropReason::RxNeighbourTableFull);
                return None;
            }
        };
        let until = neighbour::reachable_until(now, &mut self.rng);
        let neighbour = self.neighbours.get_mut(slot)?;
        // The whole address is compared, not just its GID: a peer that was restarted has another
        // queue pair, and an address that moved away and back is two changes.
        let changed = neighbour.hardware != Some(learnt.hardware);
        neighbour.updated = now;
        let new_state = if learnt.confirmed {
            Some(Reachability::Reachable { until })
        } else if changed || matches!(neighbour.state, Reachability::Failed) {
            Some(Reachability::Stale)
        } else {
            None
        };
        if let Some(state) = new_state {
            neighbour.state = state;
            self.timers.cancel(Timer::Neighbour(slot));
        }
        if changed {
            let old = neighbour.hardware.replace(learnt.hardware);
            neighbour.transport = Transport::Unresolved;
            if let Some(old) = old
                && let Some(path) = self.paths.get_mut(old.gid)
            {
                path.users.remove(&slot);
            }
        }
        self.bind(now, slot);
        Some(slot)
    }

    /// Compares where a peer's packet came from with where ours to it go. A difference means that
    /// its LID has changed, unless the subnet administration insists.
    pub(crate) fn note_source_lid(&mut self, now: Instant, gid: Gid, slid: Lid) {
        let Some(path) = self.paths.get_mut(gid) else {
            return;
        };
        let Some(record) = path.record else { return };
        if record.dlid == slid || path.accepted_slid == Some(slid) {
            return;
        }
        path.suspect_slid = Some(slid);
        self.doubt_path(now, gid);
    }

    /// Sends a message of ours to a hardware address.
    pub(crate) fn send_unicast(
        &mut self,
        now: Instant,
        to: HardwareAddress,
        ether_type: EtherType,
        frame: Frame,
    ) {
        let Some(path) = self.paths.entry(now, to.gid) else {
            return self.counters.drop(DropReason::NoPath);
        };
        path.last_used = now;
        if let Some(vector) = path.vector {
            if path.refresh {
                self.refresh_path(now, to.gid);
            }
            return self.post(vector, to.qpn, ether_type, frame);
        }
        if path.waiting.len() >= MAX_WAITING {
            return self.counters.drop(DropReason::PathQueueFull);
        }
        path.waiting.push_back((to.qpn, frame));
        self.query_path(now, to.gid);
    }

    /// Asks for the path to a GID, unless that has been done.
    pub(crate) fn query_path(&mut self, now: Instant, gid: Gid) {
        let Some(path) = self.paths.entry(now, gid) else {
            return;
        };
        path.last_used = now;
        if path.query.is_some() {
            return;
        }
        let token = self.ask(Asked::Path(gid), self.path_request(gid));
        if let Some(path) = self.paths.get_mut(gid) {
            path.query = Some(token);
        }
    }

    /// Asks for a better path than the one in use, unless that has been done lately.
    pub(crate) fn refresh_path(&mut self, now: Instant, gid: Gid) {
        if self
            .paths
            .get(gid)
            .is_some_and(|path| path.refresh_after <= now)
        {
            self.query_path(now, gid);
        }
    }

    /// Puts all paths in doubt: each is asked for again at its next use.
    pub(crate) fn doubt_all_paths(&mut self) {
        for path in self.paths.values_mut() {
            path.refresh = path.vector.is_some();
            path.accepted_slid = None;
        }
        for slot in self.neighbours.slots() {
            self.mark_for_refresh(slot);
        }
    }

    /// Puts one path in doubt and asks at once.
    fn doubt_path(&mut self, now: Instant, gid: Gid) {
        let Some(path) = self.paths.get_mut(gid) else {
            return;
        };
        path.refresh = path.vector.is_some();
        for slot in path.users.clone() {
            self.mark_for_refresh(slot);
        }
        self.refresh_path(now, gid);
    }

    /// The subnet administration answered a path query.
    pub(crate) fn path_answered(
        &mut self,
        now: Instant,
        gid: Gid,
        token: SaToken,
        result: Result<SaReply, SaError>,
    ) {
        let Some(path) = self.paths.get_mut(gid) else {
            return;
        };
        if path.query != Some(token) {
            return;
        }
        path.query = None;
        match path_of(result) {
            Ok(mut record) => {
                // The record is kept under the GID that was asked for, whatever it says.
                record.dgid = gid;
                if let Some(slid) = path.suspect_slid.take()
                    && slid != record.dlid
                {
                    path.accepted_slid = Some(slid);
                }
                path.vector = Some(path::vector_of(&record, self.port.prefix, self.port.lmc));
                path.record = Some(record);
                path.refresh = false;
                self.path_ready(now, gid);
            }
            // Nobody answered: the subnet has no manager just now. The old path is the best there
            // is; established neighbours keep talking.
            Err(Failure::NoAnswer) if path.vector.is_some() => {
                path.refresh_after = now + REFRESH_PAUSE;
            }
            Err(_) => self.path_failed(gid),
        }
    }

    /// Removes neighbours that were not used for long.
    pub(crate) fn collect_neighbours(&mut self, now: Instant) {
        for slot in self.neighbours.slots() {
            let Some(neighbour) = self.neighbours.get(slot) else {
                continue;
            };
            let last = neighbour
                .used
                .map_or(neighbour.updated, |used| used.max(neighbour.updated));
            let resting = matches!(
                neighbour.state_at(now),
                Reachability::Stale | Reachability::Failed | Reachability::Reachable { .. }
            );
            if resting && now.saturating_since(last) >= IDLE {
                self.remove_neighbour(slot, DropReason::Flushed);
            }
        }
    }

    /// Removes the neighbour with this address, if there is one.
    pub(crate) fn forget_neighbour(&mut self, ip: IpAddr) {
        if let Some(slot) = self.neighbours.find(ip) {
            self.remove_neighbour(slot, DropReason::Flushed);
        }
    }

    /// Removes paths that nobody used for long.
    pub(crate) fn collect_paths(&mut self, now: Instant) {
        let before = Instant::from_nanos(
            now.as_nanos()
                .saturating_sub(u64::try_from(IDLE.as_nanos()).unwrap_or(u64::MAX)),
        );
        self.paths.collect(before);
    }

    /// Removes all neighbours and paths, with what waits for them.
    pub(crate) fn flush_neighbours_and_paths(&mut self) {
        for slot in self.neighbours.slots() {
            self.remove_neighbour(slot, DropReason::Flushed);
        }
        for path in self.paths.take_all() {
            if let Some(token) = path.query {
                self.cancel(token);
            }
            for _ in &path.waiting {
                self.counters.drop(DropReason::Flushed);
            }
        }
    }

    /// Asks who has a neighbour's address: `to` or, without it, everybody.
    fn solicit(&mut self, now: Instant, slot: Slot, to: Option<HardwareAddress>) {
        let Some(neighbour) = self.neighbours.get(slot) else {
            return;
        };
        let target = neighbour.ip;
        let source = self.addressing.source_for(target, neighbour.asked_from);
        match target {
            IpAddr::V4(target) => self.send_arp_request(now, target, source, to),
            IpAddr::V6(target) => self.send_solicitation(now, target, source, to),
        }
    }

    /// Nobody has the address: says so to whoever sent the packets that wait.
    fn give_up(&mut self, slot: Slot) {
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return;
        };
        let hardware = neighbour.hardware.take();
        neighbour.transport = Transport::Unresolved;
        let waiting = neighbour.pending.take();
        if let Some(hardware) = hardware
            && let Some(path) = self.paths.get_mut(hardware.gid)
        {
            path.users.remove(&slot);
        }
        for frame in waiting {
            self.refuse(DropReason::NeighbourUnreachable, &frame);
        }
    }

    /// Gives a neighbour whose hardware address is known its transport, if there is a path.
    fn bind(&mut self, now: Instant, slot: Slot) {
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return;
        };
        let Some(hardware) = neighbour.hardware else {
            return;
        };
        let Some(path) = self.paths.entry(now, hardware.gid) else {
            return;
        };
        path.users.insert(slot);
        match (&path.vector, &neighbour.transport) {
            (Some(vector), Transport::Unresolved) => {
                neighbour.transport = datagram(*vector, hardware.qpn, path);
            }
            (None, _) if !neighbour.pending.is_empty() => {
                return self.query_path(now, hardware.gid);
            }
            _ => {}
        }
        self.send_pending(now, slot);
    }

    fn send_pending(&mut self, now: Instant, slot: Slot) {
        let Some(neighbour) = self.neighbours.get_mut(slot) else {
            return;
        };
        if matches!(neighbour.transport, Transport::Datagram { .. }) {
            for frame in neighbour.pending.take() {
                self.send_to_neighbour(now, slot, frame);
            }
        }
    }

    /// A path has been found: everything that waited for it goes.
    fn path_ready(&mut self, now: Instant, gid: Gid) {
        let Some(path) = self.paths.get_mut(gid) else {
            return;
        };
        let Some(vector) = path.vector else { return };
        let waiting = std::mem::take(&mut path.waiting);
        let users: Vec<Slot> = path.users.iter().copied().collect();
        for (qpn, frame) in waiting {
            let ether_type = control_ether_type(frame.bytes());
            self.post(vector, qpn, ether_type, frame);
        }
        for slot in users {
            if let Some(neighbour) = self.neighbours.get_mut(slot)
                && let Some(hardware) = neighbour.hardware
            {
                neighbour.transport = Transport::Datagram {
                    vector,
                    qpn: hardware.qpn,
                    refresh: false,
                };
                self.send_pending(now, slot);
            }
        }
    }

    /// There is no path: what waited for it is lost. The next packet asks again.
    fn path_failed(&mut self, gid: Gid) {
        let Some(path) = self.paths.get_mut(gid) else {
            return;
        };
        path.vector = None;
        path.record = None;
        path.refresh = false;
        path.suspect_slid = None;
        let waiting = std::mem::take(&mut path.waiting);
        let users: Vec<Slot> = path.users.iter().copied().collect();
        for _ in waiting {
            self.counters.drop(DropReason::NoPath);
        }
        for slot in users {
            if let Some(neighbour) = self.neighbours.get_mut(slot) {
                neighbour.transport = Transport::Unresolved;
                for _ in neighbour.pending.take() {
                    self.counters.drop(DropReason::NoPath);
                }
            }
        }
    }

    fn mark_for_refresh(&mut self, slot: Slot) {
        if let Some(neighbour) = self.neighbours.get_mut(slot)
            && let Transport::Datagram { refresh, .. } = &mut neighbour.transport
        {
            *refresh = true;
        }
    }

    fn remove_neighbour(&mut self, slot: Slot, reason: DropReason) -> Option<Neighbour> {
        self.timers.cancel(Timer::Neighbour(slot));
        let neighbour = self.neighbours.remove(slot)?;
        for _ in 0..neighbour.pending.len() {
            self.counters.drop(reason);
        }
        if let Some(hardware) = neighbour.hardware
            && let Some(path) = self.paths.get_mut(hardware.gid)
        {
            path.users.remove(&slot);
        }
        Some(neighbour)
    }

    /// Get(PathRecord) with DGID, SGID, TClass, NumbPath and P_Key.
    fn path_request(&self, gid: Gid) -> SaRequest {
        SaRequest::Path {
            sgid: self.own_gid(),
            dgid: gid,
            pkey: self.pkey(),
            traffic_class: self.group_traffic_class(),
        }
    }
}

/// Why there is no path.
enum Failure {
    NoAnswer,
    NoPath,
}

fn path_of(result: Result<SaReply, SaError>) -> Result<PathRecord, Failure> {
    match result {
        Ok(SaReply::Path(record)) if record.dlid.is_unicast() => Ok(record),
        Ok(_) => Err(Failure::NoPath),
        // Nobody was heard: that says nothing about the path.
        Err(SaError::Timeout | SaError::NoSubnetManager | SaError::Busy | SaError::Transfer(_)) => {
            Err(Failure::NoAnswer)
        }
        Err(SaError::Refused(_) | SaError::Malformed | SaError::Mismatch) => Err(Failure::NoPath),
    }
}

fn datagram(vector: AddressVector, qpn: Qpn, path: &Path) -> Transport {
    Transport::Datagram {
        vector,
        qpn,
        refresh: path.refresh,
    }
}

/// What the messages that wait for a path are: neighbour discovery is IPv6, all others are ARP.
fn control_ether_type(frame: &[u8]) -> EtherType {
    if frame.first().is_some_and(|first| first >> 4 == 6) {
        EtherType::Ipv6
    } else {
        EtherType::Arp
    }
}
