//! An account as text. What is alike is folded: devices that follow each other with one reason, and nodes with one answer.

use std::collections::HashMap;
use std::fmt::Write;

use oracle::objects::{Ask, Claim, Mode};
use oracle::{Answer, Look, Place, Refusal, Verdict};

use crate::live;

use super::account::{Account, Agreement, Given};

/// Of devices in a row with one reason so many are shown.
const IN_A_ROW: usize = 2;
/// Of nodes with different answers so many are shown.
const NODES: usize = 4;
/// A device column is not wider than this.
const WIDEST: usize = 48;

/// The text; `all` unfolds it.
pub(crate) fn render(account: &Account, all: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let _ = head(&mut text, account);
    let _ = nodes(&mut text, account, all);
    let _ = foot(&mut text, account);
    text
}

fn head(text: &mut String, account: &Account) -> std::fmt::Result {
    if let Some(pod) = &account.asked.pod {
        writeln!(text, "pod {pod}, whose claims are allocated together")?;
    }
    for claim in &account.claims {
        writeln!(text, "claim {}", claim.key)?;
        requests(text, account, claim)?;
    }
    for mapping in &account.mappings {
        writeln!(
            text,
            "  {} of container {}: request {}",
            mapping.resource, mapping.container, mapping.request
        )?;
    }
    match &account.given {
        Some(Given {
            node: Some(node), ..
        }) => writeln!(
            text,
            "allocated on {node}; asked as of before that, other claims as they are now"
        )?,
        Some(Given { node: None, .. }) => writeln!(
            text,
            "allocated, on a node that is not known; asked as of before that, other claims as they are now"
        )?,
        None => writeln!(text, "not allocated; asked as of now")?,
    }
    live::head(
        text,
        &account.server,
        account.variant,
        account.order_is_specified,
    )?;
    for note in &account.asked.notes {
        writeln!(text, "note: {note}")?;
    }
    live::left_out(text, &account.unreadable)
}

fn requests(text: &mut String, account: &Account, claim: &Claim) -> std::fmt::Result {
    for request in &claim.requests {
        for ask in request.asks() {
            let count = match ask.mode {
                Mode::Exact(1) => "1 device".to_owned(),
                Mode::Exact(count) => format!("{count} devices"),
                Mode::All => "all devices".to_owned(),
            };
            let admin = if ask.admin {
                ", by administrative access"
            } else {
                ""
            };
            writeln!(
                text,
                "  request {}: {count} of class {}{admin}",
                request.full_name(ask),
                ask.class
            )?;
            selectors(text, account, ask)?;
        }
    }
    for (at, constraint) in claim.constraints.iter().enumerate() {
        let must = match constraint.must {
            oracle::objects::Must::Match(_) => "the same",
            oracle::objects::Must::Differ(_) => "another on each device",
        };
        writeln!(
            text,
            "  constraint {at}: {} is {must}",
            constraint.attribute()
        )?;
    }
    Ok(())
}

fn selectors(text: &mut String, account: &Account, ask: &Ask) -> std::fmt::Result {
    match account.classes.get(&*ask.class) {
        None => writeln!(text, "    there is no class {}", ask.class)?,
        Some(selectors) => {
            for selector in selectors {
                writeln!(text, "    the class selects    {}", one_line(selector))?;
            }
        }
    }
    for selector in &ask.selectors {
        writeln!(
            text,
            "    the request selects  {}",
            one_line(&selector.text)
        )?;
    }
    Ok(())
}

fn one_line(expression: &str) -> String {
    expression.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn nodes(text: &mut String, account: &Account, all: bool) -> std::fmt::Result {
    let several = account.claims.len() > 1;
    let given = account
        .given
        .as_ref()
        .and_then(|given| given.node.as_deref());
    if account.verdicts.is_empty() {
        writeln!(text, "\nthe cluster has no nodes")?;
    }
    // The node that matters comes first, then the others as they are.
    let first = account
        .verdicts
        .iter()
        .filter(|verdict| Some(&*verdict.node) == given);
    let rest = account
        .verdicts
        .iter()
        .filter(|verdict| Some(&*verdict.node) != given);
    let mut shown: Vec<(&str, String, usize)> = Vec::new();
    let mut alike: HashMap<String, usize> = HashMap::new();
    for verdict in first.chain(rest) {
        let block = block(verdict, several, all);
        if all {
            shown.push((&verdict.node, block, 0));
            continue;
        }
        // Pools and devices of a node often bear its name; but for that two nodes are alike.
        let nameless = block.replace(&*verdict.node, "\u{0}");
        match alike.get(&nameless) {
            Some(at) => shown[*at].2 += 1,
            None => {
                alike.insert(nameless, shown.len());
                shown.push((&verdict.node, block, 0));
            }
        }
    }
    let more: usize = shown.iter().skip(NODES).map(|(_, _, like)| like + 1).sum();
    let limit = if all { shown.len() } else { NODES };
    for (node, block, like) in shown.iter().take(limit) {
        let like = match like {
            0 => String::new(),
            1 => ", and 1 more node alike".to_owned(),
            like => format!(", and {like} more nodes alike"),
        };
        write!(text, "\nnode {node}{like}\n{block}")?;
    }
    if !all && more > 0 {
        writeln!(text, "\nand {more} more nodes; --all shows them")?;
    }
    Ok(())
}

/// What is said of a node.
fn block(verdict: &Verdict, several: bool, all: bool) -> String {
    let mut text = String::new();
    if matches!(&verdict.answer, Answer::Allocated(allocations) if allocations.is_empty()) {
        return "  nothing is asked of devices: a device plugin serves it\n".to_owned();
    }
    let _ = looks(&mut text, verdict, several, all);
    for pool in &verdict.pools {
        let _ = writeln!(
            text,
            "  nothing is taken from pool {}/{}, which is {}",
            pool.driver, pool.pool, pool.flaw
        );
    }
    let _ = match &verdict.answer {
        Answer::Allocated(_) => writeln!(
            text,
            "  the oracle gives {}",
            gives(&verdict.answer, several)
        ),
        Answer::Refused(refused) => writeln!(text, "  not here: {refused}"),
        Answer::Failed(failure) => writeln!(text, "  nowhere: {failure}"),
        Answer::GaveUp { steps } => writeln!(
            text,
            "  not known: the search was given up after {steps} devices were tried"
        ),
    };
    text
}

fn gives(answer: &Answer, several: bool) -> String {
    let Answer::Allocated(allocations) = answer else {
        return String::new();
    };
    let devices = allocations.iter().flat_map(|allocation| {
        allocation.devices.iter().map(|given| {
            let share = if given.share { " (a share)" } else { "" };
            format!(
                "{}{} = {}{share}",
                of_claim(&allocation.claim.name, several),
                given.request,
                given.device.device
            )
        })
    });
    devices.collect::<Vec<_>>().join(", ")
}

fn of_claim(claim: &str, several: bool) -> String {
    if several {
        format!("{claim}: ")
    } else {
        String::new()
    }
}

fn looks(text: &mut String, verdict: &Verdict, several: bool, all: bool) -> std::fmt::Result {
    let mut request: Option<(&str, &str)> = None;
    let width = width(&verdict.looks);
    let mut in_a_row = 0;
    let mut before: Option<&Look> = None;
    let mut hidden = 0;
    for (at, look) in verdict.looks.iter().enumerate() {
        let this = (&*look.claim.name, &*look.request);
        let heads = request != Some(this);
        let like = !heads && before.is_some_and(|before| alike(before, look));
        in_a_row = if like { in_a_row + 1 } else { 1 };
        if in_a_row > IN_A_ROW && !all {
            hidden += 1;
            before = Some(look);
            continue;
        }
        more(text, hidden)?;
        hidden = 0;
        if heads {
            writeln!(
                text,
                "  for request {}{} it looks at",
                of_claim(this.0, several),
                this.1
            )?;
            request = Some(this);
        }
        writeln!(
            text,
            "  {:>5}  {:width$}  {}",
            at + 1,
            look.device.device,
            why(look.refusal.as_ref())
        )?;
        before = Some(look);
    }
    more(text, hidden)?;
    if verdict.looks.is_empty() && !matches!(verdict.answer, Answer::Failed(_)) {
        writeln!(
            text,
            "  no device is published for it, or none is looked at"
        )?;
    }
    Ok(())
}

fn more(text: &mut String, hidden: usize) -> std::fmt::Result {
    match hidden {
        0 => Ok(()),
        hidden => writeln!(text, "         and {hidden} more for the same reason"),
    }
}

fn width(looks: &[Look]) -> usize {
    let names = looks.iter().map(|look| look.device.device.chars().count());
    names.max().unwrap_or(0).min(WIDEST)
}

/// Whether a reader would call it the same reason.
fn alike(a: &Look, b: &Look) -> bool {
    match (&a.refusal, &b.refusal) {
        (Some(Refusal::InUse { .. }), Some(Refusal::InUse { .. })) => true,
        (Some(Refusal::Counter(a)), Some(Refusal::Counter(b))) => a.set == b.set,
        (a, b) => a == b,
    }
}

/// A refusal without the text of the expression, which stands above.
fn why(refusal: Option<&Refusal>) -> String {
    match refusal {
        None => "taken".to_owned(),
        Some(Refusal::Selector { owner, .. }) => format!("selector of {owner} does not hold"),
        Some(refusal) => refusal.to_string(),
    }
}

fn foot(text: &mut String, account: &Account) -> std::fmt::Result {
    writeln!(text)?;
    let Some(given) = &account.given else {
        let fit = account
            .verdicts
            .iter()
            .filter(|verdict| matches!(verdict.answer, Answer::Allocated(_)))
            .count();
        return writeln!(
            text,
            "{fit} of {} nodes can serve it, as far as devices decide; what else the scheduler asks (taints of nodes, affinity, CPU) is not asked here",
            account.verdicts.len()
        );
    };
    let several = account.claims.len() > 1;
    let devices = given.devices.iter().flat_map(|(claim, held)| {
        held.iter().map(|it| {
            format!(
                "{}{} = {}",
                of_claim(&claim.name, several),
                it.request,
                it.device.device
            )
        })
    });
    writeln!(text, "given: {}", devices.collect::<Vec<_>>().join(", "))?;
    match &given.agreement {
        None => writeln!(
            text,
            "the oracle was not asked for that node: it is not known which it is"
        )?,
        Some(Agreement::Same) => writeln!(text, "that is what the oracle gives")?,
        Some(Agreement::Known(quirks)) => writeln!(
            text,
            "that is not what the oracle gives, but what this allocator is known to do: {}",
            quirks.join(", ")
        )?,
        Some(Agreement::Differs) => writeln!(
            text,
            "that is NOT what the oracle gives now; the cluster may have looked otherwise then: claims that have gone, slices that have changed"
        )?,
    }
    for misallocation in &given.misallocation {
        match misallocation {
            Err(why) => writeln!(text, "misallocation: not known: {why}")?,
            Ok(misallocation) => {
                writeln!(
                    text,
                    "misallocation{}: {misallocation}",
                    if several {
                        format!(" of {}", misallocation.claim)
                    } else {
                        String::new()
                    }
                )?;
                for place in &misallocation.places {
                    writeln!(text, "  {}", place_text(place))?;
                }
            }
        }
    }
    Ok(())
}

fn place_text(place: &Place) -> String {
    let profile = |profile: &Option<std::sync::Arc<str>>| {
        profile
            .as_ref()
            .map_or(String::new(), |profile| format!("{profile}, "))
    };
    let given = format!(
        "{}: given {} ({}{})",
        place.request,
        place.given.device,
        profile(&place.given_profile),
        place.given_weight
    );
    match &place.smallest {
        None => format!("{given}; devices of other kinds fit too, and not all weights are known"),
        Some(smallest) if *smallest == place.given => {
            format!("{given}; nothing smaller was free and fits")
        }
        Some(smallest) => format!(
            "{given}; the smallest that was free and fits is {} ({}{})",
            smallest.device,
            profile(&place.smallest_profile),
            place.smallest_weight
        ),
    }
}
