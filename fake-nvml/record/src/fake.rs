//! The fake machine that is most like a recorded one.
//! Not where it lies: the caller lays the machine beside a library and says how to ask it.
use crate::recording::{MASKED, Recording};
use gpu_model::{
    Catalog, GiId, GpuIndex, Machine, MigMode, Model, Now, Op, Options, Outcome, Placement,
    ProfileId, Refusal, UnknownModel,
};
use serde_json::{Map, Value};

/// A machine and how it was chosen.
#[derive(Debug)]
pub struct Fake {
    /// The machine.
    pub machine: Machine,
    /// The model of each GPU.
    pub models: Vec<String>,
    /// What is not as it was recorded, and why.
    pub notes: Vec<String>,
}

/// Why there is no fake of a recording.
#[derive(Debug, thiserror::Error)]
pub enum FakeError {
    /// Nothing to imitate.
    #[error("the recording shows no GPU: nothing to compare")]
    NoGpu,
    /// No model.
    #[error(
        "no model of the catalogue is like `{name}`, recorded on gpu/{gpu}: name one by --model, or add a model file"
    )]
    NoModel {
        /// Which GPU.
        gpu: u32,
        /// What it called itself.
        name: String,
    },
    /// The name that was given.
    #[error(transparent)]
    Model(#[from] UnknownModel),
}

impl Fake {
    /// The machine that is most like the recorded one: models, driver version, MIG mode and instances.
    ///
    /// # Errors
    /// [`FakeError`].
    pub fn of(
        recording: &Recording,
        catalog: &Catalog,
        model: Option<&str>,
    ) -> Result<Self, FakeError> {
        let count = recording.gpus();
        if count == 0 {
            return Err(FakeError::NoGpu);
        }
        let mut cards: Vec<(&Model, usize)> = Vec::new();
        for gpu in 0..count {
            let chosen = match model {
                Some(name) => catalog.model(name)?,
                None => nearest(recording, gpu, catalog).ok_or_else(|| FakeError::NoModel {
                    gpu,
                    name: text(recording, gpu, "nvmlDeviceGetName").unwrap_or_default(),
                })?,
            };
            cards.push((chosen, 1));
        }
        let mut options = Options {
            node: "recorded".to_owned(),
            ..Options::default()
        };
        let mut notes = Vec::new();
        match &recording.origin.driver_version {
            Some(version) => options.driver_version.clone_from(version),
            None => notes.push("the recording names no driver version".to_owned()),
        }
        let mut fake = Self {
            machine: Machine::build(&cards, &options),
            models: cards
                .iter()
                .map(|(model, _)| model.name().to_owned())
                .collect(),
            notes,
        };
        for gpu in 0..count {
            fake.partition(recording, gpu);
        }
        Ok(fake)
    }

    /// Brings a GPU's MIG mode and instances to what was recorded.
    fn partition(&mut self, recording: &Recording, gpu: u32) {
        let on = format!("gpu/{gpu}");
        let mode = recording.answer("nvmlDeviceGetMigMode", &on);
        if mode
            .and_then(|m| m.get("currentMode"))
            .and_then(Value::as_u64)
            != Some(1)
        {
            return;
        }
        let index = GpuIndex(gpu);
        let enable = Op::SetMigMode {
            gpu: index,
            mode: MigMode::Enabled,
        };
        self.apply(enable, &on);
        self.apply(Op::Reset { gpu: index }, &on);
        for (id, info) in infos(recording, "nvmlGpuInstanceGetInfo", &format!("{on}/gi/")) {
            let made = self.apply(
                Op::CreateGpuInstance {
                    gpu: index,
                    profile: ProfileId(number(info, "profileId")),
                    placement: place(info),
                },
                &format!("{on}/gi/{id}"),
            );
            let Some(Outcome::GpuInstance { id: made, .. }) = made else {
                continue;
            };
            if made.0 != id {
                self.notes.push(format!("{on}/gi/{id} has the id {made} in the fake: a card that counts from its other half?"));
            }
            let below = format!("{on}/gi/{id}/ci/");
            for (ci, info) in infos(recording, "nvmlComputeInstanceGetInfo_v2", &below) {
                let op = Op::CreateComputeInstance {
                    gpu: index,
                    gi: GiId(made.0),
                    profile: ProfileId(number(info, "profileId")),
                    placement: place(info),
                };
                self.apply(op, &format!("{below}{ci}"));
            }
        }
    }

    fn apply(&mut self, op: Op, what: &str) -> Option<Outcome> {
        let done: Result<_, Refusal> = self.machine.apply(op, Now(0));
        match done {
            Ok((machine, outcome)) => {
                self.machine = machine;
                Some(outcome)
            }
            Err(refusal) => {
                self.notes.push(format!(
                    "{what}: the fake does not come to what was recorded: {refusal}"
                ));
                None
            }
        }
    }
}

/// What a function said on each target below a path, by the last number of the target.
fn infos<'r>(
    recording: &'r Recording,
    function: &str,
    below: &str,
) -> Vec<(u32, &'r Map<String, Value>)> {
    recording
        .calls
        .iter()
        .filter(|call| call.function == function && call.code == Some(0))
        .filter_map(|call| Some((call.on.strip_prefix(below)?.parse().ok()?, &call.value)))
        .collect()
}

fn number(info: &Map<String, Value>, field: &str) -> u32 {
    let number = info.get(field).and_then(Value::as_u64);
    number
        .and_then(|n| u32::try_from(n).ok())
        .unwrap_or(u32::MAX)
}

fn place(info: &Map<String, Value>) -> Option<Placement> {
    let place = info.get("placement")?.as_object()?;
    Some(Placement {
        start: number(place, "start"),
        size: number(place, "size"),
    })
}

fn text(recording: &Recording, gpu: u32, function: &str) -> Option<String> {
    let value = recording.answer(function, &format!("gpu/{gpu}"))?;
    let text = value.get("text")?.as_str()?;
    (text != MASKED).then(|| text.to_owned())
}

/// The model of the catalogue that is most like a recorded GPU: by name, then by PCI ids, then by memory.
pub fn nearest<'c>(recording: &Recording, gpu: u32, catalog: &'c Catalog) -> Option<&'c Model> {
    let on = format!("gpu/{gpu}");
    let name = text(recording, gpu, "nvmlDeviceGetName");
    let pci = ["nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfoExt"]
        .iter()
        .find_map(|function| {
            recording
                .answer(function, &on)?
                .get("pciDeviceId")?
                .as_u64()
        });
    let total = ["nvmlDeviceGetMemoryInfo_v2", "nvmlDeviceGetMemoryInfo"]
        .iter()
        .find_map(|function| recording.answer(function, &on)?.get("total")?.as_u64());
    catalog
        .models()
        .into_iter()
        .filter_map(|model| {
            let spec = model.spec();
            let same_name = name.as_deref() == Some(spec.name.as_str());
            let same_pci = pci == Some(u64::from(spec.pci_device_id));
            let far = total.map_or(0, |total| total.abs_diff(spec.memory_total.0 << 20));
            (same_name || same_pci).then_some(((!same_name, !same_pci, far), model))
        })
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, model)| model)
}
