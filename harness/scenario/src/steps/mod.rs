//! The steps, a file for each topic.
//! Not here: how steps are found and run.
//! Data comes from the cluster through [`crate::World`] and goes out as success or as a failure that says why.

mod arrivals;
pub(crate) mod card;
pub(crate) mod catalogue;
mod churn;
mod device_plugin;
mod gang;
mod gates;
mod health;
mod layout;
mod life;
pub(crate) mod load;
mod manifest;
mod misallocation;
mod named;
mod node;
mod order;
mod outage;
mod pod;
mod queue;
mod quota;
mod removal;
mod scale;
mod sharing;
mod status;
mod watch;

use crate::registry::Registry;

pub(crate) use node::nodes_of;

/// Every step of this program.
#[must_use]
pub fn registry() -> Registry {
    let mut steps = Registry::default();
    node::register(&mut steps);
    pod::register(&mut steps);
    card::register(&mut steps);
    order::register(&mut steps);
    device_plugin::register(&mut steps);
    load::register(&mut steps);
    arrivals::register(&mut steps);
    manifest::register(&mut steps);
    named::register(&mut steps);
    layout::register(&mut steps);
    life::register(&mut steps);
    gates::register(&mut steps);
    outage::register(&mut steps);
    churn::register(&mut steps);
    health::register(&mut steps);
    sharing::register(&mut steps);
    status::register(&mut steps);
    misallocation::register(&mut steps);
    gang::register(&mut steps);
    queue::register(&mut steps);
    quota::register(&mut steps);
    watch::register(&mut steps);
    scale::register(&mut steps);
    removal::register(&mut steps);
    steps
}
