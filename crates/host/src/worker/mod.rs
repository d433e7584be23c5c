//! The worker: one thread with one event loop that owns the subnet and all TUN devices.
//!
//! Run to completion: packets are read from a device, pass the whole subnet, and are written to
//! others, by the same thread and without a lock. Handing a packet to another thread would cost
//! more than the whole way.

mod attached;
mod clock;
mod event_loop;
mod machine;
#[cfg(test)]
mod tests;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{EventfdFlags, eventfd};
use softib_subnet::spec::PortRef;
use softib_subnet::view::DropRow;
use softib_wire::time::Instant;

pub(crate) use attached::Attached;
pub(crate) use machine::Machine;

use crate::capture::Tap;
use crate::error::HostError;
use event_loop::EventLoop;

/// How long the worker keeps looking for more after it had something to do. To be woken costs a
/// packet more than all the rest, and packets come in flocks.
const POLL: Duration = Duration::from_micros(50);

/// A thread that runs a [`Machine`]. Ends on drop.
#[derive(Debug)]
pub(crate) struct Worker<M: 'static> {
    commands: Sender<Command<M>>,
    doorbell: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

/// Something that another thread wants done.
type Command<M> = Box<dyn FnOnce(&mut EventLoop<M>) + Send>;

impl<M: Machine> Worker<M> {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the kernel refuses a file descriptor or the thread.
    pub(crate) fn start(machine: M, interfaces: Vec<Attached>) -> Result<Self, HostError> {
        let (commands, queue) = channel();
        let doorbell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(|error| HostError::system("make an eventfd", error))?;
        let doorbell = Arc::new(doorbell);
        let event_loop = EventLoop::new(machine, interfaces, queue, Arc::clone(&doorbell))?;
        let thread = std::thread::Builder::new()
            .name("softib-worker".to_owned())
            .spawn(move || event_loop.run(POLL))
            .map_err(|error| HostError::system("start a thread", error))?;
        Ok(Self {
            commands,
            doorbell,
            thread: Some(thread),
        })
    }

    /// Runs `action` on the worker's thread between two packets, and waits for what it returns.
    ///
    /// # Errors
    /// When the worker is gone.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut M, Instant) -> T + Send + 'static,
    ) -> Result<T, HostError> {
        self.order(|event_loop| event_loop.with_machine(action))
    }

    /// Sends what passes `port` to `tap` until nobody reads there.
    ///
    /// # Errors
    /// When the worker is gone.
    pub(crate) fn capture(&self, port: PortRef, tap: Tap) -> Result<(), HostError> {
        self.order(move |event_loop| event_loop.capture(port, tap))
    }

    /// Packets lost between the subnet and the hosts' stacks.
    ///
    /// # Errors
    /// When the worker is gone.
    pub(crate) fn drops(&self) -> Result<Vec<DropRow>, HostError> {
        self.order(|event_loop| event_loop.drops())
    }

    fn order<T: Send + 'static>(
        &self,
        action: impl FnOnce(&mut EventLoop<M>) -> T + Send + 'static,
    ) -> Result<T, HostError> {
        let (answer, result) = sync_channel(1);
        let command: Command<M> = Box::new(move |event_loop| {
            // An asker that is gone needs no answer.
            let _ = answer.send(action(event_loop));
        });
        self.commands
            .send(command)
            .map_err(|_| HostError::WorkerGone)?;
        self.ring();
        result.recv().map_err(|_| HostError::WorkerGone)
    }

    fn ring(&self) {
        // Full means that it has been rung.
        let _ = rustix::io::write(&self.doorbell, &1_u64.to_ne_bytes());
    }
}

impl<M: 'static> Drop for Worker<M> {
    fn drop(&mut self) {
        let stop: Command<M> = Box::new(EventLoop::stop);
        if self.commands.send(stop).is_ok() {
            let _ = rustix::io::write(&self.doorbell, &1_u64.to_ne_bytes());
        }
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has been printed; there is nothing to add.
            let _ = thread.join();
        }
    }
}
