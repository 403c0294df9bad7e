//! What is wrong with rules about calls.
//! Not here: what a rule does (`fault::plan`).
use super::{
    super::written::{CallFault, NumberOrText},
    Lint,
    places::nearest,
};
use crate::{
    code::Code,
    driver,
    fault::{Action, Glob, ProcessIs, Rule, Then, When, Window},
    ids::Pid,
};
use serde_saphyr::Spanned;

/// Bytes that the kernel keeps of a process's name.
const COMM: usize = 15;

impl Lint<'_> {
    pub(super) fn call(&mut self, rule: &Spanned<CallFault>) -> Rule {
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
}
