//! Events of the system (drivers that bind to GPUs and let them go), and events with context.
//! Not events of GPUs (`events`).
//! No driver ever lets a fake GPU go, so a wait lasts as long as it may; sets live in this process, as those of `event_set` do.

use std::time::Duration;

use crate::absent::absent;
use crate::event_set;
use crate::macros::api;
use crate::out::Out;
use crate::status::Status;
use crate::types::{
    SystemEventSetCreate, SystemEventSetFree, SystemEventSetWait, SystemRegisterEvents,
};

/// `nvmlSystemEventTypeGpuDriverUnbind` and `nvmlSystemEventTypeGpuDriverBind`.
const TYPES: u64 = 3;

api! {
    table SYSTEM_EVENTS;

    /// An empty set.
    session fn nvmlSystemEventSetCreate(request: Out<SystemEventSetCreate>) |_session| {
        request.check_version()?;
        request.put(SystemEventSetCreate { set: event_set::create()?, ..request.get()? })
    }

    /// Ends a set.
    session fn nvmlSystemEventSetFree(request: Out<SystemEventSetFree>) |_session| {
        request.check_version()?;
        event_set::free(request.get()?.set)
    }

    /// From now on the set is given these types of events; INVALID_ARGUMENT for types that do not exist.
    session fn nvmlSystemRegisterEvents(request: Out<SystemRegisterEvents>) |_session| {
        request.check_version()?;
        let asked = request.get()?;
        event_set::check(asked.set)?;
        if asked.event_types & !TYPES != 0 {
            return Err(Status::InvalidArgument);
        }
        Ok(())
    }

    /// The set's next events: TIMEOUT, when the time is over.
    session fn nvmlSystemEventSetWait(request: Out<SystemEventSetWait>) |_session| {
        request.check_version()?;
        let asked = request.get()?;
        event_set::check(asked.set)?;
        if asked.data.is_null() || asked.data_size == 0 {
            return Err(Status::InvalidArgument);
        }
        event_set::wait(asked.set, Duration::from_millis(asked.timeoutms.into())).map(drop)
    }
}

absent! {
    table CONTEXT_EVENTS;

    /// Events with context came with the 615 drivers; what they hold is not published.
    event_set fn nvmlEventSetRegisterGpuOperationalEvents_v1(config: Out<u8>);
    /// As `nvmlEventSetRegisterGpuOperationalEvents_v1`.
    event_set fn nvmlEventSetWait_v3(event: Out<u8>);
    /// As `nvmlEventSetRegisterGpuOperationalEvents_v1`.
    event_set fn nvmlEventSetGetContextCount_v1(count: Out<u8>);
    /// As `nvmlEventSetRegisterGpuOperationalEvents_v1`.
    event_set fn nvmlEventSetGetContextInfo_v1(info: Out<u8>);
    /// As `nvmlEventSetRegisterGpuOperationalEvents_v1`.
    event_set fn nvmlEventSetGetContextData_v1(data: Out<u8>);
    /// As `nvmlEventSetRegisterGpuOperationalEvents_v1`.
    event_set fn nvmlEventSetGetGpuOperationalEventContextLegacyXid_v1(xid: Out<u8>);
}
