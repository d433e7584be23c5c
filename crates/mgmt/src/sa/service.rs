//! ServiceRecord: services that ports offer, for as long as their lease lasts (IBA 15.2.5.14).

use std::collections::BTreeMap;

use softib_wire::addr::{Gid, Guid, PKey};
use softib_wire::mad::sa::{ServiceMask, ServiceRecord};
use softib_wire::mad::status::MadStatus;
use softib_wire::time::{Duration, Instant};

use super::{Answer, Records, Reply, Request, View};

/// Services that are kept, of all ports together.
const MOST_SERVICES: usize = 65_536;

/// IBA 15.2.5.14.1: what tells services apart.
type Key = (u64, Gid, PKey);

#[derive(Debug)]
struct Service {
    record: ServiceRecord,
    /// `None`: for ever.
    until: Option<Instant>,
}

/// Services on offer.
#[derive(Debug, Default)]
pub(super) struct Services {
    services: BTreeMap<Key, Service>,
}

const IDENTITY: ServiceMask = ServiceMask::SERVICE_ID
    .union(ServiceMask::SERVICE_GID)
    .union(ServiceMask::SERVICE_P_KEY);

impl Services {
    /// Get and GetTable.
    pub(super) fn query(&self, now: Instant, asked: Request<'_>) -> Answer {
        let mut found = Records::new::<ServiceRecord>();
        for service in self.services.values() {
            let mut record = service.record;
            if let Some(until) = service.until {
                let seconds = (until - now).as_nanos().div_ceil(1_000_000_000);
                record.lease = u32::try_from(seconds).unwrap_or(u32::MAX - 1);
            }
            if !asked.trusted {
                // The key is the owner's secret.
                record.key = [0; 16];
            }
            found.push(&record, asked.mad);
        }
        Ok(Reply::Records(found))
    }

    /// Set: offers a service, or lets it last longer.
    pub(super) fn set(&mut self, now: Instant, view: View<'_>, asked: Request<'_>) -> Answer {
        let (key, mut record) = read(view, asked)?;
        let mask = ServiceMask::from_bits_truncate(asked.mad.component_mask);
        if !mask.contains(ServiceMask::LEASE) {
            record.lease = ServiceRecord::LEASE_FOR_EVER;
        }
        if record.lease == 0 {
            return Err(MadStatus::SA_REQUEST_INVALID);
        }
        let known = self.services.get(&key);
        if known.is_some_and(|known| known.record.key != record.key) && !asked.trusted {
            return Err(MadStatus::SA_REQUEST_DENIED);
        }
        if known.is_none() && self.services.len() >= MOST_SERVICES {
            return Err(MadStatus::SA_NO_RESOURCES);
        }
        let lasts = record.lease != ServiceRecord::LEASE_FOR_EVER;
        let until = lasts.then(|| now + Duration::from_secs(record.lease.into()));
        self.services.insert(key, Service { record, until });
        Ok(Reply::record(&record))
    }

    /// Delete: the service is no more.
    pub(super) fn delete(&mut self, view: View<'_>, asked: Request<'_>) -> Answer {
        let (key, record) = read(view, asked)?;
        let known = self.services.get(&key).ok_or(MadStatus::SA_NO_RECORDS)?;
        if known.record.key != record.key && !asked.trusted {
            return Err(MadStatus::SA_REQUEST_DENIED);
        }
        let record = known.record;
        self.services.remove(&key);
        Ok(Reply::record(&record))
    }

    pub(super) fn port_gone(&mut self, guid: Guid) {
        self.services.retain(|(_, gid, _), _| gid.guid() != guid);
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        self.services
            .values()
            .filter_map(|service| service.until)
            .min()
    }

    pub(super) fn handle_timeout(&mut self, now: Instant) {
        self.services
            .retain(|_, service| service.until.is_none_or(|until| until > now));
    }
}

fn read(view: View<'_>, asked: Request<'_>) -> Result<(Key, ServiceRecord), MadStatus> {
    let record: ServiceRecord = asked.record()?;
    let mask = ServiceMask::from_bits_truncate(asked.mad.component_mask);
    if !mask.contains(IDENTITY) {
        return Err(MadStatus::SA_INSUFFICIENT_COMPONENTS);
    }
    let port = view
        .database
        .by_gid(record.service_gid, view.config.subnet_prefix)
        .ok_or(MadStatus::SA_INVALID_GID)?;
    if !asked.speaks_for(port.node) {
        return Err(MadStatus::SA_REQUEST_DENIED);
    }
    let keys = view
        .database
        .port(port)
        .and_then(|port| port.pkeys.as_deref())
        .unwrap_or(&[]);
    // A service is offered in a partition that its port is in.
    if !keys
        .iter()
        .any(|key| key.partition() == record.service_pkey.partition())
    {
        return Err(MadStatus::SA_REQUEST_INVALID);
    }
    Ok((
        (record.service_id, record.service_gid, record.service_pkey),
        record,
    ))
}
