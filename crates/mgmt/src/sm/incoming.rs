//! MADs that come in: answers, traps, questions about SMInfo, and requests for the administrator.

use softib_wire::mad::attribute::{self, Attribute};
use softib_wire::mad::header::MadHeader;
use softib_wire::mad::node::{NodeInfo, SwitchInfo};
use softib_wire::mad::notice::{Details, Notice, TrapNumber};
use softib_wire::mad::port_info::PortInfo;
use softib_wire::mad::sm_info::{SmInfo, SmState};
use softib_wire::mad::smp::{DirectedSmp, LidSmp};
use softib_wire::mad::status::MadStatus;
use softib_wire::mad::tables::PKeyBlock;
use softib_wire::mad::{MAD_LEN, class, method};
use softib_wire::time::Instant;

use super::database::{NodeId, PortId};
use super::smps::{Job, Step};
use super::sweep::Phase;
use super::{HOLD, Held, Route, SmEvent, SmIncoming, SmOutgoing, SubnetManager};
use crate::mad::{Endpoint, Mad};
use crate::sa;

softib_wire::reasons! {
    /// Why the manager dropped a MAD.
    pub enum SmDrop, SmDrops {
        /// The base or class version is none that there is.
        BadVersion = "sm-bad-version";
        /// No class of the manager's.
        ForeignClass = "sm-foreign-class";
        /// It answers nothing that was asked, or was answered before.
        Unmatched = "sm-unmatched";
        /// An answer with an undefined value in it.
        Malformed = "sm-malformed";
        /// A method or attribute that the manager does not serve.
        Unserved = "sm-unserved";
        /// A request for the administrator while this manager is not master.
        NotMaster = "sm-not-master";
        /// A request for the administrator before the subnet was discovered.
        NotReady = "sm-not-ready";
        /// A request for the administrator with a wrong SM_Key.
        BadSmKey = "sm-bad-sm-key";
        /// An acknowledgement of a transfer, or an answer to a report, that is not under way.
        NoTransfer = "sm-no-transfer";
    }
}

impl SubnetManager {
    pub(super) fn take_mad(
        &mut self,
        now: Instant,
        incoming: SmIncoming<'_>,
    ) -> Result<(), SmDrop> {
        let mad = incoming.mad;
        let header = MadHeader::parse(mad).map_err(|_| SmDrop::Malformed)?;
        if header.base_version != 1 || header.class_version != class::version(header.class) {
            return Err(SmDrop::BadVersion);
        }
        match header.class {
            class::SUBN_DIRECTED | class::SUBN_LID => self.take_smp(now, &header, incoming),
            class::SUBN_ADM => self.take_sa(now, incoming.from, mad),
            _ => Err(SmDrop::ForeignClass),
        }
    }

    fn take_smp(
        &mut self,
        now: Instant,
        header: &MadHeader,
        incoming: SmIncoming<'_>,
    ) -> Result<(), SmDrop> {
        let is_directed = header.class == class::SUBN_DIRECTED;
        match (header.method, header.attribute_id) {
            (method::GET_RESP, _) if is_directed => self.take_answer(now, incoming.mad),
            (method::TRAP, attribute::NOTICE) if !is_directed => {
                self.take_trap(now, &incoming.from, incoming.mad)
            }
            (method::GET | method::SET, attribute::SM_INFO) => {
                self.take_sm_info(now, is_directed, incoming)
            }
            _ => Err(SmDrop::Unserved),
        }
    }

    fn take_answer(&mut self, now: Instant, mad: &Mad) -> Result<(), SmDrop> {
        let smp = DirectedSmp::parse(mad).map_err(|_| SmDrop::Malformed)?;
        let job = self.smps.answered(&smp).ok_or(SmDrop::Unmatched)?;
        if !smp.status.is_ok() {
            self.refused(job, &smp);
            return Ok(());
        }
        let taken = self.take_attribute(now, job, &smp);
        if taken.is_err() {
            // As good as no answer.
            self.unanswered(now, job);
        }
        taken
    }

    fn take_attribute(&mut self, now: Instant, job: Job, smp: &DirectedSmp) -> Result<(), SmDrop> {
        fn read<A: Attribute>(smp: &DirectedSmp) -> Result<A, SmDrop> {
            smp.attribute().map_err(|_| SmDrop::Malformed)
        }
        match job {
            Job::Probe(from) => {
                let info: NodeInfo = read(smp)?;
                if from.is_none_or(|from| self.database.port(from).is_some()) {
                    self.on_node_info(from, info);
                }
            }
            Job::Describe(port) => self.on_description(port, read(smp)?),
            Job::SwitchInfo(node) => self.on_switch_info(now, node, read(smp)?),
            Job::ClearChange(node) => self.on_change_cleared(node, read(smp)?),
            Job::PortInfo(port) => self.on_port_info(now, port, read(smp)?),
            Job::PKeys(port, block) => self.on_pkeys(port, block, &read::<PKeyBlock>(smp)?),
            Job::SmInfo(port) => self.on_sm_info(now, port, read(smp)?),
            Job::SetSwitchInfo(node) => {
                let info: SwitchInfo = read(smp)?;
                if let Some(switch) = self.database.switch_mut(node) {
                    switch.info = info;
                }
            }
            Job::SetPort(port, step) => {
                let info: PortInfo = read(smp)?;
                self.on_port_set(now, port, step, info);
            }
            Job::SetPKeys(port, block) => self.on_pkeys_set(port, block),
            Job::SetSlToVl(node, ..) => {
                if let Some(switch) = self.database.switch_mut(node) {
                    switch.sl_to_vl_written = true;
                }
            }
            Job::SetLinear(node, block) => {
                if let Some(switch) = self.database.switch_mut(node) {
                    switch.lft_dirty.remove(&block);
                }
            }
            Job::SetMulticast(node, block, position, shrink) => {
                self.on_multicast_set(node, block, position, shrink);
            }
            Job::SetSmInfo(port, control) => self.on_sm_info_set(now, port, control),
        }
        Ok(())
    }

    /// The answer says that something is wrong.
    fn refused(&mut self, job: Job, smp: &DirectedSmp) {
        let node = self.node_of(job);
        self.tell(SmEvent::Refused {
            node: node.map_or_else(Default::default, |node| self.guid(node)),
            attribute: smp.attribute_id,
            status: smp.status.bits(),
        });
        match job {
            // What a port cannot tell is done without.
            Job::PKeys(port, _) => {
                if let Some(port) = self.database.port_mut(port) {
                    port.pkeys.get_or_insert_default();
                }
            }
            Job::Describe(_) | Job::SmInfo(_) | Job::SetSmInfo(..) => {}
            // Perhaps its state is another one by now.
            Job::SetPort(port, Step::Activate | Step::Arm) => {
                self.smps.push(Job::PortInfo(port));
            }
            Job::Probe(_) | Job::SwitchInfo(_) | Job::ClearChange(_) | Job::PortInfo(_) => {
                self.not_read(job);
            }
            _ => self.note_error(),
        }
    }

    /// Nobody answered, as often as it was asked.
    pub(super) fn unanswered(&mut self, now: Instant, job: Job) {
        if matches!(job, Job::SmInfo(_) | Job::SetSmInfo(..)) {
            return;
        }
        let node = self.node_of(job);
        self.tell(SmEvent::NoAnswer {
            node: node.map_or_else(Default::default, |node| self.guid(node)),
            attribute: Self::attribute_of(job),
        });
        self.note_error();
        if self.phase == Phase::Discover {
            self.not_read(job);
        } else if self.sweep.is_none() {
            self.pending.heavy_at(now);
        }
    }

    fn guid(&self, node: NodeId) -> softib_wire::addr::Guid {
        self.name(PortId { node, port: 0 }).0
    }

    fn take_trap(&mut self, now: Instant, from: &Endpoint, mad: &Mad) -> Result<(), SmDrop> {
        let trap = LidSmp::parse(mad).map_err(|_| SmDrop::Malformed)?;
        let notice: Notice = trap.attribute().map_err(|_| SmDrop::Malformed)?;
        if self.state != SmState::Master {
            return Err(SmDrop::NotMaster);
        }
        self.statistics.traps += 1;
        // IBA 13.4.9: the same MAD with another method goes back.
        self.outgoing.push_back(SmOutgoing {
            route: Route::Lid(*from),
            mad: trap.response_to(MadStatus::OK).to_bytes(),
        });
        self.tell(SmEvent::Trap {
            number: notice.trap_number,
            issuer: notice.issuer_lid,
        });
        match notice.details() {
            Ok(Details::LinkStateChange(details)) => match self.database.by_lid(details.lid) {
                Some(port) if port.port == 0 => self.switch_changed(now, port.node),
                _ => self.pending.heavy_at(now),
            },
            Ok(Details::LocalChanges(details)) => match self.database.by_lid(details.lid) {
                Some(port) => {
                    self.pending.ports.insert(port);
                    self.pending.partial_at(now);
                }
                None => self.pending.heavy_at(now),
            },
            Ok(_) => {}
            Err(_) if notice.trap_number == TrapNumber::LINK_STATE_CHANGE => {
                self.pending.heavy_at(now);
            }
            Err(_) => return Err(SmDrop::Malformed),
        }
        Ok(())
    }

    /// Another manager asks who this one is, or tells it what to do.
    fn take_sm_info(
        &mut self,
        now: Instant,
        is_directed: bool,
        incoming: SmIncoming<'_>,
    ) -> Result<(), SmDrop> {
        let smp = LidSmp::parse(incoming.mad).map_err(|_| SmDrop::Malformed)?;
        let mut status = MadStatus::OK;
        if smp.header.method == method::SET {
            let theirs: SmInfo = smp.attribute().map_err(|_| SmDrop::Malformed)?;
            status = self.obey(now, &theirs, smp.header.attribute_modifier);
        }
        let info = self.sm_info();
        let outgoing = if is_directed {
            let smp = DirectedSmp::parse(incoming.mad).map_err(|_| SmDrop::Malformed)?;
            SmOutgoing {
                route: Route::Directed,
                mad: smp.response_to(status).with(&info).to_bytes(),
            }
        } else {
            SmOutgoing {
                route: Route::Lid(incoming.from),
                mad: smp.response_to(status).with(&info).to_bytes(),
            }
        };
        self.outgoing.push_back(outgoing);
        Ok(())
    }

    fn take_sa(&mut self, now: Instant, from: Endpoint, mad: &Mad) -> Result<(), SmDrop> {
        if self.state != SmState::Master {
            return Err(SmDrop::NotMaster);
        }
        if !self.planned {
            return Err(SmDrop::NotReady);
        }
        let manager = self.sm_info();
        let view = sa::View {
            database: &self.database,
            config: &self.config,
            rows: &self.trees,
            manager,
        };
        let outcome = self.sa.handle_mad(now, view, &from, mad)?;
        let Some(answer) = outcome.answer else {
            self.after_groups(outcome.changes);
            return Ok(());
        };
        let answer = SmOutgoing {
            route: Route::Lid(from),
            mad: answer,
        };
        let waits = !outcome.changes.mlids.is_empty();
        self.after_groups(outcome.changes);
        if waits {
            self.multicast.held.push_back(Held {
                batch: self.multicast.next_batch,
                until: now + HOLD,
                answer,
            });
        } else {
            self.outgoing.push_back(answer);
        }
        Ok(())
    }

    /// Groups changed: their trees are to follow.
    pub(super) fn after_groups(&mut self, changes: sa::Changes) {
        self.multicast.touched.extend(changes.mlids);
        for event in changes.events {
            self.tell_all(event);
        }
    }

    /// Tells an event here, and reports it to who subscribed to it.
    pub(super) fn tell_all(&mut self, event: SmEvent) {
        let manager = self.sm_info();
        let view = sa::View {
            database: &self.database,
            config: &self.config,
            rows: &self.trees,
            manager,
        };
        self.sa.report(view, &event);
        self.tell(event);
    }

    /// The batch of trees that was written lets its answers go.
    pub(super) fn release_batch(&mut self) {
        let batch = self.multicast.batch;
        while let Some(held) = self.multicast.held.pop_front_if(|held| held.batch <= batch) {
            self.outgoing.push_back(held.answer);
        }
    }

    pub(super) fn release_held(&mut self, now: Instant) {
        while let Some(held) = self.multicast.held.pop_front_if(|held| held.until <= now) {
            self.outgoing.push_back(held.answer);
        }
    }
}

const _: () = assert!(MAD_LEN == DirectedSmp::LEN && MAD_LEN == LidSmp::LEN);
