//! What the API's handlers share: the running lab, and what its cables do.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use softib_host::HostError;
use softib_host::enter::Server;
use softib_host::runtime::{LabSpec, Runtime};
use softib_subnet::spec::{LinkSpec, SubnetSpec};
use tokio::sync::Notify;

use super::readiness;

pub(super) struct State {
    pub(super) spec: LabSpec,
    pub(super) source: String,
    pub(super) since: Instant,
    /// For each host and interface, whether it can run.
    pub(super) expected: Vec<Vec<bool>>,
    links: Mutex<Vec<LinkSpec>>,
    running: Mutex<Option<(Runtime, Server)>>,
    down: Notify,
}

impl State {
    pub(super) fn new(spec: LabSpec, source: String, runtime: Runtime, exec: Server) -> Self {
        Self {
            expected: readiness::expected(&spec.subnet),
            links: Mutex::new(spec.subnet.links.clone()),
            spec,
            source,
            since: Instant::now(),
            running: Mutex::new(Some((runtime, exec))),
            down: Notify::new(),
        }
    }

    pub(super) const fn subnet(&self) -> &SubnetSpec {
        &self.spec.subnet
    }

    /// The running lab.
    pub(super) fn with<T>(
        &self,
        action: impl FnOnce(&Runtime) -> Result<T, HostError>,
    ) -> Result<T, HostError> {
        match &*lock(&self.running) {
            Some((runtime, _)) => action(runtime),
            None => Err(HostError::WorkerGone),
        }
    }

    /// The cables as they are now.
    pub(super) fn links(&self) -> MutexGuard<'_, Vec<LinkSpec>> {
        lock(&self.links)
    }

    /// Asks the lab to go down.
    pub(super) fn take_down(&self) {
        self.down.notify_one();
    }

    /// Waits until somebody asks.
    pub(super) async fn down(&self) {
        self.down.notified().await;
    }

    /// Ends the programs on the hosts, then the lab; how many programs there were.
    pub(super) fn stop(&self) -> usize {
        lock(&self.running).take().map_or(0, |(runtime, exec)| {
            drop(exec);
            runtime.stop()
        })
    }
}

/// A thread that panicked with the lock held left nothing half done here.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
