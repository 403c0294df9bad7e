//! Since when a fact holds, and whether that is known or concluded.
//! Objects say when they were created, when their deletion was asked for and when each of their managers last wrote; no
//! object says when its devices were given back. All of these are the API server's clock.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

use super::{Change, How, Object, ObjectChange, SKEW, gone};
use crate::fact::{What, Why};
use crate::time::Seconds;

pub(super) fn when(change: &ObjectChange, what: &What) -> (Seconds, Option<Why>) {
    match change.how {
        How::Watched => (change.received, None),
        How::Vanished { since, .. } => (since, Some(Why::Vanished)),
        How::Late { since } => {
            let own = own(change, what);
            if let Some((at, true)) = own
                && (since..=change.received).contains(&at)
            {
                return (at, None);
            }
            // Nothing that happened unseen happened before somebody stopped to look, or in the future.
            let at = own.map_or(since, |(at, _)| at.clamp(since, change.received.max(since)));
            (at, Some(Why::NotWatched))
        }
        How::FirstSight => match own(change, what) {
            Some((at, exact)) if at <= change.received => (at, (!exact).then_some(Why::FirstSight)),
            _ => (change.received, Some(Why::FirstSight)),
        },
    }
}

/// The object's own time of what it is now, and whether it is exactly that.
fn own(change: &ObjectChange, what: &What) -> Option<(Seconds, bool)> {
    let metadata = change.object.metadata();
    if gone(change) {
        return metadata
            .deletion_timestamp
            .as_ref()
            .and_then(seconds)
            .map(|at| (at, false));
    }
    if let (What::ClaimHolds(_), Object::Claim(claim)) = (what, &change.object) {
        let allocation = claim.status.as_ref()?.allocation.as_ref()?;
        if let Some(at) = allocation.allocation_timestamp.as_ref().and_then(seconds) {
            return Some((at, true));
        }
        let allocated = written(metadata, |fields| fields.contains("\"f:allocation\""));
        return allocated
            .or_else(|| created(metadata))
            .map(|at| (at, false));
    }
    let last = written(metadata, |_| true).or_else(|| created(metadata));
    last.map(|at| (at, false))
}

/// When a manager last wrote of those whose fields are so.
fn written(metadata: &ObjectMeta, fields: impl Fn(&str) -> bool) -> Option<Seconds> {
    let managers = metadata.managed_fields.iter().flatten();
    managers
        .filter(|manager| {
            let owns = manager.fields_v1.as_ref().map(|owns| owns.0.to_string());
            fields(&owns.unwrap_or_default())
        })
        .filter_map(|manager| manager.time.as_ref().and_then(seconds))
        .max()
}

fn created(metadata: &ObjectMeta) -> Option<Seconds> {
    metadata.creation_timestamp.as_ref().and_then(seconds)
}

fn seconds(time: &Time) -> Option<Seconds> {
    Seconds::new(time.0.as_second()).ok()
}

/// By how much the API server's clock is ahead of the meter's, if it is too much.
pub(super) fn skew(change: &ObjectChange) -> Option<i64> {
    let metadata = change.object.metadata();
    if change.how != How::Watched {
        return None;
    }
    let ahead = |at: Seconds| at.get() - change.received.get();
    let last = written(metadata, |_| true).or_else(|| created(metadata));
    let future = last.map(ahead).filter(|ahead| *ahead > SKEW);
    // An object that is new was written now; of another one the last writer may leave no trace.
    let past = || {
        created(metadata)
            .filter(|_| change.change == Change::Added)
            .map(ahead)
            .filter(|ahead| *ahead < -SKEW)
    };
    future.or_else(past)
}
