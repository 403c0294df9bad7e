//! What `nvidia-smi -L` prints.

/// The devices that it lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Listing {
    /// UUIDs of whole GPUs.
    pub(crate) gpus: Vec<String>,
    /// Profile and UUID of MIG devices.
    pub(crate) migs: Vec<(String, String)>,
}

impl Listing {
    /// UUIDs of what a pod works on: its MIG devices, or its whole GPUs.
    pub(crate) fn devices(&self, migs: bool) -> Vec<&str> {
        if migs || !self.migs.is_empty() {
            self.migs.iter().map(|(_, uuid)| uuid.as_str()).collect()
        } else {
            self.gpus.iter().map(String::as_str).collect()
        }
    }
}

/// Reads a listing; the error is the line that is none.
pub(crate) fn parse(text: &str) -> Result<Listing, String> {
    let mut listing = Listing::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line == "No devices found." {
            continue;
        }
        let uuid = line
            .split_once("(UUID: ")
            .and_then(|(_, rest)| rest.split_once(')'))
            .map(|(uuid, _)| uuid.to_owned());
        match (line.split_whitespace().next(), uuid) {
            (Some("GPU"), Some(uuid)) if uuid.starts_with("GPU-") => listing.gpus.push(uuid),
            (Some("MIG"), Some(uuid)) if uuid.starts_with("MIG-") => {
                let profile = line
                    .split_whitespace()
                    .nth(1)
                    .unwrap_or_default()
                    .to_owned();
                listing.migs.push((profile, uuid));
            }
            _ => return Err(line.to_owned()),
        }
    }
    Ok(listing)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listing_is_read() {
        let text = "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 1g.5gb     Device  0: (UUID: MIG-2)\n";
        let listing = parse(text).expect("a listing");
        assert_eq!(listing.gpus, ["GPU-1"]);
        assert_eq!(listing.migs, [("1g.5gb".to_owned(), "MIG-2".to_owned())]);
        assert_eq!(listing.devices(true), ["MIG-2"]);
        assert_eq!(parse("No devices found.\n"), Ok(Listing::default()));
        assert!(parse("NVIDIA-SMI has failed").is_err());
        assert!(parse("GPU 0: x (UUID: MIG-1)").is_err());
    }
}
