//! The numbers of the driver's devices, and the `/proc/devices` that publishes them.
//! Pure: the host's own list in, numbers and text out.

use std::fmt::Write as _;

/// Major numbers of the driver's devices on this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Majors {
    pub(crate) uvm: u32,
    pub(crate) switch: u32,
    pub(crate) caps: u32,
    pub(crate) imex: u32,
}

/// The number that the driver has everywhere.
pub(crate) const FRONTEND: u32 = 195;

impl Majors {
    /// Those that the host has free.
    pub(crate) fn free(host: &str) -> Self {
        let kept: Vec<&str> = others(host).collect();
        let taken = |major: u32| {
            kept.iter()
                .any(|l| l.split_whitespace().next() == Some(&major.to_string()))
        };
        // The kernel gives out dynamic majors from 254 down and, when those are used up, from 511 down.
        let mut dynamic = (234..=254)
            .rev()
            .chain((384..=511).rev())
            .filter(|m| !taken(*m));
        let mut next = || dynamic.next().unwrap_or(511);
        Self {
            uvm: next(),
            switch: next(),
            caps: next(),
            imex: next(),
        }
    }

    /// `/proc/devices`: the host's own list with the driver's majors in it.
    pub(crate) fn devices(&self, host: &str) -> String {
        let mut characters = vec![
            (FRONTEND, "nvidia"),
            (FRONTEND, "nvidia-modeset"),
            (FRONTEND, "nvidiactl"),
            (self.uvm, "nvidia-uvm"),
            (self.switch, "nvidia-nvswitch"),
            (self.caps, "nvidia-caps"),
            (self.imex, "nvidia-caps-imex-channels"),
        ];
        characters.sort_by_key(|(major, _)| *major);
        let mut characters = characters.into_iter().peekable();
        let mut text = String::from("Character devices:\n");
        let mut lines = others(host).skip_while(|l| l.starts_with("Character"));
        for line in lines.by_ref().take_while(|l| !l.trim().is_empty()) {
            let major = line
                .split_whitespace()
                .next()
                .and_then(|m| m.parse().ok())
                .unwrap_or(0);
            while let Some((m, name)) = characters.next_if(|(m, _)| *m < major) {
                let _ = writeln!(text, "{m:3} {name}");
            }
            text.push_str(line);
            text.push('\n');
        }
        for (m, name) in characters {
            let _ = writeln!(text, "{m:3} {name}");
        }
        text.push('\n');
        let mut blocks = lines.peekable();
        if blocks.peek().is_none() {
            text.push_str("Block devices:\n");
        }
        for line in blocks {
            text.push_str(line);
            text.push('\n');
        }
        text
    }
}

fn ours(line: &str) -> bool {
    line.split_whitespace()
        .nth(1)
        .is_some_and(|name| name.starts_with("nvidia"))
}

/// The host's lines that are not the driver's.
fn others(host: &str) -> impl Iterator<Item = &str> {
    host.lines().filter(|line| !ours(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: &str = "Character devices:\n  1 mem\n136 pts\n254 ndctl\n\nBlock devices:\n  7 loop\n254 virtblk\n";

    fn devices(host: &str) -> String {
        Majors::free(host).devices(host)
    }

    #[test]
    fn majors_are_added_in_order_and_none_is_taken_twice() {
        let text = devices(HOST);
        assert_eq!(devices(&text), text, "a second pass changes nothing");
        let characters: Vec<&str> = text.lines().skip(1).take_while(|l| !l.is_empty()).collect();
        let majors: Vec<u32> = characters
            .iter()
            .filter_map(|l| l.split_whitespace().next()?.parse().ok())
            .collect();
        assert!(majors.is_sorted(), "{text}");
        assert!(characters.contains(&"195 nvidiactl"), "{text}");
        assert!(
            characters.iter().any(|l| l.ends_with(" nvidia-caps")),
            "{text}"
        );
        let others: Vec<u32> = majors.iter().copied().filter(|m| *m != 195).collect();
        let mut unique = others.clone();
        unique.dedup();
        assert_eq!(others, unique, "{text}");
        assert!(
            text.ends_with("Block devices:\n  7 loop\n254 virtblk\n"),
            "{text}"
        );
    }
}
