//! What cards do, written a second time from the rules of nvml.h, the MIG User Guide and captures; in the plainest way.
//! Not here: anything of the engine. From the catalogue it takes published numbers only: profiles and their placements.
//! In: one asked thing after another. Out: what must be answered, as the text that the asking process must print.
use crate::talk::Ask;
use gpu_model::{GiProfile, MigToggle, Spec};
use std::collections::{BTreeMap, BTreeSet};

const INVALID_ARGUMENT: u32 = 2;
const NOT_SUPPORTED: u32 = 3;
const NOT_FOUND: u32 = 6;
const RESET_REQUIRED: u32 = 16;
const IN_USE: u32 = 19;
const INSUFFICIENT_RESOURCES: u32 = 23;

/// Ids of GPU instances: slices of the card, mapping, start, size, id.
const IDS: &str = include_str!("../../../model/data/gi-ids.tsv");

/// A part of a card: profile, first slice, number of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    profile: u32,
    start: u32,
    size: u32,
}

impl Part {
    fn cells(self) -> std::ops::Range<u32> {
        self.start..self.start + self.size
    }
}

#[derive(Clone, Debug)]
struct Instance {
    part: Part,
    parts: BTreeMap<u32, Part>,
}

/// One card.
#[derive(Clone, Debug)]
struct Card {
    spec: Spec,
    flipped: bool,
    on: bool,
    pending: bool,
    instances: BTreeMap<u32, Instance>,
}

/// The machine, and who holds what: (process, card, GPU instance, compute instance).
#[derive(Clone, Debug, Default)]
pub(crate) struct Reference {
    cards: Vec<Card>,
    held: Vec<(usize, u32, Option<u32>, Option<u32>)>,
}

fn cells<'a>(parts: impl Iterator<Item = &'a Part>) -> BTreeSet<u32> {
    parts.flat_map(|part| part.cells()).collect()
}

/// The first of `starts` at which nothing lies, or `asked` if nothing lies there.
fn room(taken: &BTreeSet<u32>, starts: &[u32], size: u32, asked: Option<u32>) -> Option<u32> {
    let free = |start: &u32| (*start..*start + size).all(|cell| !taken.contains(&cell));
    match asked {
        Some(start) => Some(start).filter(free),
        None => starts.iter().copied().find(free),
    }
}

impl Card {
    fn profile(&self, id: u32) -> Option<&GiProfile> {
        let mig = self.spec.mig.as_ref()?;
        mig.profiles.iter().find(|profile| profile.id.0 == id)
    }

    fn id_at(&self, start: u32, size: u32) -> u32 {
        let mapping = if self.flipped { "flipped" } else { "normal" };
        let slices = self.spec.mig.as_ref().map_or(0, |mig| mig.memory_slices.0);
        let place = format!("{slices}\t{mapping}\t{start}\t{size}\t");
        let id = IDS.lines().find_map(|row| row.strip_prefix(&place));
        id.map_or(u32::MAX, |id| id.parse().expect("a number"))
    }

    /// Whether one more of a profile is within the card's counts: instances, compute slices and engines of each kind.
    fn counts_allow(&self, profile: &GiProfile) -> bool {
        let Some(mig) = &self.spec.mig else {
            return false;
        };
        let there: Vec<&GiProfile> = self
            .instances
            .values()
            .filter_map(|it| self.profile(it.part.profile))
            .collect();
        // The profile of the whole card has id 0 on every model.
        let Some(whole) = self.profile(0).map(|whole| whole.engines) else {
            return false;
        };
        let more = |of: &dyn Fn(&GiProfile) -> u32| {
            there.iter().map(|it| of(it)).sum::<u32>() + of(profile)
        };
        let same = there.iter().filter(|it| it.id == profile.id).count();
        same < profile.instances as usize
            && more(&|p| p.slices.0) <= mig.compute_slices.0
            && more(&|p| p.engines.copy) <= whole.copy
            && more(&|p| p.engines.decoder) <= whole.decoder
            && more(&|p| p.engines.encoder) <= whole.encoder
            && more(&|p| p.engines.jpeg) <= whole.jpeg
            && more(&|p| p.engines.ofa) <= whole.ofa
    }

    /// How many more of a profile fit, by putting them there one after another.
    fn remaining(&self, profile: &GiProfile) -> u32 {
        let mut card = self.clone();
        let mut count = 0;
        loop {
            let taken = cells(card.instances.values().map(|it| &it.part));
            let start = room(&taken, &profile.starts, profile.size.0, None);
            let Some(start) = start.filter(|_| card.counts_allow(profile)) else {
                return count;
            };
            let part = Part {
                profile: profile.id.0,
                start,
                size: profile.size.0,
            };
            let id = card.id_at(start, profile.size.0);
            card.instances.insert(
                id,
                Instance {
                    part,
                    parts: BTreeMap::new(),
                },
            );
            count += 1;
        }
    }
}

impl Reference {
    /// A machine after boot with MIG mode on wherever there is MIG; `flipped` says which cards count from the other half.
    pub(crate) fn new(specs: &[(Spec, bool)]) -> Self {
        let cards = specs
            .iter()
            .map(|(spec, flipped)| Card {
                spec: spec.clone(),
                flipped: *flipped,
                on: spec.mig.is_some(),
                pending: spec.mig.is_some(),
                instances: BTreeMap::new(),
            })
            .collect();
        Self {
            cards,
            held: Vec::new(),
        }
    }

    fn is_held(&self, card: u32, gi: Option<u32>, ci: Option<u32>) -> bool {
        self.held.iter().any(|(_, of, in_gi, in_ci)| {
            *of == card && (gi.is_none() || gi == *in_gi) && (ci.is_none() || ci == *in_ci)
        })
    }

    /// What `process` must be told when it asks this, and the machine afterwards. A UUID is not foretold: `*` stands for it.
    pub(crate) fn ask(&mut self, process: usize, ask: Ask) -> String {
        match self.answer(process, ask) {
            Ok(told) => told,
            Err(code) => format!("code {code}"),
        }
    }

    fn answer(&mut self, process: usize, ask: Ask) -> Result<String, u32> {
        if let Ask::Drop = ask {
            self.held.retain(|(of, ..)| *of != process);
            return Ok("done".to_owned());
        }
        let number = ask.card();
        let index = usize::try_from(number).unwrap_or(usize::MAX);
        if let Ask::Hold { gi, ci, .. } = ask {
            // A hold on what is not there is refused by the store, not by a code of NVML.
            let there = self.cards.get(index).is_some_and(|card| match (gi, ci) {
                (None, None) => true,
                (None, Some(_)) => false,
                (Some(gi), ci) => card
                    .instances
                    .get(&gi)
                    .is_some_and(|it| ci.is_none_or(|ci| it.parts.contains_key(&ci))),
            });
            if !there {
                return Ok("nothing".to_owned());
            }
            self.held.push((process, number, gi, ci));
            return Ok("done".to_owned());
        }
        let held = |gi, ci| self.is_held(number, gi, ci);
        let (card_held, gi_held, ci_held) = match ask {
            Ask::DestroyGi { gi, .. } => (false, held(Some(gi), None), false),
            Ask::DestroyCi { gi, ci, .. } => (false, false, held(Some(gi), Some(ci))),
            _ => (held(None, None), false, false),
        };
        let card = self.cards.get_mut(index).ok_or(INVALID_ARGUMENT)?;
        if let Ask::Reset { .. } = ask {
            if card_held {
                return Err(IN_USE);
            }
            card.instances.clear();
            card.on = card.pending;
            return Ok("done".to_owned());
        }
        let toggle = card.spec.mig.as_ref().ok_or(NOT_SUPPORTED)?.toggle;
        if let Ask::Mode { on, .. } = ask {
            let busy = card_held || !card.instances.is_empty();
            let activation = match (card.on == on, toggle, busy) {
                // Nothing to do; a change that was pending is taken back.
                (true, ..) => {
                    card.pending = on;
                    0
                }
                // Hopper and newer need no reset, and keep no change waiting.
                (false, MigToggle::Immediate, true) => IN_USE,
                (false, MigToggle::Immediate, false) => {
                    (card.on, card.pending) = (on, on);
                    0
                }
                // Ampere waits for a reset.
                (false, MigToggle::NeedsReset, busy) => {
                    card.pending = on;
                    if busy { IN_USE } else { RESET_REQUIRED }
                }
            };
            return Ok(format!("mode {activation}"));
        }
        if !card.on {
            return Err(NOT_SUPPORTED);
        }
        match ask {
            Ask::CreateGi { profile, place, .. } => {
                let profile = card.profile(profile).ok_or(INVALID_ARGUMENT)?;
                let size = profile.size.0;
                if place.is_some_and(|(start, n)| n != size || !profile.starts.contains(&start)) {
                    return Err(INVALID_ARGUMENT);
                }
                let taken = cells(card.instances.values().map(|it| &it.part));
                let start = room(&taken, &profile.default_order, size, place.map(|p| p.0))
                    .filter(|_| card.counts_allow(profile))
                    .ok_or(INSUFFICIENT_RESOURCES)?;
                let part = Part {
                    profile: profile.id.0,
                    start,
                    size,
                };
                let id = card.id_at(start, size);
                card.instances.insert(
                    id,
                    Instance {
                        part,
                        parts: BTreeMap::new(),
                    },
                );
                Ok(format!("gi {id} {start}:{size}"))
            }
            Ask::DestroyGi { gi, .. } => {
                let there = card.instances.get(&gi).ok_or(NOT_FOUND)?;
                if !there.parts.is_empty() || gi_held {
                    return Err(IN_USE);
                }
                card.instances.remove(&gi);
                Ok("done".to_owned())
            }
            Ask::CreateCi {
                gi, profile, place, ..
            } => {
                let within = card.instances.get(&gi).ok_or(NOT_FOUND)?;
                let known = card.profile(within.part.profile).ok_or(NOT_FOUND)?;
                let profile = known
                    .compute
                    .iter()
                    .find(|it| it.id.0 == profile)
                    .cloned()
                    .ok_or(INVALID_ARGUMENT)?;
                let size = profile.slices.0;
                if place.is_some_and(|(start, n)| n != size || !profile.starts.contains(&start)) {
                    return Err(INVALID_ARGUMENT);
                }
                let same = within
                    .parts
                    .values()
                    .filter(|it| it.profile == profile.id.0)
                    .count();
                let taken = cells(within.parts.values());
                let start = room(&taken, &profile.starts, size, place.map(|p| p.0))
                    .filter(|_| same < profile.instances as usize)
                    .ok_or(INSUFFICIENT_RESOURCES)?;
                let id = (0..).find(|id| !within.parts.contains_key(id)).unwrap_or(0);
                let part = Part {
                    profile: profile.id.0,
                    start,
                    size,
                };
                if let Some(within) = card.instances.get_mut(&gi) {
                    within.parts.insert(id, part);
                }
                Ok(format!("ci {id} {start}:{size}"))
            }
            Ask::DestroyCi { gi, ci, .. } => {
                let within = card.instances.get_mut(&gi).ok_or(NOT_FOUND)?;
                if !within.parts.contains_key(&ci) {
                    return Err(NOT_FOUND);
                }
                if ci_held {
                    return Err(IN_USE);
                }
                within.parts.remove(&ci);
                Ok("done".to_owned())
            }
            Ask::Mode { .. } | Ask::Reset { .. } | Ask::Hold { .. } | Ask::Drop => unreachable!(),
        }
    }

    /// The whole state as every process must see it, without UUIDs.
    pub(crate) fn look(&self) -> String {
        let mut text = String::new();
        for (index, card) in self.cards.iter().enumerate() {
            text += &format!(
                "card {index} {} {}",
                u8::from(card.on),
                u8::from(card.pending)
            );
            for (id, it) in &card.instances {
                let Part {
                    profile,
                    start,
                    size,
                } = it.part;
                text += &format!(" gi {id} {profile} {start}:{size}");
                for (
                    ci,
                    Part {
                        profile,
                        start,
                        size,
                    },
                ) in &it.parts
                {
                    text += &format!(" ci {ci} {profile} {start}:{size}");
                }
            }
            let mig = card.spec.mig.iter().filter(|_| card.on);
            for profile in mig.flat_map(|mig| &mig.profiles) {
                text += &format!(" left {} {}", profile.id.0, card.remaining(profile));
            }
            text += ";";
        }
        text
    }

    /// Ids that are there, to ask for things that exist: (card, GPU instance, compute instances).
    pub(crate) fn there(&self) -> Vec<(u32, u32, Vec<u32>)> {
        let cards = self.cards.iter().zip(0..);
        cards
            .flat_map(|(card, index)| {
                card.instances
                    .iter()
                    .map(move |(gi, it)| (index, *gi, it.parts.keys().copied().collect()))
            })
            .collect()
    }
}
