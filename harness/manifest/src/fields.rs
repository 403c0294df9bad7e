//! Fields one by one: whether they exist, are where they belong, hold what they should, and are switched on.

use oracle::{Gate, Gates, Quantity};

use crate::names::{listed, nearest};
use crate::object::Object;
use crate::problem::Report;
use crate::schema::{Schema, Shape};
use crate::tree::{Key, Node, Value};

pub(crate) fn check(object: &Object<'_>, gates: &Gates, report: &mut Report<'_>) {
    let Some(of) = object.of else { return };
    let mut walk = Walk {
        object,
        gates,
        report,
        top: of,
    };
    walk.object(of, object.root, None);
}

struct Walk<'w, 'o, 'r> {
    object: &'w Object<'o>,
    gates: &'w Gates,
    report: &'w mut Report<'r>,
    top: &'static str,
}

/// `resource.v1.Device` → `Device`
fn last(of: &str) -> &str {
    of.rsplit('.').next().unwrap_or(of)
}

impl Walk<'_, '_, '_> {
    fn object(&mut self, of: &str, node: &Node, parent: Option<&str>) {
        let version = self.gates.version();
        let schema = Schema::get();
        for (key, value) in node.entries() {
            let field = schema.field(of, &key.name);
            match field {
                Some(field) if field.exists_in(version) => {
                    self.gate(of, key);
                    self.value(field.shape, key, value);
                }
                Some(field) => {
                    let help = match (last(of), key.name.as_str()) {
                        ("PodSpec", "workloadRef") => "since 1.36 a pod names its PodGroup: `schedulingGroup: {podGroupName: …}`".to_owned(),
                        ("PodSpec", "schedulingGroup") => "1.35 has `workloadRef: {name, podGroup}` instead".to_owned(),
                        ("DeviceTaintSelector", _) => "since 1.35 a rule chooses by `driver`, `pool` and `device` only".to_owned(),
                        _ => format!("it is in {} only; leave it out, or lint for another `--kubernetes`", listed(field.minors().split(' '))),
                    };
                    self.report
                        .say(
                            self.object.file,
                            "unknown-field",
                            key.place,
                            format!(
                                "Kubernetes {version} has no field {:?} in {}",
                                key.name,
                                last(of)
                            ),
                        )
                        .help(help);
                }
                None => self.unknown(of, key, value, parent),
            }
        }
        // A field that is not known was most likely meant to be the one that is missing.
        let misread = node
            .entries()
            .iter()
            .any(|(key, _)| self.report.has(self.object.file, key.place));
        for (name, field) in schema.fields(of, version) {
            if !misread && field.required && node.get(name).is_none() && !is_defaulted(of, name) {
                self.report
                    .say(
                        self.object.file,
                        "missing-field",
                        node.place,
                        format!("{} needs the field {name:?}", what(of, parent)),
                    )
                    .help(format!("write `{name}: {}`", sample(field.shape)));
            }
        }
    }

    fn value(&mut self, shape: Shape<'_>, key: &Key, value: &Node) {
        if matches!(value.value, Value::Null) {
            return;
        }
        let file = self.object.file;
        let fits = match (shape, &value.value) {
            (Shape::Anything, _)
            | (Shape::Text, Value::Text(_))
            | (Shape::Int, Value::Int(_))
            | (Shape::Number, Value::Int(_) | Value::Number(_))
            | (Shape::Bool, Value::Bool(_))
            | (Shape::IntOrText, Value::Int(_) | Value::Text(_))
            | (Shape::Object, Value::Map(_)) => true,
            (Shape::Quantity, Value::Int(_) | Value::Number(_) | Value::Text(_)) => {
                let text = value.written().unwrap_or_default();
                if let Err(error) = text.parse::<Quantity>() {
                    self.report
                        .say(file, "quantity", value.place, format!("{:?} is not a quantity: {}", error.text, error.why))
                        .help("write a number with an optional suffix of Ki, Mi, Gi, Ti, Pi, Ei, n, u, m, k, M, G, T, P, E: 40Gi, 500m, 1e3");
                }
                true
            }
            (Shape::List(item), Value::List(items)) => {
                for it in items {
                    let place = Key {
                        name: key.name.clone(),
                        place: it.place,
                    };
                    self.value(Shape::read(item), &place, it);
                }
                true
            }
            (Shape::Map(item), Value::Map(entries)) => {
                for (key, it) in entries {
                    self.value(Shape::read(item), key, it);
                }
                true
            }
            (Shape::Type(inner), Value::Map(_)) => {
                self.object(inner, value, Some(&key.name));
                true
            }
            _ => false,
        };
        if !fits {
            self.wrong_type(shape, key, value);
        }
    }

    fn wrong_type(&mut self, shape: Shape<'_>, key: &Key, value: &Node) {
        let file = self.object.file;
        let wants_value = matches!(shape, Shape::Type(inner) if ["Counter", "DeviceCapacity"].contains(&last(inner)));
        if let (true, Some(text)) = (wants_value, value.written()) {
            self.report
                .say(
                    file,
                    "bare-quantity",
                    value.place,
                    format!("the amount of {:?} stands bare", key.name),
                )
                .help(format!("write `{}: {{value: {text}}}`", key.name));
            return;
        }
        let wanted = match shape {
            Shape::Text => "a text",
            Shape::Int => "a whole number",
            Shape::Number => "a number",
            Shape::Bool => "true or false",
            Shape::Quantity => "a quantity",
            Shape::IntOrText => "a number or a text",
            Shape::List(_) => "a list",
            Shape::Object | Shape::Map(_) | Shape::Type(_) => "a map",
            Shape::Anything => return,
        };
        let help = match (shape, value.written()) {
            (Shape::Text, Some(text)) => format!("put it in quotes: `{}: \"{text}\"`", key.name),
            (Shape::Int | Shape::Bool, Some(text)) if matches!(value.value, Value::Text(_)) => {
                format!("write it without quotes: `{}: {}`", key.name, text.trim())
            }
            (Shape::List(_), _) => format!("begin each entry below `{}:` with `- `", key.name),
            (Shape::Type(inner), _) => {
                let schema = Schema::get();
                let fields: Vec<&str> = schema
                    .fields(inner, self.gates.version())
                    .map(|(name, _)| name)
                    .take(8)
                    .collect();
                format!("its fields are {}", listed(fields))
            }
            _ => format!("write {wanted}"),
        };
        self.report
            .say(
                file,
                "wrong-type",
                value.place,
                format!("{:?} wants {wanted}; this is {}", key.name, value.kind()),
            )
            .help(help);
    }

    fn unknown(&mut self, of: &str, key: &Key, value: &Node, parent: Option<&str>) {
        let schema = Schema::get();
        let version = self.gates.version();
        let (file, name) = (self.object.file, key.name.as_str());
        let names: Vec<&str> = schema.fields(of, version).map(|(name, _)| name).collect();
        let (rule, message, help) = match self.special(of, name, value) {
            Some(special) => special,
            None => {
                let near = nearest(name, names.iter().copied());
                let elsewhere = if self.object.kind.starts_with("Resource")
                    || self.object.kind.starts_with("Device")
                {
                    schema.paths_of(name, self.top, version)
                } else {
                    Vec::new()
                };
                let message = format!("{} has no field {name:?}", what(of, parent));
                match (near, elsewhere.as_slice()) {
                    (Some(near), _) if near.eq_ignore_ascii_case(name) => {
                        ("unknown-field", message, format!("did you mean `{near}`?"))
                    }
                    (_, [first, ..]) if elsewhere.len() <= 3 => {
                        let rest: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
                        (
                            "misplaced-field",
                            format!("{name:?} does not belong here"),
                            format!(
                                "it belongs at {}",
                                if elsewhere.len() == 1 {
                                    first.clone()
                                } else {
                                    rest.join(" or ")
                                }
                            ),
                        )
                    }
                    (Some(near), _) => {
                        ("unknown-field", message, format!("did you mean `{near}`?"))
                    }
                    (None, _) => (
                        "unknown-field",
                        message,
                        format!("its fields are {}", listed(names.iter().copied().take(16))),
                    ),
                }
            }
        };
        self.report.say(file, rule, key.place, message).help(help);
    }

    /// Mistakes that are made often enough to have words of their own.
    fn special(
        &self,
        of: &str,
        name: &str,
        value: &Node,
    ) -> Option<(&'static str, String, String)> {
        let say =
            |rule, message: &str, help: &str| Some((rule, message.to_owned(), help.to_owned()));
        let is = last(of);
        let version = self.gates.version();
        match (is, name) {
            ("Device", "basic") => say(
                "beta-form",
                "`basic` is the form of v1beta1",
                "move what is in it up: attributes, capacity and the rest stand beside `name`",
            ),
            ("DeviceRequest", _)
                if Schema::get()
                    .field(&of.replace("DeviceRequest", "ExactDeviceRequest"), name)
                    .is_some_and(|field| field.exists_in(version))
                    && name != "tolerations" =>
            {
                say(
                    "beta-form",
                    &format!("{name:?} right below a request is the form of v1beta1"),
                    &format!("put it under `exactly:`, as `exactly: {{{name}: …}}`"),
                )
            }
            (
                "DeviceRequest"
                | "DeviceClaim"
                | "ResourceClaimSpec"
                | "ResourceClaimTemplateSpec"
                | "PodResourceClaim"
                | "DeviceClassSpec",
                "tolerations",
            ) => say(
                "toleration-level",
                "taints of devices are not tolerated here",
                "tolerations stand in the request: `exactly: {tolerations: […]}`, or in an entry of `firstAvailable`",
            ),
            ("DeviceTaintSelector", "deviceClassName" | "selectors") => say(
                "taint-rule-selector",
                &format!("a DeviceTaintRule does not choose by {name}"),
                "since 1.35 it chooses by `driver`, `pool` and `device`; taint each device that is meant, or write no selector field but `driver`",
            ),
            ("DeviceTaintRuleSpec", "taints") => say(
                "unknown-field",
                "a DeviceTaintRule has one taint",
                "write `taint: {…}`, and one rule for each taint",
            ),
            (
                "ExactDeviceRequest" | "DeviceSubRequest" | "DeviceRequest",
                "resourceClassName" | "deviceClass" | "className",
            ) => say(
                "unknown-field",
                &format!("a request has no field {name:?}"),
                "the class is named by `deviceClassName`",
            ),
            ("PodResourceClaim", "source") => say(
                "beta-form",
                "`source` is the form before 1.31",
                "write `resourceClaimName` or `resourceClaimTemplateName` right beside `name`",
            ),
            ("DeviceCapacity", "string" | "int" | "bool" | "version") => say(
                "attribute-as-capacity",
                "this is an attribute among the capacities",
                "move the entry to `attributes`, or write `{value: QUANTITY}`",
            ),
            ("DeviceAttribute", "value") => {
                match value.written().map(|text| text.parse::<Quantity>().is_ok()) {
                    Some(true) => say(
                        "capacity-as-attribute",
                        "this is a capacity among the attributes",
                        "move the entry to `capacity`, or write `{int: …}` or `{string: …}`",
                    ),
                    _ => say(
                        "unknown-field",
                        "an attribute has no field \"value\"",
                        "name its type: `{string: …}`, `{int: …}`, `{bool: …}` or `{version: …}`",
                    ),
                }
            }
            ("Counter", "quantity") | ("DeviceCapacity", "quantity") => say(
                "unknown-field",
                "the amount has no field \"quantity\"",
                "write `{value: …}`",
            ),
            ("ResourceClaimTemplateSpec", "devices") => say(
                "misplaced-field",
                "a template has the claim's spec one level deeper",
                "write `spec: {spec: {devices: …}}`",
            ),
            ("ResourceClaimSpec", "spec") => say(
                "misplaced-field",
                "a ResourceClaim has one `spec`, only a template has two",
                "move `devices` right below the first `spec`",
            ),
            ("ResourceClaimSpec", "requests" | "constraints" | "config") => say(
                "misplaced-field",
                &format!("{name:?} does not belong here"),
                &format!("it belongs into `devices`: `spec: {{devices: {{{name}: …}}}}`"),
            ),
            _ => None,
        }
    }

    /// Fields that the API server drops without a word where their gate is off.
    fn gate(&mut self, of: &str, key: &Key) {
        let Some(gate) = gate_of(last(of), &key.name) else {
            return;
        };
        let version = self.gates.version();
        let (name, on) = match gate {
            GateOf::Known(gate) => (gate.name(), self.gates.has(gate)),
            GateOf::Other(name) => (name, false),
        };
        if on {
            return;
        }
        self.report
            .say(self.object.file, "gate-off", key.place, format!("{:?} is dropped: {name} is off in this Kubernetes {version}", key.name))
            .help(format!("turn {name} on in the cluster (`--gates alpha` lints for such a one), or leave the field out"));
    }
}

enum GateOf {
    Known(Gate),
    Other(&'static str),
}

/// The gate of a field (`pkg/registry/resource`, `dropDisabledFields`).
fn gate_of(of: &str, field: &str) -> Option<GateOf> {
    use GateOf::{Known, Other};
    Some(match (of, field) {
        ("ResourceSliceSpec", "sharedCounters" | "perDeviceNodeSelection")
        | (
            "Device" | "BasicDevice",
            "consumesCounters" | "nodeName" | "nodeSelector" | "allNodes",
        ) => Known(Gate::PartitionableDevices),
        ("ResourceSliceSpec", "partitionTypeAttribute") => Other("DRAPartitionableDevicesType"),
        ("ResourceSliceSpec", "skipNodeOperations") => Known(Gate::OptionalNodeOperations),
        ("Device" | "BasicDevice", "taints")
        | ("DeviceRequest" | "ExactDeviceRequest" | "DeviceSubRequest", "tolerations") => {
            Known(Gate::DeviceTaints)
        }
        (
            "Device" | "BasicDevice",
            "bindingConditions" | "bindingFailureConditions" | "bindsToNode",
        ) => Known(Gate::DeviceBindingConditions),
        ("Device" | "BasicDevice", "allowMultipleAllocations")
        | ("DeviceCapacity", "requestPolicy")
        | ("DeviceRequest" | "ExactDeviceRequest" | "DeviceSubRequest", "capacity")
        | ("DeviceConstraint", "distinctAttribute") => Known(Gate::ConsumableCapacity),
        ("Device", "nodeAllocatableResources") => Other("DRANodeAllocatableResources"),
        ("DeviceAttribute", "bools" | "ints" | "strings" | "versions") => {
            Known(Gate::ListTypeAttributes)
        }
        ("DeviceCounterConsumption", "compatibilityGroups") => {
            Known(Gate::DeviceCompatibilityGroups)
        }
        ("DeviceRequest", "firstAvailable") => Known(Gate::PrioritizedList),
        ("DeviceRequest" | "ExactDeviceRequest", "adminAccess") => Known(Gate::AdminAccess),
        ("ExactDeviceRequest" | "DeviceSubRequest", "derivedAttributes") => {
            Known(Gate::DerivedAttributes)
        }
        ("DeviceClassSpec", "extendedResourceName") => Known(Gate::ExtendedResource),
        _ => return None,
    })
}

/// Fields that the schema demands and the API server fills in.
fn is_defaulted(of: &str, name: &str) -> bool {
    of.starts_with("meta.")
        || matches!((last(of), name), ("ResourcePool", "generation"))
        || !of.starts_with("resource.") && name != "containers"
}

/// What to call a type: the key that holds it says more than the type's name.
fn what(of: &str, parent: Option<&str>) -> String {
    match parent {
        Some(parent) => format!("{} (in {parent:?})", last(of)),
        None => last(of).to_owned(),
    }
}

fn sample(shape: Shape<'_>) -> &'static str {
    match shape {
        Shape::Int | Shape::Number => "1",
        Shape::Bool => "true",
        Shape::Quantity => "1",
        Shape::List(_) => "[…]",
        Shape::Map(_) | Shape::Type(_) | Shape::Object => "{…}",
        _ => "…",
    }
}
