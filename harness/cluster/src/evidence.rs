//! What a cluster leaves for a person who asks why: logs, the driver's files, the cards, the API's objects, as plain files.
//! Not a judgement and not a report; gathered before anything is torn down, and never fails half-way.
//! Comes from the run folder, the nodes' inits and the API server; what could not be had is named in `missing.txt`.
use std::fmt::{Debug, Display, Write as _};
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Pod};
use k8s_openapi::api::resource::v1::{DeviceClass, ResourceClaim, ResourceSlice};
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::running::{Node, Running};

/// Most bytes of one log; the end tells more than the beginning.
const LOG: u64 = 2 << 20;
/// For one question to the API server or to a node's init, which may be what is broken.
const LIMIT: Duration = Duration::from_secs(10);

/// What is asked of each node: the file to write, and the program that prints it inside the node. `busybox` is the component:
/// a machine may have no `ps`.
const QUESTIONS: &[(&str, &[&str])] = &[
    ("nvidia-smi.txt", &["nvidia-smi"]),
    ("nvidia-smi-L.txt", &["nvidia-smi", "-L"]),
    (
        "cdi.yaml",
        &[
            "sh",
            "-c",
            "for f in /run/cdi/*; do echo \"# $f\"; cat \"$f\"; done",
        ],
    ),
    (
        "driver-checkpoint.json",
        &[
            "cat",
            "/var/lib/kubelet/plugins/gpu.nvidia.com/checkpoint.json",
        ],
    ),
    (
        "capabilities.txt",
        &[
            "find",
            "/proc/driver/nvidia/capabilities",
            "-name",
            "access",
        ],
    ),
    ("containers.txt", &["ctr", "containers", "list"]),
    ("tasks.txt", &["ctr", "tasks", "list"]),
    (
        "processes.txt",
        &["busybox", "ps", "-o", "pid,ppid,stat,rss,args"],
    ),
    ("mounts.txt", &["cat", "/proc/self/mountinfo"]),
];

impl Running {
    /// Gathers what tells how the cluster is into `dir`: `logs/`, `objects/` and one folder per node below `nodes/`.
    ///
    /// # Errors
    /// Only when `dir` cannot be written; what cannot be had is listed in `missing.txt` there.
    pub async fn evidence(&self, dir: &Path) -> Result<()> {
        let mut all = Gathered::new(dir)?;
        all.logs("logs", &self.dir().join("logs"))?;
        let nodes = self.nodes();
        let busybox = self
            .programs()
            .path("busybox")?
            .to_string_lossy()
            .into_owned();
        let asked = futures::future::join_all(nodes.iter().map(|node| ask(node, &busybox)));
        let (objects, asked) = futures::future::join(self.objects(), asked).await;
        for (name, found) in objects {
            all.put(&format!("objects/{name}.yaml"), found)?;
        }
        for (node, answers) in nodes.iter().zip(asked) {
            let at = format!("nodes/{}", node.name());
            all.logs(&format!("{at}/logs"), &node.at.dir.join("logs"))?;
            all.put(&format!("{at}/machine.yaml"), machine(node))?;
            for ((file, _), answer) in QUESTIONS.iter().zip(answers) {
                all.put(&format!("{at}/{file}"), answer)?;
            }
        }
        all.finish()
    }

    /// Objects of all namespaces. No Secret and no ConfigMap: evidence is passed on to others.
    async fn objects(&self) -> Vec<(&'static str, Found)> {
        let client = self.client();
        let (nodes, pods, claims, slices, classes, events) = futures::join!(
            list::<k8s_openapi::api::core::v1::Node>(&client),
            list::<Pod>(&client),
            list::<ResourceClaim>(&client),
            list::<ResourceSlice>(&client),
            list::<DeviceClass>(&client),
            list::<Event>(&client),
        );
        let mut all = vec![
            ("nodes", nodes),
            ("pods", pods),
            ("resourceclaims", claims),
            ("resourceslices", slices),
            ("deviceclasses", classes),
            ("events", events),
        ];
        for (name, kind) in crate::kueue::KINDS {
            let api = self.any(crate::kueue::API, kind);
            if let Some(found) = of_kueue(api).await {
                all.push((name, found));
            }
        }
        all
    }
}

/// The text, or why there is none.
type Found = std::result::Result<String, String>;

async fn ask(node: &Node, busybox: &str) -> Vec<Found> {
    let answers = QUESTIONS.iter().map(|(_, argv)| async {
        let argv: Vec<&str> = argv
            .iter()
            .map(|word| if *word == "busybox" { busybox } else { word })
            .collect();
        match tokio::time::timeout(LIMIT, node.exec_with(&argv, "", LIMIT)).await {
            Err(_) => Err(format!("no answer within {} s", LIMIT.as_secs())),
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok(output)) if output.code == 0 || !output.stdout.is_empty() => Ok(output.stdout),
            Ok(Ok(output)) => Err(format!(
                "exit code {}: {}",
                output.code,
                output.stderr.trim()
            )),
        }
    });
    futures::future::join_all(answers).await
}

fn machine(node: &Node) -> Found {
    let machine = node.machine().map_err(|error| error.to_string())?;
    serde_yaml_ng::to_string(&machine).map_err(|error| error.to_string())
}

async fn list<K>(client: &kube::Client) -> Found
where
    K: Resource<DynamicType = ()> + Clone + Debug + Serialize + DeserializeOwned,
{
    let api: Api<K> = Api::all(client.clone());
    let everything = ListParams::default();
    let listed = tokio::time::timeout(LIMIT, api.list(&everything)).await;
    let listed = listed.map_err(|_| format!("no answer within {} s", LIMIT.as_secs()))?;
    let mut text = String::new();
    for mut object in listed.map_err(|error| error.to_string())? {
        // Who set which field when: long, and hardly ever what one looks for.
        object.meta_mut().managed_fields = None;
        text += "---\n";
        text += &manifest(&object)?;
    }
    Ok(text)
}

/// Objects of one of Kueue's kinds, where the API server has it.
async fn of_kueue(api: Result<Api<DynamicObject>>) -> Option<Found> {
    let (api, everything) = (api.ok()?, ListParams::default());
    let objects = match tokio::time::timeout(LIMIT, api.list(&everything)).await {
        Err(_) => return Some(Err(format!("no answer within {} s", LIMIT.as_secs()))),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => return None,
        Ok(Err(error)) => return Some(Err(error.to_string())),
        Ok(Ok(objects)) => objects,
    };
    let mut text = String::new();
    for mut object in objects {
        object.metadata.managed_fields = None;
        match serde_yaml_ng::to_string(&object) {
            Ok(one) => text += &format!("---\n{one}"),
            Err(error) => return Some(Err(error.to_string())),
        }
    }
    Some(Ok(text))
}

/// As one would write it: items of a list come without their kind.
fn manifest<K: Resource<DynamicType = ()> + Serialize>(object: &K) -> Found {
    let mut value = json!({"apiVersion": K::api_version(&()), "kind": K::kind(&())});
    let fields = serde_json::to_value(object).map_err(|error| error.to_string())?;
    if let (Some(all), Value::Object(fields)) = (value.as_object_mut(), fields) {
        all.extend(fields);
    }
    serde_yaml_ng::to_string(&value).map_err(|error| error.to_string())
}

/// A folder being filled, with a list of what it lacks.
struct Gathered {
    dir: PathBuf,
    missing: String,
}

impl Gathered {
    fn new(dir: &Path) -> Result<Self> {
        fs::create_dir_all(dir).map_err(Error::io("make", dir))?;
        Ok(Gathered {
            dir: dir.into(),
            missing: String::new(),
        })
    }

    fn put(&mut self, name: &str, found: Found) -> Result<()> {
        match found {
            Ok(text) => {
                let file = self.dir.join(name);
                if let Some(folder) = file.parent() {
                    fs::create_dir_all(folder).map_err(Error::io("make", folder))?;
                }
                fs::write(&file, text).map_err(Error::io("write", file))
            }
            Err(why) => {
                self.lacks(name, why);
                Ok(())
            }
        }
    }

    fn lacks(&mut self, name: &str, why: impl Display) {
        // Writing to a string does not fail.
        let _ = writeln!(self.missing, "{name}: {why}");
    }

    /// Copies each `*.log` of a folder, the last part of it when it is long.
    fn logs(&mut self, name: &str, from: &Path) -> Result<()> {
        let entries = match fs::read_dir(from) {
            Ok(entries) => entries,
            Err(error) => {
                self.lacks(name, error);
                return Ok(());
            }
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "log") {
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                self.put(
                    &format!("{name}/{file}"),
                    tail(&path, LOG).map_err(|error| error.to_string()),
                )?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<()> {
        if self.missing.is_empty() {
            return Ok(());
        }
        let file = self.dir.join("missing.txt");
        fs::write(&file, self.missing).map_err(Error::io("write", file))
    }
}

/// The last `most` bytes of a file, from the beginning of a line on, with a note of what was left out.
fn tail(path: &Path, most: u64) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(most);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    if start == 0 {
        return Ok(text.into_owned());
    }
    let whole = text.split_once('\n').map_or("", |(_, rest)| rest);
    Ok(format!(
        "[{} bytes before this are left out]\n{whole}",
        length - whole.len() as u64
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_is_cut_at_a_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let log = folder.path().join("x.log");
        fs::write(&log, "first line\nsecond\nthird\n").expect("written");
        assert_eq!(
            tail(&log, 100).expect("read"),
            "first line\nsecond\nthird\n"
        );
        assert_eq!(
            tail(&log, 10).expect("read"),
            "[18 bytes before this are left out]\nthird\n"
        );
    }

    #[test]
    fn what_is_missing_is_listed_and_the_rest_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let dir = folder.path().join("evidence");
        fs::write(folder.path().join("a.log"), "text").expect("written");
        fs::write(folder.path().join("key.pem"), "secret").expect("written");
        let mut all = Gathered::new(&dir).expect("made");
        all.logs("logs", folder.path()).expect("copied");
        all.logs("none", Path::new("/no/such")).expect("noted");
        all.put("nodes/n/cdi.yaml", Err("no answer".into()))
            .expect("noted");
        all.finish().expect("written");
        assert_eq!(
            fs::read_to_string(dir.join("logs/a.log")).expect("there"),
            "text"
        );
        assert_eq!(
            fs::read_dir(dir.join("logs")).expect("there").count(),
            1,
            "only logs are taken"
        );
        let missing = fs::read_to_string(dir.join("missing.txt")).expect("there");
        assert!(missing.contains("none: No such file"), "{missing}");
        assert!(missing.contains("nodes/n/cdi.yaml: no answer"), "{missing}");
    }

    #[test]
    fn an_object_is_written_with_its_kind() {
        let class = DeviceClass {
            metadata: kube::api::ObjectMeta {
                name: Some("mig".into()),
                ..Default::default()
            },
            ..Default::default()
        };
        let text = manifest(&class).expect("YAML");
        assert!(
            text.starts_with("apiVersion: resource.k8s.io/v1\n")
                || text.contains("kind: DeviceClass"),
            "{text}"
        );
        assert!(text.contains("name: mig"), "{text}");
    }
}
