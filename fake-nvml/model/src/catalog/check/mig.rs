//! The partitioning of a model file: profiles, placements, compute instances.
//! Not here: the card itself (`identity`), how the file is written (`file`).
//! In: the section `mig` and the card's values. Out: a [`MigSpec`], or the first problem.
use super::{super::error::CatalogError, super::file, Checker};
use crate::{
    geometry,
    ids::ProfileId,
    naming,
    spec::{
        CiProfile, CiProfileIndex, Engines, GiProfile, GiProfileIndex, MigSpec, MigToggle, Spec,
        StandIn,
    },
    units::{MiB, Slices},
};

impl Checker<'_> {
    pub(super) fn mig(&self, mig: &file::Mig, card: &Spec) -> Result<MigSpec, CatalogError> {
        for fact in [&mig.memory_slices, &mig.compute_slices, &mig.max_devices] {
            self.mark(fact, StandIn::Slices);
        }
        let mut out = MigSpec {
            memory_slices: Slices(*self.needed("memory_slices", &mig.memory_slices)?),
            compute_slices: Slices(*self.needed("compute_slices", &mig.compute_slices)?),
            max_devices: *self.needed("max_devices", &mig.max_devices)?,
            toggle: match self.needed("toggle", &mig.toggle)? {
                file::Toggle::NeedsReset => MigToggle::NeedsReset,
                file::Toggle::Immediate => MigToggle::Immediate,
            },
            profiles: Vec::new(),
        };
        for profile in &mig.gpu_instance_profiles {
            let made = self.profile(profile, &out, card)?;
            out.profiles.push(made);
        }
        self.must(
            !out.profiles.is_empty(),
            mig.memory_slices.referenced,
            || {
                (
                    "there is no GPU instance profile".to_owned(),
                    "list them under gpu_instance_profiles".to_owned(),
                )
            },
        )?;
        Ok(out)
    }

    fn profile(
        &self,
        p: &file::Profile,
        mig: &MigSpec,
        card: &Spec,
    ) -> Result<GiProfile, CatalogError> {
        let name = &p.name.value;
        let at = p.name.referenced;
        let constant = self.needed("constant", &p.constant)?;
        let index = GiProfileIndex::ALL
            .iter()
            .copied()
            .find(|i| i.constant() == constant);
        let index = index.ok_or_else(|| {
            self.error(
                p.constant.referenced,
                format!("nvml.h has no GPU instance profile {constant}"),
                "write the name without its prefix, as 1_SLICE_REV1".to_owned(),
            )
        })?;
        let shape = self.needed("shape", &p.shape)?;
        let places = self.needed("placements", &p.placements)?;
        let order = self.needed("default_order", &p.default_order)?;
        let memory = MiB(*self.needed("memory_mib", &p.memory_mib)?);
        let id = ProfileId(shape.id);
        self.mark(&p.shape, StandIn::Shape(id));
        self.mark(&p.memory_mib, StandIn::Memory(id));
        self.mark(&p.placements, StandIn::Placements(id));
        self.mark(&p.default_order, StandIn::DefaultOrder(id));
        let known = mig
            .profiles
            .iter()
            .find(|k| k.name == *name || k.index == index || k.id.0 == shape.id);
        self.must(known.is_none(), at, || {
            (
                format!(
                    "{name} has the name, the constant or the id of {}",
                    known.map_or("", |k| &k.name)
                ),
                "each profile has its own".to_owned(),
            )
        })?;
        self.must(memory <= card.memory_total, p.memory_mib.referenced, || {
            (
                format!("{name} has more memory than the card"),
                "compare with memory_total_mib".to_owned(),
            )
        })?;
        let rule = naming::profile(shape.slices, shape.slices, memory, card.memory_total, index);
        self.must(rule == *name, at, || {
            (
                format!("by the naming rule of go-nvlib this profile is `{rule}`, not `{name}`"),
                "mend name, slices, memory_mib or memory_total_mib".to_owned(),
            )
        })?;
        self.must(
            shape.slices <= mig.compute_slices.0 && shape.slices > 0,
            p.shape.referenced,
            || {
                (
                    format!(
                        "{name} has {} compute slices, the card {}",
                        shape.slices, mig.compute_slices
                    ),
                    "mend slices".to_owned(),
                )
            },
        )?;
        self.must(
            card.multiprocessors
                .is_none_or(|all| shape.multiprocessors <= all),
            p.shape.referenced,
            || {
                (
                    format!("{name} has more multiprocessors than the card"),
                    "compare with multiprocessors under identity".to_owned(),
                )
            },
        )?;
        let at = p.placements.referenced;
        self.must(places.size > 0 && !places.starts.is_empty(), at, || {
            (
                format!("{name} has no placement"),
                "write a size and at least one start".to_owned(),
            )
        })?;
        self.must(places.starts.is_sorted_by(|a, b| a < b), at, || {
            (
                "the starts do not ascend".to_owned(),
                "sort them, each once".to_owned(),
            )
        })?;
        let mut order_sorted = order.clone();
        order_sorted.sort_unstable();
        self.must(
            order_sorted == places.starts,
            p.default_order.referenced,
            || {
                (
                    "default_order is not an order of the starts".to_owned(),
                    format!("write each of {:?} once", places.starts),
                )
            },
        )?;
        let mut profile = GiProfile {
            name: name.clone(),
            index,
            id,
            slices: Slices(shape.slices),
            instances: shape.instances,
            multiprocessors: shape.multiprocessors,
            engines: Engines {
                copy: shape.copy,
                decoder: shape.decoder,
                encoder: shape.encoder,
                jpeg: shape.jpeg,
                ofa: shape.ofa,
            },
            memory,
            p2p: shape.p2p,
            size: Slices(places.size),
            starts: places.starts.clone(),
            default_order: order.clone(),
            compute: Vec::new(),
        };
        for place in profile.placements() {
            let id = geometry::gi_id(place, mig.memory_slices, false);
            self.must(
                place.end() <= mig.memory_slices.0 && id.is_some(),
                at,
                || {
                    (
                        format!(
                            "{place} is no half, quarter or eighth of {} memory slices",
                            mig.memory_slices
                        ),
                        "mend size or starts: ids follow from such parts only".to_owned(),
                    )
                },
            )?;
        }
        let fit = geometry::packing(profile.placements(), std::iter::empty());
        self.must(
            (1..=fit).contains(&profile.instances),
            p.shape.referenced,
            || {
                (
                    format!(
                        "{name} allows {} instances, its placements {fit}",
                        profile.instances
                    ),
                    "mend instances or placements".to_owned(),
                )
            },
        )?;
        for compute in &p.compute_instance_profiles {
            let made = self.compute(compute, &profile, card)?;
            profile.compute.push(made);
        }
        let full = profile.full_compute();
        self.must(
            full.is_some_and(|c| c.starts == [0] && c.instances == 1),
            p.name.referenced,
            || {
                (
                    format!("{name} has no compute instance profile that fills it"),
                    format!("add one of {} slices at start 0", profile.slices),
                )
            },
        )?;
        Ok(profile)
    }

    fn compute(
        &self,
        c: &file::Compute,
        gi: &GiProfile,
        card: &Spec,
    ) -> Result<CiProfile, CatalogError> {
        let (name, at) = (&c.name.value, c.name.referenced);
        let constant = &c.constant.value;
        let index = CiProfileIndex::ALL
            .iter()
            .copied()
            .find(|i| i.constant() == constant);
        let index = index.ok_or_else(|| {
            self.error(
                c.constant.referenced,
                format!("nvml.h has no compute instance profile {constant}"),
                "write the name without its prefix, as 1_SLICE".to_owned(),
            )
        })?;
        let shape = self.needed("shape", &c.shape)?;
        let starts = self.needed("starts", &c.starts)?;
        let multiprocessors = *self.needed("multiprocessors", &c.multiprocessors)?;
        self.mark(&c.shape, StandIn::Compute(gi.id));
        self.mark(&c.starts, StandIn::Compute(gi.id));
        self.mark(&c.multiprocessors, StandIn::Compute(gi.id));
        let known = gi
            .compute
            .iter()
            .any(|k| k.index == index || k.id.0 == shape.id);
        self.must(!known, at, || {
            (
                format!("{name} has the constant or the id of another one"),
                "each compute instance profile has its own".to_owned(),
            )
        })?;
        // The suffix of the GPU instance profile is not part of it: tools print `1g.5gb` inside `1g.5gb+me`.
        let rule = naming::profile(
            shape.slices,
            gi.slices.0,
            gi.memory,
            card.memory_total,
            GiProfileIndex::S1,
        );
        self.must(rule == *name, at, || {
            (
                format!("by the naming rule of go-nvlib this profile is `{rule}`, not `{name}`"),
                "mend name or slices".to_owned(),
            )
        })?;
        self.must(
            multiprocessors <= gi.multiprocessors,
            c.multiprocessors.referenced,
            || {
                (
                    format!("{name} has more multiprocessors than {}", gi.name),
                    "mend multiprocessors".to_owned(),
                )
            },
        )?;
        let profile = CiProfile {
            name: name.clone(),
            index,
            id: ProfileId(shape.id),
            slices: Slices(shape.slices),
            instances: shape.instances,
            multiprocessors,
            starts: starts.clone(),
        };
        self.must(
            profile
                .placements()
                .all(|place| place.size > 0 && place.end() <= gi.slices.0),
            c.starts.referenced,
            || {
                (
                    format!(
                        "{name} does not lie within the {} slices of {}",
                        gi.slices, gi.name
                    ),
                    "mend starts or slices".to_owned(),
                )
            },
        )?;
        let fit = geometry::packing(profile.placements(), std::iter::empty());
        self.must(
            (1..=fit).contains(&profile.instances),
            c.shape.referenced,
            || {
                (
                    format!(
                        "{name} allows {} instances, its placements {fit}",
                        profile.instances
                    ),
                    "mend instances or starts".to_owned(),
                )
            },
        )?;
        Ok(profile)
    }
}
