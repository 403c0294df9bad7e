//! Four accounts of one claim, side by side: what its quota is charged, which devices Kubernetes gave it, for how long the
//! meter saw it hold them, and what the invoice says. Nobody else joins them; the first claim in which they differ ends it.
//! Not here: how each is got. Pure: accounts in, rows or the first difference out.

pub mod against;
mod invoiced;

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim};
use oracle::quota;

use crate::entry::Entry;
use crate::fact::Uid;
use crate::ratio::{Arithmetic, Ratio, Sum};
use crate::time::Span;

pub use invoiced::{Invoiced, NotAnInvoice, invoiced};

/// What is known of a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Namespace and name.
    pub name: String,
    /// What its namespace's quotas are charged for it, by key.
    pub quota: BTreeMap<String, String>,
    /// What the API server says that it has; `None`: there is no such claim.
    pub allocated: Option<Vec<String>>,
    /// What the meter saw it have to the end of the period.
    pub open: Vec<String>,
    /// For how many seconds it had a device, added up over its devices.
    pub seconds: i64,
    /// Card-seconds.
    pub share_seconds: Option<Ratio>,
    /// What the invoice says; `None` where none was given, or it has no line of the claim.
    pub invoiced: Option<Invoiced>,
}

/// The first claim in which accounts differ.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("claim {account} ({uid}): {what}")]
pub struct Difference {
    /// The claim.
    pub uid: Uid,
    /// All four values.
    pub account: Box<Account>,
    /// What differs.
    pub what: String,
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |of: &[String]| {
            if of.is_empty() {
                "nothing".to_owned()
            } else {
                of.join(", ")
            }
        };
        let charged: Vec<String> = self
            .quota
            .iter()
            .map(|(key, amount)| format!("{key} {amount}"))
            .collect();
        let allocated = self
            .allocated
            .as_ref()
            .map_or("no such claim".to_owned(), |it| list(it));
        let invoiced = self
            .invoiced
            .as_ref()
            .map_or("nothing".to_owned(), ToString::to_string);
        write!(
            f,
            "{}: quota {}; allocation {allocated}; meter {} s, now {}; invoice {invoiced}",
            self.name,
            list(&charged),
            self.seconds,
            list(&self.open),
        )
    }
}

/// Puts accounts together.
#[derive(Clone, Debug, Default)]
pub struct Accounts {
    of: BTreeMap<Uid, Account>,
    sums: BTreeMap<Uid, Sum>,
    with_invoice: bool,
}

impl Accounts {
    /// What the API server says now: claims, and the classes that say what a quota is charged for them.
    pub fn live(
        &mut self,
        claims: &[ResourceClaim],
        classes: &[DeviceClass],
        rules: &quota::Rules,
    ) {
        let classes = classes.iter().filter_map(|class| {
            Some((
                class.metadata.name.as_deref()?,
                class
                    .spec
                    .as_ref()
                    .and_then(|spec| spec.extended_resource_name.as_deref()),
            ))
        });
        let classes = quota::Classes::named(classes);
        let held = quota::Held {
            claims: claims.iter().map(quota::Claim::read).collect(),
            pods: vec![],
        };
        for (claim, read) in claims.iter().zip(&held.claims) {
            let metadata = &claim.metadata;
            let Some(uid) = metadata.uid.as_deref() else {
                continue;
            };
            let charge = quota::of_claim(read, &held, &classes, rules);
            let account = self.of.entry(uid.into()).or_default();
            let part = |of: &Option<String>| of.clone().unwrap_or_default();
            account.name = format!("{}/{}", part(&metadata.namespace), part(&metadata.name));
            account.quota = charge
                .amounts
                .iter()
                .map(|(key, amount)| (key.clone(), amount.to_string()))
                .collect();
            let allocation = claim
                .status
                .as_ref()
                .and_then(|status| status.allocation.as_ref());
            let results = allocation
                .and_then(|it| it.devices.as_ref())
                .and_then(|it| it.results.as_ref());
            let results = results
                .into_iter()
                .flatten()
                .filter(|it| it.admin_access != Some(true));
            let mut devices: Vec<String> = results
                .map(|it| format!("{}/{}", it.pool, it.device))
                .collect();
            devices.sort();
            account.allocated = Some(devices);
        }
    }

    /// What the meter saw in a period.
    ///
    /// # Errors
    /// The sum is too large.
    pub fn metered(&mut self, entry: &Entry, period: Span) -> Result<(), Arithmetic> {
        let Some(holder) = entry.bucket.holder().filter(|_| !entry.overlay) else {
            return Ok(());
        };
        let uid = Uid::from(holder.claim_uid.as_str());
        let account = self.of.entry(uid.clone()).or_default();
        account.name = format!("{}/{}", holder.namespace, holder.name);
        account.seconds += entry.span.seconds();
        if entry.span.until() == period.until() {
            account.open.push(format!(
                "{}/{}",
                entry.card.pool,
                entry.device.as_deref().unwrap_or_default()
            ));
            account.open.sort();
        }
        self.sums
            .entry(uid)
            .or_default()
            .add(entry.share, entry.span.seconds())
    }

    /// What an invoice of the same period says.
    pub fn invoice(&mut self, lines: impl IntoIterator<Item = (Uid, Invoiced)>) {
        self.with_invoice = true;
        for (uid, invoiced) in lines {
            self.of.entry(uid).or_default().invoiced = Some(invoiced);
        }
    }

    /// Every claim, or the first in which the accounts differ. `now`: the period ends now, so that what is allocated must be
    /// what the meter saw last.
    ///
    /// # Errors
    /// The first difference, with all four values.
    pub fn reconcile(mut self, now: bool) -> Result<BTreeMap<Uid, Account>, Difference> {
        for (uid, sum) in std::mem::take(&mut self.sums) {
            if let Some(account) = self.of.get_mut(&uid) {
                account.share_seconds = sum.total().ok();
            }
        }
        for (uid, account) in &self.of {
            if let Some(what) = self.differs(account, now) {
                return Err(Difference {
                    uid: uid.clone(),
                    account: Box::new(account.clone()),
                    what,
                });
            }
        }
        Ok(self.of)
    }

    fn differs(&self, account: &Account, now: bool) -> Option<String> {
        let none = Vec::new();
        let allocated = account.allocated.as_ref().unwrap_or(&none);
        if now && *allocated != account.open {
            return Some(match (allocated.is_empty(), account.open.is_empty()) {
                (false, true) => "it is allocated, and the meter did not see that".to_owned(),
                (true, false) => "the meter has it hold devices that it does not have".to_owned(),
                _ => "the meter has it hold other devices than it has".to_owned(),
            });
        }
        if now && !allocated.is_empty() && account.quota.is_empty() {
            return Some("it has devices for which no quota could be charged".to_owned());
        }
        if !self.with_invoice {
            return None;
        }
        match &account.invoiced {
            None if account.seconds > 0 => {
                Some("the meter saw it hold devices, and the invoice has no line of it".to_owned())
            }
            Some(_) if account.seconds == 0 => Some(
                "the invoice has a line of it, and the meter did not see it hold anything"
                    .to_owned(),
            ),
            Some(invoiced) if invoiced.seconds != account.seconds => Some(format!(
                "the invoice counts {} s, the meter {} s",
                invoiced.seconds, account.seconds
            )),
            _ => None,
        }
    }
}
