//! `topo -m`, `nvlink -s`, `nvlink -c`: how GPUs are joined.
//! NICs are left out: NVML does not know them.

use std::io::Write as _;

use nvml_client::{Code, Device, LINKS, LinkCapability, Nvml, field};

use crate::args::Links;
use crate::failure::{Failure, Output};
use crate::select;

const LEGEND: &str = "
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
";

/// The matrix of GPUs.
pub(crate) fn matrix(
    nvml: &Nvml,
    selection: Option<&str>,
    out: &mut Output,
) -> Result<(), Failure> {
    let gpus = select::gpus(nvml, selection)?;
    let ends: Vec<Ends> = gpus.iter().map(Ends::of).collect();
    let names: Vec<String> = gpus
        .iter()
        .map(|gpu| gpu.index().map(|i| format!("GPU{i}")))
        .collect::<Result<_, _>>()?;
    // The heading is underlined whether or not a terminal reads it.
    let _ = writeln!(
        out,
        "\t\x1b[4m{}\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m",
        names.join("\t")
    );
    for (row, gpu) in gpus.iter().enumerate() {
        let _ = write!(out, "{}", names[row]);
        for (column, other) in gpus.iter().enumerate() {
            let word = if row == column {
                " X ".to_owned()
            } else {
                ends[row]
                    .links_to(&ends[column])
                    .unwrap_or_else(|| path(gpu, other).to_owned())
            };
            let _ = write!(out, "\t{word}");
        }
        let cpus = affinity(&gpu.cpu_affinity());
        let nodes = affinity(&gpu.memory_affinity());
        let own = gpu
            .numa_node_id()
            .map_or_else(|_| "N/A".into(), |n| n.to_string());
        // As seen: a machine without memory nodes has a tab more between processors and nodes.
        let gap = if nodes == "N/A" { "\t\t" } else { "\t" };
        let _ = writeln!(out, "\t{cpus}{gap}{nodes}\t\t{own}");
    }
    out.extend_from_slice(LEGEND.as_bytes());
    Ok(())
}

/// Where a GPU's active links end.
struct Ends {
    own: String,
    far: Vec<nvml_client::LinkEnd>,
}

impl Ends {
    fn of(gpu: &Device<'_>) -> Self {
        Self {
            own: gpu.pci().map(|p| p.bus_id).unwrap_or_default(),
            far: (0..LINKS)
                .filter(|link| gpu.link_active(*link).unwrap_or(false))
                .filter_map(|link| gpu.link_end(link).ok())
                .collect(),
        }
    }

    /// `NV12`, for links that end at the other, or at switches that both reach.
    fn links_to(&self, other: &Self) -> Option<String> {
        let switches = |ends: &Self| ends.far.iter().filter(|end| end.switch).count();
        let direct = self
            .far
            .iter()
            .filter(|end| !end.switch && end.bus_id.eq_ignore_ascii_case(&other.own))
            .count();
        let links = direct + switches(self).min(switches(other));
        (links > 0).then(|| format!("NV{links}"))
    }
}

fn path(gpu: &Device<'_>, other: &Device<'_>) -> &'static str {
    match gpu.common_ancestor(other) {
        Ok(0) => "PSB",
        Ok(10) => "PIX",
        Ok(20) => "PXB",
        Ok(30) => "PHB",
        Ok(40) => "NODE",
        Ok(_) => "SYS",
        Err(_) => "N/A",
    }
}

/// `0-31,64-95`.
fn affinity(set: &nvml_client::Result<Vec<u64>>) -> String {
    let Ok(words) = set else { return "N/A".into() };
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for (word, index) in words.iter().zip(0_u64..) {
        for bit in (0..64).filter(|bit| word >> bit & 1 == 1) {
            let cpu = index * 64 + bit;
            match parts.last_mut() {
                Some((_, end)) if *end + 1 == cpu => *end = cpu,
                _ => parts.push((cpu, cpu)),
            }
        }
    }
    if parts.is_empty() {
        return "N/A".into();
    }
    let parts: Vec<String> = parts
        .iter()
        .map(|(start, end)| {
            if start == end {
                start.to_string()
            } else {
                format!("{start}-{end}")
            }
        })
        .collect();
    parts.join(",")
}

/// Speed or abilities of each link.
pub(crate) fn links(
    nvml: &Nvml,
    selection: Option<&str>,
    what: Links,
    out: &mut Output,
) -> Result<(), Failure> {
    for gpu in select::gpus(nvml, selection)? {
        let states: Vec<(u32, bool)> = (0..LINKS)
            .map_while(|link| Some((link, gpu.link_active(link).ok()?)))
            .collect();
        // A GPU without links is passed over.
        if states.is_empty() {
            continue;
        }
        let _ = writeln!(
            out,
            "GPU {}: {} (UUID: {})",
            gpu.index()?,
            gpu.name()?,
            gpu.uuid()?
        );
        if !states.iter().any(|(_, active)| *active) {
            let _ = writeln!(
                out,
                "NVML: Unable to retrieve NVLink information as all links are inActive"
            );
            continue;
        }
        for (link, active) in states {
            match what {
                Links::Status if active => {
                    let _ = writeln!(out, "\t Link {link}: {}", speed(&gpu));
                }
                Links::Status => {
                    let _ = writeln!(out, "\t Link {link}: <inactive>");
                }
                Links::Capabilities if active => {
                    for (words, capability) in [
                        ("P2P is supported", LinkCapability::PeerToPeer),
                        (
                            "Access to system memory supported",
                            LinkCapability::SystemMemory,
                        ),
                        ("P2P atomics supported", LinkCapability::PeerAtomics),
                        (
                            "System memory atomics supported",
                            LinkCapability::SystemAtomics,
                        ),
                        ("SLI is supported", LinkCapability::Sli),
                        ("Link is supported", LinkCapability::Valid),
                    ] {
                        let can = gpu.link_can(link, capability);
                        let can = can.map_or_else(|e| e.text().to_owned(), |can| can.to_string());
                        let _ = writeln!(out, "\t Link {link}, {words}: {can}");
                    }
                }
                Links::Capabilities => {}
            }
        }
    }
    Ok(())
}

/// `26.562 GB/s`; the field gives MB/s.
fn speed(gpu: &Device<'_>) -> String {
    match gpu.field(field::LINK_SPEED, 0) {
        Ok(mbps) => format!("{}.{:03} GB/s", mbps / 1000, mbps % 1000),
        Err(e) if e.code() == Some(Code::NOT_SUPPORTED) => "N/A".into(),
        Err(e) => e.text().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_processors_are_ranges() {
        assert_eq!(affinity(&Ok(vec![0xffff_ffff, 0xffff_ffff])), "0-31,64-95");
        assert_eq!(affinity(&Ok(vec![u64::MAX, 1])), "0-64");
        assert_eq!(affinity(&Ok(vec![0b101])), "0,2");
        assert_eq!(affinity(&Ok(vec![0])), "N/A");
    }

    #[test]
    fn links_are_counted_to_a_gpu_or_through_switches() {
        let end = |bus_id: &str, switch| nvml_client::LinkEnd {
            bus_id: bus_id.into(),
            switch,
        };
        let ends = |own: &str, far| Ends {
            own: own.into(),
            far,
        };
        let switched = ends("a", vec![end("s", true); 18]);
        let weak = ends("b", vec![end("s", true); 17]);
        assert_eq!(switched.links_to(&weak).as_deref(), Some("NV17"));
        let pair = ends("a", vec![end("B", false), end("B", false), end("C", false)]);
        assert_eq!(pair.links_to(&weak).as_deref(), Some("NV2"));
        assert_eq!(pair.links_to(&ends("d", vec![])), None);
    }
}
