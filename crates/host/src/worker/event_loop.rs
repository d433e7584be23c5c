//! The loop: wait, read, let the machine work, write.

use std::collections::{BTreeSet, VecDeque};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::{Duration, SystemTime};

use rustix::event::epoll;
use rustix::thread::sched_yield;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use softib_fabric::frame::{Pool, wire_images};
use softib_subnet::Event;
use softib_subnet::spec::{IfaceRef, PortRef};
use softib_subnet::view::DropRow;
use softib_wire::time::Instant;

use super::Command;
use super::attached::Attached;
use super::clock::Clock;
use super::machine::Machine;
use crate::capture::{CapturedPacket, Tap};
use crate::error::HostError;
use crate::tun::{Read, ReadBuffer};

/// Most packets read from one device before others get their turn and what came of them is written.
const BURST: usize = 64;
/// Most octets, so that a burst of large sends stays in the processor's cache.
const BURST_OCTETS: usize = 512 * 1024;

/// What an epoll event is about: the number in it is twice the interface's index, plus one for
/// netlink.
const TOKEN_DOORBELL: u64 = u64::MAX;
const TOKEN_TIMER: u64 = u64::MAX - 1;

/// The worker's whole state.
#[derive(Debug)]
pub(super) struct EventLoop<M> {
    machine: M,
    interfaces: Vec<Attached>,
    /// By node, then by index: which of `interfaces` it is.
    slots: Vec<Vec<Option<usize>>>,
    /// Those whose device may have packets, in the order in which they are served.
    ready: VecDeque<usize>,
    /// The earliest time at which an interface has something to follow.
    next_follow: Option<Instant>,
    commands: Receiver<Command<M>>,
    epoll: OwnedFd,
    timer: OwnedFd,
    armed: Option<Instant>,
    doorbell: Arc<OwnedFd>,
    taps: Vec<(PortRef, Tap)>,
    clock: Clock,
    buffer: ReadBuffer,
    pool: Pool,
    stopping: bool,
}

impl<M> EventLoop<M> {
    /// Ends the loop after this turn.
    pub(super) const fn stop(&mut self) {
        self.stopping = true;
    }
}

impl<M: Machine> EventLoop<M> {
    pub(super) fn new(
        machine: M,
        interfaces: Vec<Attached>,
        commands: Receiver<Command<M>>,
        doorbell: Arc<OwnedFd>,
    ) -> Result<Self, HostError> {
        let failed = |error| HostError::system("set up the event loop", error);
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )
        .map_err(failed)?;
        let watch = |fd: BorrowedFd<'_>, token, flags| {
            epoll::add(&epoll, fd, epoll::EventData::new_u64(token), flags).map_err(failed)
        };
        watch(doorbell.as_fd(), TOKEN_DOORBELL, epoll::EventFlags::IN)?;
        watch(timer.as_fd(), TOKEN_TIMER, epoll::EventFlags::IN)?;
        let mut slots: Vec<Vec<Option<usize>>> = Vec::new();
        for (index, attached) in interfaces.iter().enumerate() {
            let token = 2 * index as u64;
            // A device keeps its flag until it is read empty, so that one that waits for room in
            // the subnet is not asked about again and again.
            watch(
                attached.interface.tun.as_fd(),
                token,
                epoll::EventFlags::IN | epoll::EventFlags::ET,
            )?;
            watch(
                attached.interface.monitor.as_fd(),
                token + 1,
                epoll::EventFlags::IN,
            )?;
            let (node, slot) = (attached.id.node.index(), usize::from(attached.id.index));
            if slots.len() <= node {
                slots.resize(node + 1, Vec::new());
            }
            if slots[node].len() <= slot {
                slots[node].resize(slot + 1, None);
            }
            slots[node][slot] = Some(index);
        }
        let pool = machine.pool();
        Ok(Self {
            ready: (0..interfaces.len()).collect(),
            next_follow: Some(Instant::ZERO),
            machine,
            interfaces,
            slots,
            commands,
            epoll,
            timer,
            armed: None,
            doorbell,
            taps: Vec::new(),
            clock: Clock::start(),
            buffer: ReadBuffer::new(pool.clone()),
            pool,
            stopping: false,
        })
    }

    /// Runs until it is stopped. `poll`: how long to keep looking after work before going to sleep.
    pub(super) fn run(mut self, poll: Duration) {
        let mut events: Vec<epoll::Event> = Vec::with_capacity(64);
        let mut last_work = self.clock.now();
        while !self.stopping {
            let now = self.clock.now();
            if self.turn(now) {
                last_work = now;
            }
            let more = self.can_read();
            let now = self.clock.now();
            let deadline = self.deadline();
            let asleep = !more
                && now.saturating_since(last_work) >= poll
                && deadline.is_none_or(|deadline| deadline.saturating_since(now) >= poll);
            if asleep {
                self.arm(deadline);
            }
            events.clear();
            let timeout = if asleep {
                None
            } else {
                Some(&Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                })
            };
            // Interrupted: the next turn asks again.
            let _ = epoll::wait(
                &self.epoll,
                rustix::buffer::spare_capacity(&mut events),
                timeout,
            );
            if events.is_empty() && !asleep && !more {
                sched_yield();
            }
            for event in &events {
                self.note(event.data.u64());
            }
        }
    }

    /// Lets somebody else use the machine.
    pub(super) fn with_machine<T>(&mut self, action: impl FnOnce(&mut M, Instant) -> T) -> T {
        let now = self.clock.now();
        action(&mut self.machine, now)
    }

    /// Sends what passes `port` to `tap`.
    pub(super) fn capture(&mut self, port: PortRef, tap: Tap) {
        self.taps.push((port, tap));
        self.machine.capture(port, true);
    }

    /// What was lost between the subnet and the hosts' stacks.
    pub(super) fn drops(&self) -> Vec<DropRow> {
        self.interfaces.iter().flat_map(Attached::drops).collect()
    }

    /// Does everything that can be done now. Returns whether there was something.
    fn turn(&mut self, now: Instant) -> bool {
        let mut worked = false;
        while let Ok(command) = self.commands.try_recv() {
            command(self);
            worked = true;
        }
        if self.machine.poll_timeout().is_some_and(|at| at <= now) {
            self.machine.handle_timeout(now);
            worked = true;
        }
        if self.next_follow.is_some_and(|at| at <= now) {
            for attached in &mut self.interfaces {
                attached.follow(now, &mut self.machine);
            }
            self.next_follow = self.interfaces.iter().filter_map(Attached::deadline).min();
            worked = true;
        }
        worked |= self.flush();
        for _ in 0..self.ready.len() {
            let Some(index) = self.ready.pop_front() else {
                break;
            };
            worked |= self.read(index, now);
            if self.interfaces[index].ready {
                self.ready.push_back(index);
            }
            worked |= self.flush();
        }
        worked
    }

    /// Reads packets from one device into the machine.
    fn read(&mut self, index: usize, now: Instant) -> bool {
        let attached = &mut self.interfaces[index];
        let mut octets = 0;
        let mut packets = 0;
        while packets < BURST && octets < BURST_OCTETS && self.machine.can_accept_ip(attached.id) {
            match attached.interface.tun.read(&mut self.buffer) {
                Ok(Read::Packet(packet)) => {
                    packets += 1;
                    octets += packet.len();
                    attached.overhear(now, packet.bytes());
                    self.machine.handle_ip(now, attached.id, packet);
                }
                Ok(Read::Bad(reason)) => {
                    packets += 1;
                    tracing::debug!("{:?}: {reason}", attached.id);
                    attached.count_bad_header();
                }
                Ok(Read::Nothing) => {
                    attached.ready = false;
                    break;
                }
                Ok(Read::Gone) => {
                    attached.lose(now, &mut self.machine);
                    break;
                }
                Err(error) => {
                    tracing::warn!("{:?}: reading the TUN device: {error}", attached.id);
                    attached.ready = false;
                    break;
                }
            }
        }
        self.next_follow = earlier(self.next_follow, attached.deadline());
        packets > 0
    }

    /// Takes everything that the machine has for others.
    fn flush(&mut self) -> bool {
        let mut worked = false;
        while let Some((interface, packet)) = self.machine.poll_ip() {
            if let Some(index) = self.slot(interface) {
                self.interfaces[index].deliver(&packet);
            }
            worked = true;
        }
        while let Some(event) = self.machine.poll_event() {
            self.apply(event);
            worked = true;
        }
        if !self.taps.is_empty() {
            worked |= self.pass_captured();
        }
        worked
    }

    fn apply(&mut self, event: Event) {
        tracing::debug!("{event:?}");
        match event {
            Event::Carrier { interface, up } => {
                if let Some(index) = self.slot(interface) {
                    self.interfaces[index].apply_carrier(up);
                }
            }
            Event::Mtu { interface, mtu } => {
                if let Some(index) = self.slot(interface) {
                    self.interfaces[index].apply_mtu(mtu);
                }
            }
            Event::DuplicateAddress { interface, ip, .. } => {
                if let Some(index) = self.slot(interface) {
                    self.interfaces[index].remove_duplicate(ip);
                }
            }
            _ => {}
        }
    }

    fn pass_captured(&mut self) -> bool {
        let mut worked = false;
        let mut closed = BTreeSet::new();
        while let Some(captured) = self.machine.poll_captured() {
            worked = true;
            let timestamp = SystemTime::now()
                .duration_since(SystemTime::UNIX_EPOCH)
                .unwrap_or_default();
            for bytes in wire_images(&captured.frame, &self.pool) {
                for (port, tap) in self.taps.iter().filter(|(port, _)| *port == captured.port) {
                    if !tap.offer(CapturedPacket {
                        timestamp,
                        bytes: bytes.clone(),
                    }) {
                        closed.insert(*port);
                    }
                }
            }
        }
        for port in closed {
            self.taps.retain(|(at, tap)| *at != port || tap.is_open());
            if self.taps.iter().all(|(at, _)| *at != port) {
                self.machine.capture(port, false);
            }
        }
        worked
    }

    /// Whether a device has packets for which there is room.
    fn can_read(&self) -> bool {
        self.ready
            .iter()
            .any(|index| self.machine.can_accept_ip(self.interfaces[*index].id))
    }

    fn deadline(&self) -> Option<Instant> {
        self.interfaces
            .iter()
            .filter_map(Attached::deadline)
            .chain(self.machine.poll_timeout())
            .min()
    }

    /// Sets the timer that ends the next sleep.
    fn arm(&mut self, deadline: Option<Instant>) {
        if deadline == self.armed {
            return;
        }
        self.armed = deadline;
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let at = deadline.map_or(zero, |deadline| self.clock.absolute(deadline));
        let spec = Itimerspec {
            it_interval: zero,
            it_value: at,
        };
        if let Err(error) = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec) {
            tracing::warn!("the timer cannot be set: {error}");
        }
    }

    /// Notes what an epoll event is about.
    fn note(&mut self, token: u64) {
        match token {
            TOKEN_DOORBELL => drain(&self.doorbell),
            TOKEN_TIMER => {
                drain(&self.timer);
                self.armed = None;
            }
            token => {
                let Some(index) = usize::try_from(token / 2)
                    .ok()
                    .filter(|index| *index < self.interfaces.len())
                else {
                    return;
                };
                let attached = &mut self.interfaces[index];
                if token % 2 == 1 {
                    attached.listen();
                    self.next_follow = earlier(self.next_follow, attached.deadline());
                } else if !attached.ready && !attached.gone {
                    attached.ready = true;
                    self.ready.push_back(index);
                }
            }
        }
    }

    fn slot(&self, interface: IfaceRef) -> Option<usize> {
        *self
            .slots
            .get(interface.node.index())?
            .get(usize::from(interface.index))?
    }
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    a.into_iter().chain(b).min()
}

/// Takes what an eventfd or a timer counted, so that it is quiet until the next time.
fn drain(fd: &OwnedFd) {
    // Nothing in it is as good.
    let _ = rustix::io::read(fd, &mut [0_u8; 8]);
}
