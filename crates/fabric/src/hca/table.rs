//! The queue pairs of an adapter by number, and the groups that they are attached to.

use std::collections::BTreeMap;

use softib_wire::addr::{Gid, Lid, Qpn};

use super::qp::{Qp, QpId, QpKind, VerbError};

/// Numbers below are reserved, as on real adapters.
const FIRST_QPN: u32 = 0x40;
const QPN_COUNT: usize = 1 << 16;

/// Queue pairs by number.
#[derive(Debug)]
pub(super) struct QpTable {
    /// By port: QP0 and QP1.
    special: Vec<[Option<Box<Qp>>; 2]>,
    /// By number, less [`FIRST_QPN`].
    ordinary: Vec<Option<Box<Qp>>>,
    /// Where to look for a free number: one that was given back is used again as late as can be.
    next: usize,
}

impl QpTable {
    /// A table for `ports` ports, port 0 counted.
    pub(super) fn new(ports: usize) -> Self {
        Self {
            special: (0..ports).map(|_| [None, None]).collect(),
            ordinary: Vec::new(),
            next: 0,
        }
    }

    #[inline]
    pub(super) fn get(&self, id: QpId) -> Option<&Qp> {
        let slot = match index(id.qpn) {
            Index::Special(index) => &self.special.get(usize::from(id.port))?[index],
            Index::Ordinary(index) => self.ordinary.get(index)?,
        };
        slot.as_deref()
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: QpId) -> Option<&mut Qp> {
        self.slot(id)?.as_deref_mut()
    }

    /// The queue pair that a packet that came in by `port` is for.
    #[inline]
    pub(super) fn at(&self, port: u8, qpn: Qpn) -> Option<&Qp> {
        self.get(QpId { port, qpn })
    }

    /// A free number for a queue pair of this kind.
    pub(super) fn allocate(&mut self, port: u8, kind: QpKind) -> Result<QpId, VerbError> {
        let qpn = match kind {
            QpKind::Smi => Qpn::SMI,
            QpKind::Gsi => Qpn::GSI,
            QpKind::Ud => return self.allocate_ordinary(port),
        };
        let id = QpId { port, qpn };
        if self.get(id).is_some() {
            return Err(VerbError::QpExists { port, qpn });
        }
        Ok(id)
    }

    fn allocate_ordinary(&mut self, port: u8) -> Result<QpId, VerbError> {
        let index = (0..QPN_COUNT)
            .map(|step| (self.next + step) % QPN_COUNT)
            .find(|&index| self.ordinary.get(index).is_none_or(Option::is_none))
            .ok_or(VerbError::NoQpnLeft)?;
        self.next = index + 1;
        if self.ordinary.len() <= index {
            self.ordinary.resize_with(index + 1, || None);
        }
        let number = u32::try_from(index).map_err(|_| VerbError::NoQpnLeft)?;
        Ok(QpId {
            port,
            qpn: Qpn::from_bits_truncate(FIRST_QPN + number),
        })
    }

    pub(super) fn insert(&mut self, qp: Qp) {
        if let Some(slot) = self.slot(qp.id) {
            *slot = Some(Box::new(qp));
        }
    }

    pub(super) fn remove(&mut self, id: QpId) -> Option<Box<Qp>> {
        self.slot(id)?.take()
    }

    /// All queue pairs.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Qp> {
        self.special
            .iter()
            .flatten()
            .chain(&self.ordinary)
            .filter_map(Option::as_deref)
    }

    #[inline]
    fn slot(&mut self, id: QpId) -> Option<&mut Option<Box<Qp>>> {
        match index(id.qpn) {
            Index::Special(index) => self.special.get_mut(usize::from(id.port))?.get_mut(index),
            Index::Ordinary(index) => self.ordinary.get_mut(index),
        }
    }
}

enum Index {
    Special(usize),
    Ordinary(usize),
}

#[inline]
fn index(qpn: Qpn) -> Index {
    match qpn {
        Qpn::SMI => Index::Special(0),
        Qpn::GSI => Index::Special(1),
        // Numbers between are beyond the end of every table.
        qpn => Index::Ordinary(
            qpn.bits()
                .checked_sub(FIRST_QPN)
                .and_then(|index| usize::try_from(index).ok())
                .unwrap_or(usize::MAX),
        ),
    }
}

/// Who of a port is attached to which multicast group.
#[derive(Debug, Default)]
pub(super) struct Groups(BTreeMap<(Gid, Lid), Vec<QpId>>);

impl Groups {
    pub(super) fn attach(&mut self, id: QpId, mgid: Gid, mlid: Lid) {
        let members = self.0.entry((mgid, mlid)).or_default();
        if !members.contains(&id) {
            members.push(id);
        }
    }

    /// Whether it was attached.
    pub(super) fn detach(&mut self, id: QpId, mgid: Gid, mlid: Lid) -> bool {
        let Some(members) = self.0.get_mut(&(mgid, mlid)) else {
            return false;
        };
        let before = members.len();
        members.retain(|&member| member != id);
        let found = members.len() < before;
        if members.is_empty() {
            self.0.remove(&(mgid, mlid));
        }
        found
    }

    pub(super) fn detach_all(&mut self, id: QpId) {
        self.0.retain(|_, members| {
            members.retain(|&member| member != id);
            !members.is_empty()
        });
    }

    #[inline]
    pub(super) fn members(&self, mgid: Gid, mlid: Lid) -> &[QpId] {
        self.0.get(&(mgid, mlid)).map_or(&[], Vec::as_slice)
    }
}
