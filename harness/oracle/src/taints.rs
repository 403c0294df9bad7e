//! Taints and tolerations (KEP-5055). Administrative access is not exempt.

use crate::objects::{Effect, Rule, RuleSelector, Slice, Taint, Toleration, TolerationOperator};

/// Adds the taints of rules to the devices they select, behind the driver's own.
pub(crate) fn apply(rules: &[Rule], slices: &mut [Slice]) {
    for slice in slices {
        for rule in rules {
            let Some(selector) = &rule.selector else {
                continue;
            };
            if !same(selector.driver.as_deref(), &slice.driver)
                || !same(selector.pool.as_deref(), &slice.pool)
            {
                continue;
            }
            for device in slice
                .devices
                .iter_mut()
                .filter(|device| selects(selector, &device.name))
            {
                device.taints.push(rule.taint.clone());
            }
        }
    }
}

fn same(wanted: Option<&str>, name: &str) -> bool {
    wanted.is_none_or(|wanted| wanted == name)
}

fn selects(selector: &RuleSelector, device: &str) -> bool {
    same(selector.device.as_deref(), device)
}

/// The first taint that stops an allocation with these tolerations.
pub(crate) fn untolerated<'t>(
    taints: &'t [Taint],
    tolerations: &[Toleration],
) -> Option<&'t Taint> {
    taints.iter().find(|taint| {
        taint.effect != Effect::None
            && !tolerations
                .iter()
                .any(|toleration| tolerates(toleration, taint))
    })
}

/// Whether a toleration is about that taint. Effects are not graded: one for NoExecute says nothing of NoSchedule.
pub fn tolerates(toleration: &Toleration, taint: &Taint) -> bool {
    if toleration
        .effect
        .is_some_and(|effect| effect != taint.effect)
    {
        return false;
    }
    if !toleration.key.is_empty() && toleration.key != taint.key {
        return false;
    }
    match toleration.operator {
        TolerationOperator::Equal => toleration.value == taint.value,
        TolerationOperator::Exists => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(effect: Effect) -> Taint {
        Taint {
            key: "xid".into(),
            value: "79".into(),
            effect,
            rule: None,
        }
    }

    fn toleration(
        key: &str,
        operator: TolerationOperator,
        value: &str,
        effect: Option<Effect>,
    ) -> Toleration {
        Toleration {
            key: key.into(),
            operator,
            value: value.into(),
            effect,
            seconds: None,
        }
    }

    #[test]
    fn equal_compares_the_value_and_exists_does_not() {
        let taint = taint(Effect::NoSchedule);
        assert!(tolerates(
            &toleration("xid", TolerationOperator::Equal, "79", None),
            &taint
        ));
        assert!(!tolerates(
            &toleration("xid", TolerationOperator::Equal, "13", None),
            &taint
        ));
        assert!(tolerates(
            &toleration("xid", TolerationOperator::Exists, "", None),
            &taint
        ));
        assert!(tolerates(
            &toleration("", TolerationOperator::Exists, "", None),
            &taint
        ));
        assert!(!tolerates(
            &toleration("ecc", TolerationOperator::Exists, "", None),
            &taint
        ));
    }

    #[test]
    fn effects_are_not_graded() {
        let for_execute = toleration(
            "xid",
            TolerationOperator::Exists,
            "",
            Some(Effect::NoExecute),
        );
        assert!(tolerates(&for_execute, &taint(Effect::NoExecute)));
        assert!(!tolerates(&for_execute, &taint(Effect::NoSchedule)));
        assert!(untolerated(&[taint(Effect::NoSchedule)], &[for_execute]).is_some());
    }

    #[test]
    fn an_effect_of_none_stops_nothing() {
        assert_eq!(untolerated(&[taint(Effect::None)], &[]), None);
        assert!(untolerated(&[taint(Effect::None), taint(Effect::NoExecute)], &[]).is_some());
    }
}
