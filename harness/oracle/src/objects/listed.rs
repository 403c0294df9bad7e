//! The API's objects as a client lists them, read in one go. One that cannot be read is left out and named.

use k8s_openapi::api::core::v1::Node as ApiNode;
use k8s_openapi::api::resource::v1 as api;

use super::{Claim, ClaimKey, Class, Mistake, Node, Rule, Slice};
use crate::gates::Gates;
use crate::world::{Setup, World};

/// Everything of a cluster that decides how devices are allocated.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// ResourceSlices, in the order of the list.
    pub slices: Vec<api::ResourceSlice>,
    /// DeviceClasses.
    pub classes: Vec<api::DeviceClass>,
    /// ResourceClaims of every namespace.
    pub claims: Vec<api::ResourceClaim>,
    /// Nodes.
    pub nodes: Vec<ApiNode>,
    /// DeviceTaintRules, where they are served.
    pub rules: Vec<api::DeviceTaintRule>,
}

/// The node that an allocation is bound to; `None` if it is not allocated, or can be used on several.
pub fn bound_node(claim: &api::ResourceClaim) -> Option<&str> {
    let allocation = claim.status.as_ref()?.allocation.as_ref()?;
    let [term] = allocation
        .node_selector
        .as_ref()?
        .node_selector_terms
        .as_slice()
    else {
        return None;
    };
    let fields = term.match_fields.iter().flatten();
    let mut names = fields.filter(|field| field.key == "metadata.name" && field.operator == "In");
    match names.next()?.values.as_deref() {
        Some([name]) => Some(name),
        _ => None,
    }
}

impl Setup {
    /// Reads what a client has listed; what cannot be read is not in it, but among the mistakes.
    pub fn read(listed: &Listed, gates: &Gates) -> (Setup, Vec<Mistake>) {
        let dialect = World::dialect(gates);
        let mut mistakes = Vec::new();
        let setup = Setup {
            slices: good(&listed.slices, &mut mistakes, Slice::read),
            classes: good(&listed.classes, &mut mistakes, |class| {
                Class::read(class, dialect)
            }),
            claims: good(&listed.claims, &mut mistakes, |claim| {
                Claim::read(claim, dialect)
            }),
            nodes: listed.nodes.iter().map(Node::read).collect(),
            rules: good(&listed.rules, &mut mistakes, Rule::read),
        };
        (setup, mistakes)
    }

    /// The cluster without what these claims hold: as it was before they were allocated, if nothing else has changed since.
    #[must_use]
    pub fn before(mut self, claims: &[ClaimKey]) -> Setup {
        for claim in &mut self.claims {
            if claims.contains(&claim.key) {
                claim.holds = None;
            }
        }
        self
    }
}

fn good<A, T>(
    from: &[A],
    mistakes: &mut Vec<Mistake>,
    read: impl Fn(&A) -> Result<T, Mistake>,
) -> Vec<T> {
    let keep = |result: Result<T, Mistake>| result.map_err(|mistake| mistakes.push(mistake)).ok();
    from.iter().map(read).filter_map(keep).collect()
}
