//! `sliceproof doctor`: what is wrong with how a cluster shares its GPUs, and what mends it.
//! Not here: how a cluster is asked (`live`) and what is right (crate `doctor`).
//! Objects come from the API server and from files; a text or JSON goes to standard output; a problem is exit code 1.

use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

use ::doctor::{Examined, Level, Seen, examine};
use k8s_openapi::api::core::v1::{Pod, ResourceQuota};
use oracle::counted;
use oracle::objects::Listed;
use scenario::Exit;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;
use crate::args::{DoctorArgs, Format};
use crate::live::Live;

/// The name and version of what `-o json` prints.
const FORMAT: &str = "sliceproof.doctor/1";

pub(crate) fn run(args: &DoctorArgs) -> Result<ExitCode, Error> {
    let files: Vec<Value> = args
        .machines
        .iter()
        .map(|file| manifests(file))
        .collect::<Result<Vec<_>, _>>()?
        .concat();
    let runtime = tokio::runtime::Runtime::new().map_err(Error::Runtime)?;
    let seen = runtime.block_on(async {
        let live = Live::open(&args.show.live).await?;
        see(&live, files).await
    })?;
    let examined = examine(&seen);
    let problems = examined.iter().any(Examined::has_problems);
    let text = match args.show.output {
        Format::Text => render(&examined),
        Format::Json => format!("{:#}\n", json!({ "format": FORMAT, "checks": examined })),
    };
    crate::say(&text)?;
    let exit = if problems { Exit::Failed } else { Exit::Passed };
    Ok(ExitCode::from(exit.code()))
}

/// Everything that the checks ask for. What a user may not read leaves out its check, not the others.
async fn see(live: &Live, files: Vec<Value>) -> Result<Seen, Error> {
    let server = live.server().await?;
    let (listed, pods, quotas, machines) = tokio::join!(
        live.listed(),
        live.list::<Pod>("Pods"),
        live.list::<ResourceQuota>("ResourceQuotas"),
        live.machines(),
    );
    let (served, listed) = match listed {
        Ok(listed) => (true, listed),
        Err(error) if error.is_not_served() => (false, Listed::default()),
        Err(error) => return Err(error),
    };
    let machines = match machines {
        Ok(machines) => Ok([machines, files].concat()),
        // What the files say can be checked all the same.
        Err(_) if !files.is_empty() => Ok(files),
        Err(error) => Err(error.to_string()),
    };
    Ok(Seen {
        server: server.version,
        gates: server.gates,
        gates_from: server.gates_from.to_string(),
        served,
        listed,
        pods: pods.map_err(|error| error.to_string()),
        quotas: quotas.map_err(|error| error.to_string()),
        machines,
    })
}

/// The objects of a file of YAML documents.
fn manifests(file: &Path) -> Result<Vec<Value>, Error> {
    let text = std::fs::read_to_string(file).map_err(|source| Error::Io {
        doing: "read",
        path: file.to_owned(),
        source,
    })?;
    let objects: Vec<Value> = serde_yaml_ng::Deserializer::from_str(&text)
        .map(Value::deserialize)
        .collect::<Result<_, _>>()
        .map_err(|error| Error::Manifest {
            path: file.to_owned(),
            why: error.to_string(),
        })?;
    let objects: Vec<Value> = objects.into_iter().filter(|it| !it.is_null()).collect();
    if objects.is_empty() || objects.iter().any(|object| !object["kind"].is_string()) {
        return Err(Error::Manifest {
            path: file.to_owned(),
            why: "not every document is an object with a kind".to_owned(),
        });
    }
    Ok(objects)
}

fn render(examined: &[Examined]) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    let mut count = [0_usize; 3];
    for one in examined {
        let mark = match one.findings.first().map(|finding| finding.level) {
            _ if one.left_out => "-",
            None | Some(Level::Note) => "ok",
            Some(Level::Warning) => "!",
            Some(Level::Problem) => "X",
        };
        let left_out = if one.left_out { "not looked at: " } else { "" };
        let _ = writeln!(
            text,
            "{mark:>2}  {}: {left_out}{}",
            one.check.name(),
            one.looked_at
        );
        for finding in &one.findings {
            let word = match finding.level {
                Level::Note => "note",
                Level::Warning => "warning",
                Level::Problem => "problem",
            };
            count[finding.level as usize] += 1;
            let _ = writeln!(
                text,
                "    {word}: {}: {}\n      mend: {}",
                finding.about, finding.what, finding.remedy
            );
        }
    }
    let [notes, warnings, problems] = count;
    let _ = writeln!(
        text,
        "\n{}, {}, {}",
        counted(problems, "problem"),
        counted(warnings, "warning"),
        counted(notes, "note")
    );
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests stop at the first surprise")]

    use super::*;
    use crate::live::captured::{a100, server};

    /// A captured cluster of one node with a card, as people read it.
    #[test]
    fn what_is_said_of_a_card() {
        let (listed, pods) = a100();
        let server = server();
        let seen = Seen {
            server: server.version,
            gates: server.gates,
            gates_from: server.gates_from.to_string(),
            served: true,
            listed,
            pods: Ok(pods),
            quotas: Err("cannot list the ResourceQuotas of cluster a100: forbidden".to_owned()),
            machines: Ok(Vec::new()),
        };
        insta::assert_snapshot!(render(&examine(&seen)));
    }

    #[test]
    fn files_hold_objects_or_are_refused_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pool.yaml");
        let read = |text: &str| {
            std::fs::write(&file, text).expect("written");
            manifests(&file).map_err(|error| error.to_string())
        };
        let pools = read("kind: MachineDeployment\n---\nkind: KubeadmConfigTemplate\n---\n");
        assert_eq!(pools.map(|all| all.len()), Ok(2));
        for bad in ["", "just text", "- a\n- b\n", "kind: [", "metadata: {}"] {
            let error = read(bad).expect_err(bad);
            assert!(error.contains("pool.yaml"), "{error}");
        }
    }
}
