//! The one redactor of what programs show: what varies with time, machine and user.
//! Not a filter of what a snapshot should prove: names, sizes, modes, ids and UUIDs stay.
//! Text in, text out.

use regex::Regex;

/// Pattern and what stands in its place, of the same width where columns count.
const RULES: &[(&str, &str)] = &[
    // Dates and the machine's name.
    (
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}",
        "DATE",
    ),
    (r"(?m)^\S+ +DATE", "HOST DATE"),
    (r"\b[a-z_][a-z0-9_-]*@\S+", "USER@HOST"),
    // What a card does at this moment: temperature, power, clocks.
    (r"\d+°C", "##°C"),
    (r"(N/A|\d+%) +\d+C +(P\d+) +\d+W", "$1  ##C   $2    ##W"),
    (r", +\d+ / +(\d+) W\b", ", ## / $1 W"),
    (r"@ +\d+MHz", "@ ####MHz"),
    (r"(GPU|MEM) +\d+MHz", "$1 ####MHz"),
    (r"TEMP +\d+", "TEMP ##"),
    (r"POW +\d+", "POW ##"),
    // How long a process has run, as nvitop says it behind its shares of the processor and the memory.
    (r"( \d+\.\d +\d+\.\d +)\d+:\d\d ", "$1#:## "),
    // The empty part of a screen.
    (r"\n(\s*\n){2,}", "\n\n"),
    // nvitop's and nvtop's view of the machine under it.
    (r"(?m)^\[ (CPU|MEM): .*\n", ""),
];

/// Takes out what varies.
#[must_use]
pub fn redact(text: &str) -> String {
    let mut text = RULES.iter().fold(text.to_owned(), |text, (pattern, put)| {
        Regex::new(pattern).map_or(text.clone(), |rule| {
            rule.replace_all(&text, *put).into_owned()
        })
    });
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    text = lines.join("\n");
    text
}

/// Takes out a process's id, with the blanks before it: how many there are follows from its length.
#[must_use]
pub fn of_process(text: &str, pid: u32) -> String {
    Regex::new(&format!(r" *\b{pid}\b")).map_or(text.to_owned(), |rule| {
        rule.replace_all(text, " PID").into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_varies_goes_and_what_counts_stays() {
        assert_eq!(
            redact(
                "vm   Sun Nov 29 23:23:47 2026  580.95.05\n[0] NVIDIA L4 | 28°C,   0 % |     0 / 23034 MB |  "
            ),
            "HOST DATE  580.95.05\n[0] NVIDIA L4 | ##°C,   0 % |     0 / 23034 MB |"
        );
        assert_eq!(
            redact("│ N/A   28C   P0     56W / 400W │        0B / 40.00GiB │"),
            "│ N/A  ##C   P0    ##W / 400W │        0B / 40.00GiB │"
        );
    }

    #[test]
    fn every_rule_is_a_pattern() {
        for (pattern, _) in RULES {
            assert!(Regex::new(pattern).is_ok(), "{pattern}");
        }
    }
}
