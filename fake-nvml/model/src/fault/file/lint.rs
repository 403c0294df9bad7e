//! What is wrong with a plan, all of it at once.
use super::{CardFault, PlanFile, Problem, written};
use crate::{
    clients::Scope,
    code::Code,
    driver,
    fault::{Action, FaultPlan, Glob, ProcessIs, Rule, Then, When, Window},
    health::{RecoveryAction, RowRemaps},
    ids::{CiId, GiId, GpuIndex, GpuUuid, MigUuid, Pid},
    machine::Machine,
    op::Injection,
    span::Micros,
    throttle::Throttle,
};
use serde_saphyr::{Location, Spanned};
use written::{CallFault, Card, NumberOrText, Reason, Recovery};

/// Bytes that the kernel keeps of a process's name.
const COMM: usize = 15;

pub(super) fn read(yaml: &str, machine: Option<&Machine>) -> Result<PlanFile, Vec<Problem>> {
    let mut lint = Lint {
        yaml,
        machine,
        problems: Vec::new(),
    };
    let file: written::File = match serde_saphyr::from_str(yaml) {
        Ok(file) => file,
        Err(error) => {
            lint.unread(&error);
            return Err(lint.problems);
        }
    };
    if file.format.value != 1 {
        lint.at(
            &file.format,
            "format",
            format!("format {} is not known here", file.format.value),
            "write `format: 1`",
        );
    }
    if file.calls.len() > FaultPlan::MAX_RULES {
        let (found, max) = (file.calls.len(), FaultPlan::MAX_RULES);
        if let Some(first_too_many) = file.calls.get(max) {
            lint.at(
                first_too_many,
                "too-many",
                format!("{found} rules about calls, at most {max} can be armed"),
                "leave out some, or use `*` in the function's name",
            );
        }
    }
    let rules = file.calls.iter().map(|rule| lint.call(rule)).collect();
    let cards = file.cards.iter().filter_map(|it| lint.card(it)).collect();
    if lint.problems.is_empty() {
        return Ok(PlanFile {
            seed: file.seed,
            rules,
            cards,
        });
    }
    lint.problems.sort_by_key(|problem| problem.offset);
    Err(lint.problems)
}

struct Lint<'a> {
    yaml: &'a str,
    machine: Option<&'a Machine>,
    problems: Vec<Problem>,
}

impl Lint<'_> {
    fn call(&mut self, rule: &Spanned<CallFault>) -> Rule {
        let written = &rule.value;
        let from = self.span(written.from.as_ref()).unwrap_or_default();
        let until = self.span(written.until.as_ref());
        if let (Some(until), Some(place)) = (until, &written.until)
            && until <= from
        {
            let message = format!("the window ends at {until} and begins at {from}: it is empty");
            self.at(place, "window", message, "let `until` come after `from`");
        }
        Rule {
            function: self.function(&written.function),
            device: written.device.as_ref().and_then(|it| self.device(it)),
            process: written.process.as_ref().map(|it| self.process(it)),
            window: Window {
                from: from.0,
                until: until.map(|it| it.0),
            },
            when: self.when(rule),
            action: self.action(rule),
        }
    }

    fn function(&mut self, written: &Spanned<String>) -> Glob {
        let glob = Glob(written.value.clone());
        if driver::functions().any(|name| glob.matches(name)) {
            return glob;
        }
        if glob.is_pattern() {
            let message = format!("no function of NVML is called `{}`", glob.0);
            self.at(
                written,
                "function",
                message,
                "`*` stands for any text, `?` for one character: nvmlDeviceGet*",
            );
        } else {
            let message = format!("NVML has no function `{}`", glob.0);
            let help = nearest(&glob.0, driver::functions()).map_or_else(
                || "the names are those of nvml.h".to_owned(),
                |it| format!("did you mean `{it}`?"),
            );
            self.at(written, "function", message, help);
        }
        glob
    }

    fn when(&mut self, rule: &Spanned<CallFault>) -> When {
        let written = &rule.value;
        let given = [
            written.nth.is_some(),
            written.first.is_some(),
            written.every.is_some(),
            written.probability.is_some(),
        ];
        if given.iter().filter(|&&it| it).count() > 1 {
            self.at(
                rule,
                "when",
                "more than one of nth, first, every, probability".to_owned(),
                "keep one, or write two rules",
            );
        }
        for (number, name) in [
            (&written.nth, "nth"),
            (&written.first, "first"),
            (&written.every, "every"),
        ] {
            if let Some(place) = number.as_ref().filter(|it| it.value == 0) {
                self.at(
                    place,
                    "when",
                    format!("`{name}: 0` is never"),
                    "calls are counted from 1",
                );
            }
        }
        match written {
            CallFault { nth: Some(n), .. } => When::Nth(n.value),
            CallFault { first: Some(n), .. } => When::First(n.value),
            CallFault { every: Some(n), .. } => When::Every(n.value),
            CallFault {
                probability: Some(p),
                ..
            } => {
                if !(0.0..=1.0).contains(&p.value) {
                    let message = format!("a probability of {} lies outside of 0 to 1", p.value);
                    self.at(p, "probability", message, "write 0.25 for one call of four");
                }
                // Between 0 and 1 000 000 by the clamp.
                When::Chance((p.value.clamp(0.0, 1.0) * 1e6).round() as u32)
            }
            _ => When::Always,
        }
    }

    fn action(&mut self, rule: &Spanned<CallFault>) -> Action {
        let written = &rule.value;
        let wait = self.span(written.latency.as_ref());
        let ends = [written.error.is_some(), written.hang, written.kill];
        if ends.iter().filter(|&&it| it).count() > 1 {
            self.at(
                rule,
                "action",
                "more than one of error, hang, kill".to_owned(),
                "keep one: a call ends in one way",
            );
        }
        if wait.is_none() && written.latency.is_none() && !ends.contains(&true) {
            self.at(
                rule,
                "action",
                "this rule does nothing".to_owned(),
                "add one of `error: GPU_IS_LOST`, `latency: 50ms`, `hang: true`, `kill: true`",
            );
        }
        let then = match &written.error {
            Some(error) => self.code(error).map_or(Then::Proceed, Then::Return),
            None if written.hang => Then::Hang,
            None if written.kill => Then::Kill,
            None => Then::Proceed,
        };
        Action {
            wait: wait.unwrap_or_default().0,
            then,
        }
    }

    fn code(&mut self, written: &Spanned<NumberOrText>) -> Option<Code> {
        let (found, given) = match &written.value {
            NumberOrText::Number(raw) => (Code::from_raw(*raw), raw.to_string()),
            NumberOrText::Text(name) => (Code::named(name), name.clone()),
        };
        match found {
            Some(Code::Success) => {
                self.at(
                    written,
                    "error",
                    "SUCCESS is no error".to_owned(),
                    "leave `error` out, or choose another code",
                );
                None
            }
            Some(code) => Some(code),
            None => {
                let names = Code::ALL.iter().map(|code| code.short_name());
                let help = nearest(&given.to_uppercase(), names).map_or_else(
                    || "the codes are those of nvmlReturn_t, as GPU_IS_LOST".to_owned(),
                    |it| format!("did you mean `{it}`?"),
                );
                self.at(
                    written,
                    "error",
                    format!("NVML has no return code `{given}`"),
                    help,
                );
                None
            }
        }
    }

    fn process(&mut self, written: &Spanned<NumberOrText>) -> ProcessIs {
        match &written.value {
            NumberOrText::Number(pid) => ProcessIs::Pid(Pid(*pid)),
            NumberOrText::Text(name) => {
                let glob = Glob(name.clone());
                if name.is_empty() || !glob.is_pattern() && name.len() > COMM {
                    let message = format!(
                        "no process can be called `{name}`: the kernel keeps {COMM} bytes of a name"
                    );
                    let short: String = name.chars().take(COMM).collect();
                    let help = if name.is_empty() {
                        "name the process, or leave `process` out".to_owned()
                    } else {
                        format!("write `{short}`")
                    };
                    self.at(written, "process", message, help);
                }
                ProcessIs::Named(glob)
            }
        }
    }

    /// Index, UUID, GPU/GI or GPU/GI/CI.
    fn device(&mut self, written: &Spanned<NumberOrText>) -> Option<Scope> {
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
        let known = |machine: &Machine| match text.starts_with("GPU-") {
            true => {
                let uuid: GpuUuid = text.parse().ok()?;
                Some(Scope::gpu(machine.gpu_by_uuid(&uuid)?.index))
            }
            false => {
                let uuid: MigUuid = text.parse().ok()?;
                let mut all = machine.gpus.iter().flat_map(|gpu| machine.mig_devices(gpu));
                let mig = all.find(|mig| mig.ci.uuid == uuid)?;
                Some(Scope::ci(mig.gpu.index, mig.gi.id, mig.ci.id))
            }
        };
        let well_formed = text.parse::<GpuUuid>().is_ok() || text.parse::<MigUuid>().is_ok();
        match self.machine {
            Some(machine) if well_formed => {
                let found = known(machine);
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

    fn card(&mut self, fault: &Spanned<Card>) -> Option<CardFault> {
        let written = &fault.value;
        let at = self.span(written.at.as_ref());
        let lasts = self.span(written.lasts.as_ref());
        let scope = self.device(&written.gpu);
        if scope.is_some_and(|scope| scope.gi.is_some()) {
            self.at(
                &written.gpu,
                "device",
                "a fault of a card is about a whole GPU".to_owned(),
                "name the GPU here; an Xid and ECC errors take `gi`",
            );
        }
        let kinds = self.kinds(written);
        let &[what] = kinds.as_slice() else {
            let (message, help) = match kinds.is_empty() {
                true => (
                    "this card has no fault",
                    "add one of xid, ecc, remaps, recovery, lost, absent, reset_required, throttle, nvlink_down",
                ),
                false => ("more than one fault", "write one item for each"),
            };
            self.at(fault, "fault", message.to_owned(), help);
            return None;
        };
        if let Some(place) = &written.lasts {
            if what.undone().is_none() {
                self.at(
                    place,
                    "for",
                    "this fault is an event: it can not be undone after a time".to_owned(),
                    "leave `for` out",
                );
            }
            if lasts == Some(Micros(0)) {
                self.at(
                    place,
                    "for",
                    "a fault that lasts no time is none".to_owned(),
                    "leave `for` out to let it stay",
                );
            }
        }
        let gpu = scope?.gpu;
        if let Some(machine) = self.machine
            && let Err(refusal) = machine.clone().inject(gpu, what, crate::units::Now(0))
        {
            self.at(
                fault,
                "fault",
                refusal.to_string(),
                "name what the card has",
            );
            return None;
        }
        Some(CardFault {
            gpu,
            at: at.unwrap_or_default(),
            lasts,
            what,
            alone: written.alone,
        })
    }

    fn kinds(&mut self, card: &Card) -> Vec<Injection> {
        let mut kinds = Vec::new();
        if let Some(xid) = &card.xid {
            kinds.push(Injection::Xid {
                xid: xid.number,
                gi: xid.gi.map(GiId),
                ci: xid.ci.map(CiId),
            });
        }
        if let Some(ecc) = &card.ecc {
            kinds.push(Injection::Ecc {
                corrected: ecc.corrected,
                uncorrected: ecc.uncorrected,
                gi: ecc.gi.map(GiId),
            });
        }
        if let Some(remaps) = &card.remaps {
            kinds.push(Injection::Remaps(RowRemaps {
                corrected: remaps.corrected,
                uncorrected: remaps.uncorrected,
                pending: remaps.pending,
                failed: remaps.failed,
            }));
        }
        kinds.extend(card.recovery.map(|action| {
            Injection::Recovery(match action {
                Recovery::None => RecoveryAction::None,
                Recovery::GpuReset => RecoveryAction::GpuReset,
                Recovery::NodeReboot => RecoveryAction::NodeReboot,
                Recovery::DrainP2p => RecoveryAction::DrainP2p,
                Recovery::DrainAndReset => RecoveryAction::DrainAndReset,
            })
        }));
        let switches = [
            (card.lost, Injection::Lost(true)),
            (card.absent, Injection::Absent(true)),
            (card.reset_required, Injection::ResetRequired(true)),
        ];
        kinds.extend(
            switches
                .into_iter()
                .filter(|(on, _)| *on)
                .map(|(_, what)| what),
        );
        kinds.extend(card.throttle.as_ref().map(|reasons| {
            let bits = reasons.iter().map(|reason| match reason {
                Reason::PowerCap => Throttle::POWER_CAP,
                Reason::HwSlowdown => Throttle::HW_SLOWDOWN,
                Reason::SwThermal => Throttle::SW_THERMAL,
                Reason::HwThermal => Throttle::HW_THERMAL,
                Reason::PowerBrake => Throttle::POWER_BRAKE,
            });
            Injection::Throttle(bits.fold(Throttle::default(), Throttle::with))
        }));
        kinds.extend(card.nvlink_down.as_ref().map(|link| Injection::NvLink {
            link: link.value,
            up: false,
        }));
        kinds
    }

    fn span(&mut self, written: Option<&Spanned<String>>) -> Option<Micros> {
        let written = written?;
        match written.value.parse() {
            Ok(micros) => Some(micros),
            Err(error) => {
                self.at(
                    written,
                    "time",
                    format!("`{}` is no length of time", error.given),
                    "write a number and a unit of us, ms, s, m, h: 50ms, 1.5s",
                );
                None
            }
        }
    }

    /// What serde refused: a field that is not known, one that is missing, a value of another type, or no YAML at all.
    fn unread(&mut self, error: &serde_saphyr::Error) {
        let text = error.without_snippet().to_string();
        let text = text.split(" at line ").next().unwrap_or(&text);
        let message = text
            .trim_start_matches("error: ")
            .lines()
            .next()
            .unwrap_or_default();
        // serde: unknown field `x`, expected one of a, b
        let given = message.split('`').nth(1);
        let names = message.split("expected one of ").nth(1).unwrap_or_default();
        let names = names.split(", ").map(|name| name.trim_matches('`'));
        let unknown = message.contains("unknown field") || message.contains("unknown variant");
        let schema = "`fakegpu fault schema` shows what can be written";
        let (rule, help) = match given.filter(|_| unknown) {
            Some(given) => (
                "field",
                nearest(given, names)
                    .map_or_else(|| schema.to_owned(), |it| format!("did you mean `{it}`?")),
            ),
            None => ("yaml", schema.to_owned()),
        };
        let (offset, length) = error
            .location()
            .map_or((0, 0), |at| self.place(at.line(), at.column()));
        self.push(rule, offset, length, message.to_owned(), help);
    }

    fn at<T>(
        &mut self,
        place: &Spanned<T>,
        rule: &'static str,
        message: String,
        help: impl Into<String>,
    ) {
        let at: Location = place.referenced;
        let (offset, length) = self.place(at.line(), at.column());
        self.push(rule, offset, length, message, help.into());
    }

    fn push(
        &mut self,
        rule: &'static str,
        offset: usize,
        length: usize,
        message: String,
        help: String,
    ) {
        let line = self
            .yaml
            .get(..offset)
            .unwrap_or_default()
            .matches('\n')
            .count()
            + 1;
        self.problems.push(Problem {
            rule,
            offset,
            length,
            line,
            message,
            help,
        });
    }

    /// The bytes from a line and column (from 1) to the end of the value, or of the line.
    fn place(&self, line: u64, column: u64) -> (usize, usize) {
        let line = usize::try_from(line.saturating_sub(1)).unwrap_or(0);
        let column = usize::try_from(column.saturating_sub(1)).unwrap_or(0);
        let start: usize = self
            .yaml
            .split_inclusive('\n')
            .take(line)
            .map(str::len)
            .sum();
        let text = self.yaml.get(start..).unwrap_or_default();
        let text = text.lines().next().unwrap_or_default();
        let into: usize = text.chars().take(column).map(char::len_utf8).sum();
        let rest = text.get(into..).unwrap_or_default();
        let end = rest.find([',', '}', '#']).unwrap_or(rest.len());
        let value = rest.get(..end).unwrap_or_default().trim_end();
        (start + into, value.len())
    }
}

/// The name that is most like this one, if any is.
fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let like = |name: &str| strsim::jaro_winkler(given, name);
    names
        .map(|name| (name, like(name)))
        .filter(|(_, like)| *like > 0.7)
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(name, _)| name)
}
