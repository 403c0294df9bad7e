//! What is wrong with names of devices.
use super::{super::written::NumberOrText, Lint};
use crate::{
    clients::Scope,
    ids::{CiId, GiId, GpuIndex, GpuUuid, MigUuid},
};
use serde_saphyr::Spanned;

impl Lint<'_> {
    /// Index, UUID, GPU/GI or GPU/GI/CI.
    pub(super) fn device(&mut self, written: &Spanned<NumberOrText>) -> Option<Scope> {
        let text = match &written.value {
            NumberOrText::Number(index) => index.to_string(),
            NumberOrText::Text(text) => text.clone(),
        };
        let scope = if text.starts_with("GPU-") || text.starts_with("MIG-") {
            self.by_uuid(written, &text)?
        } else {
            let numbers: Option<Vec<u32>> = text.split('/').map(|part| part.parse().ok()).collect();
            match numbers.as_deref() {
                Some(&[gpu]) => Scope::gpu(GpuIndex(gpu)),
                Some(&[gpu, gi]) => Scope::gi(GpuIndex(gpu), GiId(gi)),
                Some(&[gpu, gi, ci]) => Scope::ci(GpuIndex(gpu), GiId(gi), CiId(ci)),
                _ => {
                    let message = format!("`{text}` names no device");
                    self.at(
                        written,
                        "device",
                        message,
                        "write an index (0), a UUID (GPU-…, MIG-…), or GPU/GI/CI (0/1/0)",
                    );
                    return None;
                }
            }
        };
        if let Some(machine) = self.machine
            && let Err(refusal) = machine.gpu(scope.gpu)
        {
            self.at(
                written,
                "device",
                refusal.to_string(),
                "name a GPU that the node has",
            );
            return None;
        }
        // An instance may come later: the rule then is about whatever has its ids.
        Some(scope)
    }

    fn by_uuid(&mut self, written: &Spanned<NumberOrText>, text: &str) -> Option<Scope> {
        let well_formed = text.parse::<GpuUuid>().is_ok() || text.parse::<MigUuid>().is_ok();
        match self.machine {
            Some(machine) if well_formed => {
                let found = machine.scope_of(text);
                if found.is_none() {
                    self.at(
                        written,
                        "device",
                        format!("the node has no device {text}"),
                        "`nvidia-smi -L` lists them",
                    );
                }
                found
            }
            None if well_formed => {
                self.at(
                    written,
                    "device",
                    "a UUID belongs to one machine".to_owned(),
                    "say which by --state, or write an index",
                );
                None
            }
            _ => {
                self.at(
                    written,
                    "device",
                    format!("`{text}` is no UUID"),
                    "as nvidia-smi -L shows it: GPU-5a5a6d6c-…",
                );
                None
            }
        }
    }
}
