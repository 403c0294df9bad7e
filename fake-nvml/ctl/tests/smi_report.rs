//! The shape of `nvidia-smi -q` and `-q -x`, against captures of NVIDIA's own tool (smi/tests/data/README.md): the same elements or
//! lines in the same order. Values are the machine's own and not compared.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod common;

use common::{User, good, shell};

fn smi(node: &str, driver: &str, line: &str) -> String {
    good(&shell(
        User::Me,
        &["--node", node, "--driver-version", driver],
        line,
    ))
}

/// Elements with their depth; lists of clocks are as long as the card has clocks and are left out.
fn elements(xml: &str) -> Vec<String> {
    let mut clocks = false;
    let mut found = Vec::new();
    for line in xml.lines() {
        let depth = line.len() - line.trim_start_matches('\t').len();
        let Some(rest) = line.trim().strip_prefix('<') else {
            continue;
        };
        let name: String = rest.chars().take_while(|c| !" >".contains(*c)).collect();
        if name.starts_with(['?', '!']) {
            found.push(line.to_owned());
            continue;
        }
        // Also where there are none, in one line.
        if name == "supported_clocks" {
            clocks = !rest.contains("</");
            found.push(format!("{depth} {name}"));
        } else if name == "/supported_clocks" {
            clocks = false;
        } else if !clocks {
            found.push(format!("{depth} {name}"));
        }
    }
    found
}

fn same(ours: &[String], theirs: &[String]) {
    for (number, pair) in ours.iter().zip(theirs).enumerate() {
        let before = &theirs[number.saturating_sub(3)..number];
        assert_eq!(pair.0, pair.1, "after {before:?}");
    }
    assert_eq!(ours.len(), theirs.len());
}

#[test]
fn the_xml_of_an_a100_with_driver_570() {
    let capture = include_str!("../../smi/tests/data/qx-a100-570.148.08.xml");
    let ours = smi("1xA100-SXM4-40GB", "570.148.08", "nvidia-smi -q -x");
    same(&elements(&ours), &elements(capture));
}

#[test]
fn the_xml_of_an_h100_with_driver_580() {
    let capture = include_str!("../../smi/tests/data/qx-h100-580.105.08.xml");
    let ours = smi(
        "1xH100-SXM5-80GB",
        "580.105.08",
        "nvidia-smi --query --xml-format",
    );
    same(&elements(&ours), &elements(capture));
}

/// An H100 has the elements of the capture's L40S, of which the catalogue knows less.
#[test]
fn the_xml_of_driver_595() {
    let capture = include_str!("../../smi/tests/data/qx-l40s-595.91.07.xml");
    let ours = smi("1xH100-SXM5-80GB", "595.91.07", "nvidia-smi -x -q");
    same(&elements(&ours), &elements(capture));
}

/// Names with their indentation, the head left out.
fn names(text: &str) -> Vec<String> {
    text.lines()
        .skip_while(|line| !line.starts_with("GPU "))
        .filter(|line| !line.is_empty())
        .map(
            |line| match line.split_once(" : ").or(line.split_once(": ")) {
                Some((name, _)) => name.trim_end().to_owned(),
                None if line.starts_with("GPU ") => "GPU".to_owned(),
                None => line.to_owned(),
            },
        )
        .collect()
}

fn captured(file: &str) -> Vec<String> {
    let lines = file.lines().filter(|line| !line.starts_with('#'));
    lines.map(str::to_owned).collect()
}

fn colons(text: &str, column: usize) {
    for line in text.lines().filter(|line| line.contains(": ")) {
        assert_eq!(line.as_bytes()[column], b':', "{line}");
    }
}

#[test]
fn the_lines_of_a_report() {
    let text = smi("1xA100-SXM4-40GB", "580.142", "nvidia-smi -q");
    let head: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once(" : "))
        .map(|(name, _)| name.trim_end())
        .take(4)
        .collect();
    let theirs = captured(include_str!("../../smi/tests/data/q-580.142.txt"));
    assert_eq!(head, theirs[..4]);
    // The note that this capture is from has lost the spaces at the ends of lines.
    let ours = names(&text);
    let ours: Vec<String> = ours.iter().map(|name| name.trim_end().to_owned()).collect();
    same(&ours, &theirs[4..]);
    colons(&text, 55);
}

/// Samples of the last while stand behind what they are samples of; without `-d` and in XML there are none.
#[test]
fn filters_show_samples() {
    let line = "nvidia-smi -q -d POWER,CLOCK";
    let text = smi("1xA100-SXM4-40GB", "580.65.06", line);
    let capture = include_str!("../../smi/tests/data/q-d-580.65.06.txt");
    same(&names(&text), &captured(capture));
    colons(&text, 42);
    let text = smi(
        "1xA100-SXM4-40GB",
        "545.29.06",
        "nvidia-smi -q -d UTILIZATION",
    );
    let capture = captured(include_str!("../../smi/tests/data/q-d-545.29.06.txt"));
    same(&names(&text), &capture);
    let text = smi(
        "1xA100-SXM4-40GB",
        "580.95.05",
        "nvidia-smi -q -d UTILIZATION",
    );
    let newer = ["JPG", "OFA"].map(|unit| format!("    {unit} Utilization Samples"));
    assert_eq!(
        names(&text)[capture.len()..]
            .iter()
            .step_by(6)
            .collect::<Vec<_>>(),
        newer.iter().collect::<Vec<_>>()
    );
    let values: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "    GPU Utilization Samples")
        .filter_map(|line| line.split_once(" : "))
        .map(|(_, value)| value)
        .take(5)
        .collect();
    assert!(values[0].ends_with(" sec"), "{values:?}");
    assert!(
        values[1].parse::<u32>().is_ok_and(|number| number > 1),
        "{values:?}"
    );
    assert_eq!(values[2..], ["0 %", "0 %", "0 %"]);
    let text = smi(
        "1xA100-SXM4-40GB",
        "580.95.05",
        "nvidia-smi -q; nvidia-smi -q -x -d POWER,UTILIZATION,CLOCK",
    );
    assert!(!text.contains("Samples"), "{text}");
}

#[test]
fn filters_show_their_sections_only() {
    let text = smi(
        "1xA100-SXM4-40GB",
        "580.95.05",
        "nvidia-smi -q -d ROW_REMAPPER,COMPUTE; nvidia-smi -q -d COLOR >/dev/null; echo rc $?",
    );
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("    ") && !line.starts_with("     "))
        .map(|line| line.split(':').next().unwrap().trim())
        .collect();
    assert_eq!(heads, ["Compute Mode", "Remapped Rows"]);
    assert!(text.ends_with("rc 2\n"), "{text}");
}

/// A document that a real parser reads, with MIG devices in it and for a mixed node.
#[test]
fn the_xml_is_well_formed() {
    let line = "nvidia-smi mig -i 0 -cgi 9,19 -C >/dev/null; nvidia-smi -q -x >/tmp/x.$$ &&
        python3 -c 'import sys, xml.etree.ElementTree as E
root = E.parse(sys.argv[1]).getroot()
print([(g.get(\"id\"), len(g.findall(\"mig_devices/mig_device\"))) for g in root.iter(\"gpu\")])' /tmp/x.$$; rm /tmp/x.$$";
    let text = good(&shell(
        User::Me,
        &["--node", "1xA100-SXM4-40GB,1xH100-SXM5-80GB,1xL4", "--mig"],
        line,
    ));
    assert_eq!(
        text,
        "[('00000000:07:00.0', 2), ('00000000:0F:00.0', 0), ('00000000:17:00.0', 0)]\n"
    );
}

/// What a machine has of its own and what changes by itself; an element alone, or with its block.
const OWN: [&str; 38] = [
    "timestamp",
    "attached_gpus",
    "display_mode",
    "display_attached",
    "persistence_mode",
    "addressing_mode",
    "serial",
    "uuid",
    "pdi",
    "vbios_version",
    "board_id",
    "board_part_number",
    "module_id",
    "latest_timestamp",
    "latest_duration",
    "virtualization_mode",
    "pci_bus",
    "pci_bus_id",
    "current_link_width",
    "replay_counter",
    "tx_util",
    "rx_util",
    "clocks_event_reasons_counters_sw_power_cap",
    "fb_memory_usage/reserved",
    "fb_memory_usage/free",
    "bar1_memory_usage/used",
    "bar1_memory_usage/free",
    "gpu_temp",
    "gpu_temp_tlimit",
    "memory_temp",
    "gpu_power_readings/average_power_draw",
    "gpu_power_readings/instant_power_draw",
    // Drawn by the memory alone: our cards have one figure for all.
    "gpu_memory_power_readings/average_power_draw",
    "clocks/graphics_clock",
    "clocks/sm_clock",
    "clocks/video_clock",
    // Of the H100 the publishers left most out.
    "supported_mem_clock/value",
    "supported_mem_clock/supported_graphics_clock",
];

/// Values with their block and element, in order.
fn values(xml: &str) -> Vec<(String, String)> {
    let (mut blocks, mut found) = (vec![String::new()], Vec::new());
    for line in xml.lines().map(str::trim) {
        let Some((name, rest)) = line.strip_prefix('<').and_then(|rest| rest.split_once('>'))
        else {
            continue;
        };
        let name = name.split(' ').next().unwrap_or(name);
        if name.starts_with(['?', '!']) {
            continue;
        }
        if name.starts_with('/') {
            blocks.pop();
        } else if let Some((value, _)) = rest.split_once("</") {
            let block = blocks.last().expect("the document");
            found.push((format!("{block}/{name}"), value.to_owned()));
        } else {
            blocks.push(name.to_owned());
        }
    }
    found
}

/// All else is as the captures of the models have it.
#[test]
fn values_are_those_of_captures() {
    for (node, driver, capture) in [
        (
            "1xA100-SXM4-40GB",
            "570.148.08",
            include_str!("../../smi/tests/data/qx-a100-570.148.08.xml"),
        ),
        (
            "1xH100-SXM5-80GB",
            "580.105.08",
            include_str!("../../smi/tests/data/qx-h100-580.105.08.xml"),
        ),
        (
            "1xL40S",
            "595.91.07",
            include_str!("../../smi/tests/data/qx-l40s-595.91.07.xml"),
        ),
    ] {
        let own = |path: &str| {
            let name = path.rsplit('/').next().unwrap_or(path);
            OWN.contains(&path) || OWN.contains(&name)
        };
        let of = |xml: &str| -> Vec<(String, String)> {
            let all = values(xml).into_iter();
            all.filter(|(path, _)| !own(path)).collect()
        };
        let (ours, theirs) = (of(&smi(node, driver, "nvidia-smi -q -x")), of(capture));
        assert!(theirs.len() > 100, "{}", theirs.len());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            assert_eq!(ours, theirs, "{node}");
        }
        assert_eq!(ours.len(), theirs.len(), "{node}");
    }
}
