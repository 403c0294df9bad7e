//! Objects in documents: which kind, which version, and whether the cluster serves it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use oracle::Gates;

use crate::names::{listed, nearest};
use crate::problem::Report;
use crate::schema::Schema;
use crate::tree::{Node, Value};

/// An object of a kind that is looked at.
pub(crate) struct Object<'t> {
    pub(crate) file: usize,
    pub(crate) root: &'t Node,
    pub(crate) api_version: &'t str,
    pub(crate) kind: &'t str,
    /// Its type in the schema; none where this minor has no such version.
    pub(crate) of: Option<&'static str>,
}

/// Kinds without a schema of their own here: configuration of tools.
const CONFIGURATION: [(&str, &str); 3] = [
    ("Cluster", "kind.x-k8s.io/"),
    ("ClusterConfiguration", "kubeadm.k8s.io/"),
    ("KubeSchedulerConfiguration", "kubescheduler.config.k8s.io/"),
];

impl<'t> Object<'t> {
    pub(crate) fn name(&self) -> &'t str {
        self.root
            .path(&["metadata", "name"])
            .and_then(Node::as_text)
            .unwrap_or_default()
    }

    /// Its namespace; objects that name none meet in that of the reader.
    pub(crate) fn namespace(&self) -> &'t str {
        self.root
            .path(&["metadata", "namespace"])
            .and_then(Node::as_text)
            .unwrap_or_default()
    }

    pub(crate) fn spec(&self) -> Option<&'t Node> {
        self.root.get("spec")
    }

    /// Whether it has the shapes of `v1beta1`: devices in `basic`, requests without `exactly`.
    pub(crate) fn is_beta1(&self) -> bool {
        self.api_version == "resource.k8s.io/v1beta1"
    }

    /// The parts of a claim: `spec.devices` or, in a template, `spec.spec.devices`.
    pub(crate) fn claim(&self) -> Option<&'t Node> {
        match self.kind {
            "ResourceClaim" => self.root.path(&["spec", "devices"]),
            "ResourceClaimTemplate" => self.root.path(&["spec", "spec", "devices"]),
            _ => None,
        }
    }
}

/// Takes a document apart; lists hold objects of their own.
pub(crate) fn open<'t>(
    file: usize,
    document: &'t Node,
    gates: &Gates,
    report: &mut Report<'_>,
    objects: &mut Vec<Object<'t>>,
    passed_over: &mut BTreeMap<String, usize>,
) {
    let entries = match &document.value {
        Value::Null => return,
        Value::Map(entries) => entries,
        _ => {
            report
                .say(
                    file,
                    "not-a-manifest",
                    document.place,
                    format!("this document is {}, not an object", document.kind()),
                )
                .help("a manifest is a map with `apiVersion`, `kind` and `metadata`");
            return;
        }
    };
    let (Some(api_version), Some(kind)) = (document.text("apiVersion"), document.text("kind"))
    else {
        let missing: Vec<&str> = ["apiVersion", "kind"]
            .into_iter()
            .filter(|name| document.text(name).is_none())
            .collect();
        let place = missing
            .iter()
            .find_map(|name| document.get(name))
            .map_or(document.place, |node| node.place);
        let meant = entries.iter().find_map(|(key, _)| {
            let meant = nearest(&key.name, missing.iter().copied())?;
            (key.name != meant).then_some((key, meant))
        });
        let help = match meant {
            Some((key, meant)) => format!("did you mean `{meant}` where {:?} stands?", key.name),
            None => "write `apiVersion: resource.k8s.io/v1` and `kind: ResourceClaim`, or what it is to be; other YAML files are not for this lint".to_owned(),
        };
        report
            .say(
                file,
                "not-a-manifest",
                place,
                format!("this document has no {}", listed(missing.iter().copied())),
            )
            .help(help);
        return;
    };
    if kind == "List" || (kind.ends_with("List") && document.get("items").is_some()) {
        for item in document.list("items") {
            open(file, item, gates, report, objects, passed_over);
        }
        return;
    }
    if CONFIGURATION
        .iter()
        .any(|(name, group)| *name == kind && api_version.starts_with(group))
    {
        objects.push(Object {
            file,
            root: document,
            api_version,
            kind,
            of: None,
        });
        return;
    }
    let schema = Schema::get();
    let known: BTreeSet<&str> = schema.kinds().collect();
    if !known.contains(kind) {
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let meant = nearest(kind, known.iter().copied());
        if group == "resource.k8s.io"
            || (meant.is_some()
                && schema
                    .kind(api_version, meant.unwrap_or_default())
                    .is_some())
        {
            let place = document
                .get("kind")
                .map_or(document.place, |node| node.place);
            let help = meant.map_or_else(
                || format!("kinds that are known: {}", listed(known.iter().copied())),
                |meant| format!("did you mean `{meant}`?"),
            );
            report
                .say(
                    file,
                    "unknown-kind",
                    place,
                    format!("{api_version} has no kind {kind:?}"),
                )
                .help(help);
        } else {
            *passed_over.entry(kind.to_owned()).or_default() += 1;
        }
        return;
    }
    let of = served(file, document, api_version, kind, gates, report);
    if of.is_none() && schema.kind(api_version, kind).is_none() && is_foreign(api_version) {
        // `Cluster` of somebody else, `Job` of another scheduler.
        return;
    }
    let metadata = document.get("metadata");
    let named =
        metadata.is_some_and(|it| it.get("name").is_some() || it.get("generateName").is_some());
    if !named {
        report
            .say(
                file,
                "no-name",
                document.at("metadata"),
                format!("this {kind} has no name"),
            )
            .help("write `metadata: {name: …}`");
    }
    objects.push(Object {
        file,
        root: document,
        api_version,
        kind,
        of,
    });
}

/// Whether a group is none of Kubernetes' own.
fn is_foreign(api_version: &str) -> bool {
    api_version
        .split_once('/')
        .is_some_and(|(group, _)| group.contains('.') && !group.ends_with(".k8s.io"))
}

/// The type of the kind where this cluster serves the version; else it is said what is wrong.
fn served(
    file: usize,
    document: &Node,
    api_version: &str,
    kind: &str,
    gates: &Gates,
    report: &mut Report<'_>,
) -> Option<&'static str> {
    let schema = Schema::get();
    let version = gates.version();
    if is_foreign(api_version) {
        return None;
    }
    let place = document
        .get("apiVersion")
        .map_or(document.place, |node| node.place);
    let found = schema.kind(api_version, kind);
    let here = found.filter(|(_, minors)| Schema::has_in(*minors, version));
    let usual = usual(kind, gates);
    if here.is_some()
        && (usual.is_some_and(|usual| usual == api_version) || !is_optional(api_version))
    {
        return here.map(|(of, _)| of);
    }
    let all = schema.versions_of(kind, version);
    let help = match usual {
        Some(usual) => format!("write `apiVersion: {usual}`"),
        None if all.is_empty() => format!("Kubernetes {version} has no {kind} at all"),
        None => format!(
            "Kubernetes {version} serves a {kind} only where feature gates and `--runtime-config={}=true` say so",
            all.last().unwrap_or(&"")
        ),
    };
    let message = match (&here, &found) {
        (Some(_), _) => format!(
            "{api_version} is not served by Kubernetes {version} unless asked for by `--runtime-config`"
        ),
        (None, Some(_)) => format!("Kubernetes {version} has no {kind} of {api_version}"),
        (None, None) => format!("there is no {kind} of {api_version}"),
    };
    report.say(file, "api-version", place, message).help(help);
    here.map(|(of, _)| of)
}

/// Beta and alpha versions are served only where somebody asks for them.
fn is_optional(api_version: &str) -> bool {
    api_version.contains("beta") || api_version.contains("alpha")
}

/// The version of a kind that a cluster with these gates serves.
fn usual(kind: &str, gates: &Gates) -> Option<&'static str> {
    if kind == "DeviceTaintRule" {
        return gates.taint_rules_api();
    }
    let schema = Schema::get();
    schema
        .versions_of(kind, gates.version())
        .into_iter()
        .find(|name| !is_optional(name))
}

/// Two objects of a kind with one name: the second replaces the first.
pub(crate) fn twice(objects: &[Object<'_>], report: &mut Report<'_>) {
    let mut seen: HashMap<(&str, &str, &str), &Object<'_>> = HashMap::new();
    for it in objects.iter().filter(|it| !it.name().is_empty()) {
        if let Some(first) = seen.insert((it.kind, it.namespace(), it.name()), it)
            && first.file == it.file
        {
            let place = it
                .root
                .path(&["metadata", "name"])
                .map_or(it.root.place, |node| node.place);
            report
                .say(
                    it.file,
                    "duplicate-object",
                    place,
                    format!("there is a {} {:?} above already", it.kind, it.name()),
                )
                .help(
                    "the second would change the first, or be refused; give it a name of its own",
                );
        }
    }
}
