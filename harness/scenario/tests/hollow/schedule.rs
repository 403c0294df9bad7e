//! The scheduler: first match under counters, and a reason for those who get nothing.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Lie, State};

impl State {
    /// Looks at every pod that has no device, in the order of creation.
    pub(super) fn schedule(&mut self, fresh: bool) {
        for (namespace, name) in self.order.clone() {
            let key = ("pods".to_owned(), namespace.clone(), name.clone());
            let pod = self.objects[&key].clone();
            let waits = pod["status"]["conditions"][0]["reason"] == "Unschedulable";
            if pod["status"]["phase"] == "Running" || pod["spec"]["nodeName"].is_string() {
                continue;
            }
            if waits && (self.lie == Lie::ForgetsWaiting || fresh) {
                continue;
            }
            match self.pick(&namespace, &pod) {
                Some((node, device)) => self.start(&namespace, &name, &node, &device),
                None => {
                    let why = match self.lie {
                        Lie::OtherReason => {
                            "0/1 nodes are available: 1 node(s) had untolerated taint(s)."
                        }
                        _ => {
                            "0/1 nodes are available: 1 cannot allocate all claims. still not schedulable."
                        }
                    };
                    let condition = json!([{ "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": why }]);
                    self.objects.get_mut(&key).expect("the pod")["status"] =
                        json!({ "phase": "Pending", "conditions": condition });
                }
            }
        }
    }

    fn pick(&self, namespace: &str, pod: &Value) -> Option<(String, String)> {
        let template = pod["spec"]["resourceClaims"][0]["resourceClaimTemplateName"]
            .as_str()
            .expect("a template");
        let key = (
            "resourceclaimtemplates".to_owned(),
            namespace.to_owned(),
            template.to_owned(),
        );
        let request = &self.objects[&key]["spec"]["spec"]["devices"]["requests"][0]["exactly"];
        let kind = match request["deviceClassName"].as_str().expect("a class") {
            "mig.nvidia.com" => "mig",
            "gpu.nvidia.com" => "gpu",
            _ => return None,
        };
        let selector = request["selectors"][0]["cel"]["expression"].as_str();
        let profile = selector
            .and_then(|text| text.rsplit('"').nth(1))
            .map(str::to_owned);
        let taken = self.taken();
        let published: Vec<(String, Value)> = self.devices();
        let mut used: BTreeMap<String, u64> = BTreeMap::new();
        for (_, device) in published
            .iter()
            .filter(|(_, device)| taken.iter().any(|name| *name == device["name"]))
        {
            add(&mut used, device);
        }
        let there = self.counters();
        let fits_kind = |device: &Value| device["attributes"]["type"]["string"] == kind;
        let fits = |device: &Value| {
            let profile_fits = profile.as_ref().is_none_or(|want| {
                let same = device["attributes"]["profile"]["string"] == want.as_str();
                if self.lie == Lie::WrongProfile {
                    !same
                } else {
                    same
                }
            });
            let free = !taken.iter().any(|name| *name == device["name"]);
            let mut with = used.clone();
            add(&mut with, device);
            let enough = self.lie == Lie::IgnoresCounters
                || with.iter().all(|(counter, amount)| {
                    there.get(counter).is_some_and(|there| amount <= there)
                });
            fits_kind(device) && profile_fits && free && enough
        };
        if self.lie == Lie::GivesOneLess && self.order.len() >= 7 {
            return None;
        }
        let mut all = published.iter().filter(|(_, device)| fits(device));
        let found = if self.lie == Lie::LastMatch {
            all.next_back()
        } else {
            all.next()
        };
        let name = |(node, device): &(String, Value)| {
            (
                node.clone(),
                device["name"].as_str().expect("a name").to_owned(),
            )
        };
        if found.is_none() && self.lie == Lie::GivesTwice {
            return published
                .iter()
                .find(|(_, device)| taken.iter().any(|name| *name == device["name"]))
                .map(name);
        }
        found.map(name)
    }

    fn taken(&self) -> Vec<Value> {
        self.objects
            .iter()
            .filter(|((plural, _, _), _)| plural == "resourceclaims")
            .map(|(_, claim)| {
                claim["status"]["allocation"]["devices"]["results"][0]["device"].clone()
            })
            .collect()
    }

    fn specs(&self) -> impl Iterator<Item = &Value> {
        self.objects
            .iter()
            .filter(|((plural, _, _), _)| plural == "resourceslices")
            .map(|(_, slice)| &slice["spec"])
    }

    fn devices(&self) -> Vec<(String, Value)> {
        self.specs()
            .flat_map(|spec| {
                let node = spec["nodeName"].as_str().unwrap_or_default().to_owned();
                spec["devices"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(move |device| (node.clone(), device.clone()))
            })
            .collect()
    }

    fn counters(&self) -> BTreeMap<String, u64> {
        let mut all = BTreeMap::new();
        for set in self
            .specs()
            .flat_map(|spec| spec["sharedCounters"].as_array().into_iter().flatten())
        {
            for (counter, value) in set["counters"].as_object().into_iter().flatten() {
                all.insert(format!("{}/{counter}", set["name"]), amount(value));
            }
        }
        all
    }
}

fn add(used: &mut BTreeMap<String, u64>, device: &Value) {
    for taken in device["consumesCounters"].as_array().into_iter().flatten() {
        for (counter, value) in taken["counters"].as_object().into_iter().flatten() {
            *used
                .entry(format!("{}/{counter}", taken["counterSet"]))
                .or_default() += amount(value);
        }
    }
}

fn amount(value: &Value) -> u64 {
    value["value"]
        .as_str()
        .expect("a quantity")
        .trim_end_matches("Mi")
        .parse()
        .expect("a number")
}
