//! Compatibility groups (KEP-5963): which devices may be in use on one counter set at the same time.

use crate::names::Name;

/// The groups of the devices in use on a counter set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum OnSet {
    /// No device is in use on it.
    #[default]
    Free,
    /// The devices in use declare no groups.
    Ungrouped,
    /// What the groups of all devices in use have in common.
    Common(Vec<Name>),
}

impl OnSet {
    /// Whether a device with these groups may join. No groups go with no groups only.
    pub(crate) fn admits(&self, groups: &[Name]) -> bool {
        match self {
            OnSet::Free => true,
            OnSet::Ungrouped => groups.is_empty(),
            OnSet::Common(common) => common.iter().any(|group| groups.contains(group)),
        }
    }

    /// The state once a device with these groups is in use, admitted or not.
    #[must_use]
    pub(crate) fn with(&self, groups: &[Name]) -> OnSet {
        match self {
            OnSet::Free if groups.is_empty() => OnSet::Ungrouped,
            OnSet::Free => OnSet::Common(groups.to_vec()),
            OnSet::Ungrouped if groups.is_empty() => OnSet::Ungrouped,
            OnSet::Ungrouped => OnSet::Common(vec![]),
            OnSet::Common(common) => OnSet::Common(
                common
                    .iter()
                    .filter(|group| groups.contains(group))
                    .cloned()
                    .collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(names: &[&str]) -> Vec<Name> {
        names.iter().map(|name| (*name).into()).collect()
    }

    #[test]
    fn all_devices_on_a_set_need_one_group_in_common() {
        let two = OnSet::Free
            .with(&groups(&["mig", "vgpu"]))
            .with(&groups(&["mig", "mps"]));
        assert!(two.admits(&groups(&["mig"])));
        assert!(
            !two.admits(&groups(&["vgpu", "mps"])),
            "in common with each, not with all"
        );
    }

    #[test]
    fn no_groups_go_with_no_groups_only() {
        assert!(OnSet::Free.admits(&[]) && OnSet::Free.with(&[]).admits(&[]));
        assert!(!OnSet::Free.with(&[]).admits(&groups(&["mig"])));
        assert!(!OnSet::Free.with(&groups(&["mig"])).admits(&[]));
    }
}
