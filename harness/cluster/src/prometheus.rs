//! Prometheus beside the control plane: it scrapes the real components of this cluster and evaluates rules that it is given.
//! Not the rules, nor what an alert means. Its answers are those of its own API.
//! Comes from the components `prometheus` and `promtool`; rules in, JSON of its API out.
use std::{
    ffi::OsString,
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    control_plane::{CONTROLLER_METRICS, SCHEDULER_METRICS, environment, path},
    error::{Error, Result},
    net,
    node::config::make,
    pki::{Authority, Subject},
    progress::Silent,
    rpc::{Launch, Output},
    running::{Running, first_ended},
    wait::{Look, Waiter},
};

/// Asks a server for a path, inside the cluster's namespaces: nothing that every machine has does.
pub(crate) const ROLE: &str = "__get";
const PROMETHEUS: &str = "prometheus";
const PROMTOOL: &str = "promtool";
/// In the cluster's own network namespace.
const LISTENS: &str = "127.0.0.1:9090";
const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(5);
/// How often the small ones are scraped and rules evaluated, and how often those whose metrics are long.
const OFTEN: &str = "1s";
const SELDOM: &str = "10s";
const KUBELET: u16 = 10250;

impl Running {
    /// Starts Prometheus with these files of rules, by name and text, anew where it runs. Returns when it is ready.
    ///
    /// # Errors
    /// Rules that it refuses, in its own words.
    pub async fn start_prometheus(&self, rules: &[(&str, String)]) -> Result<()> {
        self.stop_prometheus().await?;
        let launch = self.lay_prometheus(rules)?;
        self.init.start(launch).await?;
        let waiter = Waiter::new(&Silent);
        let ready = waiter.until("Prometheus to be ready", LIMIT, async || {
            first_ended(&self.init.programs().await?, "", "while it started")?;
            Ok(match self.fetch("/-/ready").await? {
                output if output.ok() => Look::Is(()),
                output => Look::NotYet(output.stderr),
            })
        });
        let Err(error) = ready.await else {
            return Ok(());
        };
        let _ = self.stop_prometheus().await;
        Err(match error {
            Error::ComponentEnded { tail, .. } => Error::Init {
                doing: "start Prometheus".into(),
                message: tail,
            },
            other => other,
        })
    }

    /// Ends it. Does nothing where it does not run.
    pub async fn stop_prometheus(&self) -> Result<()> {
        self.init.stop(PROMETHEUS, GRACE).await
    }

    /// What Prometheus' API says under this path, as `/api/v1/alerts`: its `data`.
    pub async fn ask_prometheus(&self, path: &str) -> Result<Value> {
        let refused = |message: String| Error::Init {
            doing: format!("ask Prometheus for {path}"),
            message,
        };
        let output = self.fetch(path).await?;
        if !output.ok() {
            return Err(refused(output.stderr));
        }
        let answer: Value =
            serde_json::from_str(&output.stdout).map_err(|e| refused(e.to_string()))?;
        match answer["status"].as_str() {
            Some("success") => Ok(answer["data"].clone()),
            _ => Err(refused(answer["error"].to_string())),
        }
    }

    /// Runs promtool on files, by name and text, that lie together in a folder: `check rules NAME`, `test rules NAME`.
    pub async fn promtool(&self, args: &[&str], files: &[(&str, String)]) -> Result<Output> {
        let folder = self.dir.join(PROMTOOL);
        make(&folder)?;
        for (name, text) in files {
            let file = folder.join(name);
            fs::write(&file, text).map_err(Error::io("write", &file))?;
        }
        let program = path(self.programs().path(PROMTOOL)?);
        let mut argv = vec![program];
        for arg in args {
            let file = files.iter().any(|(name, _)| name == arg);
            argv.push(if file {
                path(&folder.join(arg))
            } else {
                (*arg).to_owned()
            });
        }
        self.init.run(&argv, environment(), "", LIMIT).await
    }

    async fn fetch(&self, at: &str) -> Result<Output> {
        let argv = [
            path(&self.record().exe),
            ROLE.into(),
            LISTENS.into(),
            at.into(),
        ];
        self.init.run(&argv, environment(), "", LIMIT).await
    }

    fn lay_prometheus(&self, rules: &[(&str, String)]) -> Result<Launch> {
        let dir = self.dir.join(PROMETHEUS);
        make(&dir)?;
        let mut files = Vec::new();
        for (name, text) in rules {
            let file = dir.join(name);
            fs::write(&file, text).map_err(Error::io("write", &file))?;
            files.push(path(&file));
        }
        let authority = Authority::open(&self.dir.join("pki"))?;
        let user = Subject::user(PROMETHEUS, PROMETHEUS).group("system:masters");
        let identity = authority.issue(&user)?;
        let access = json!({
            "ca_file": authority.certificate(),
            "cert_file": identity.certificate,
            "key_file": identity.key
        });
        let job = |name: &str, every: &str, targets: Vec<(String, String)>| {
            let targets: Vec<Value> = targets
                .into_iter()
                .map(|(address, instance)| {
                    json!({"targets": [address], "labels": {"instance": instance}})
                })
                .collect();
            json!({
                "job_name": name, "scheme": "https", "scrape_interval": every,
                "tls_config": access, "static_configs": targets
            })
        };
        let local = |name: &str, every: &str, port: u16| {
            job(
                name,
                every,
                vec![(format!("127.0.0.1:{port}"), name.to_owned())],
            )
        };
        let kubelets = self.nodes().into_iter().map(|node| {
            let address = format!("{}:{KUBELET}", node.at.address());
            (address, node.name().to_owned())
        });
        let api_server = format!("{}:443", net::GATEWAY);
        let configuration = json!({
            "global": {"scrape_interval": OFTEN, "evaluation_interval": OFTEN},
            "rule_files": files,
            "scrape_configs": [
                local("kube-controller-manager", OFTEN, CONTROLLER_METRICS),
                local("kube-scheduler", OFTEN, SCHEDULER_METRICS),
                local("etcd", SELDOM, 2379),
                job("kube-apiserver", SELDOM, vec![(api_server, "kube-apiserver".into())]),
                job("kubelet", SELDOM, kubelets.collect()),
            ]
        });
        let file = dir.join("prometheus.yaml");
        fs::write(&file, format!("{configuration:#}\n")).map_err(Error::io("write", &file))?;
        let argv = [
            path(self.programs().path(PROMETHEUS)?),
            format!("--config.file={}", path(&file)),
            format!("--storage.tsdb.path={}", path(&dir.join("data"))),
            format!("--web.listen-address={LISTENS}"),
        ];
        Ok(Launch {
            name: PROMETHEUS.into(),
            argv: argv.into(),
            env: environment(),
            log: self.log(PROMETHEUS),
        })
    }
}

/// Prints what a server says to a request for a path; 1 where that is not what was asked for.
pub(crate) fn main(argv: &[OsString]) -> i32 {
    let word = |at: usize| argv.get(at).and_then(|it| it.to_str()).unwrap_or_default();
    match get(word(2), word(3)) {
        Ok(body) => {
            print!("{body}");
            0
        }
        Err(message) => {
            eprintln!("{message}");
            1
        }
    }
}

fn get(server: &str, path: &str) -> std::result::Result<String, String> {
    let mut answer = Vec::new();
    TcpStream::connect(server)
        .and_then(|mut stream| {
            stream.set_read_timeout(Some(Duration::from_secs(10)))?;
            // A request of this version is answered in one piece, and the connection ends with it.
            write!(stream, "GET {path} HTTP/1.0\r\nHost: {server}\r\n\r\n")?;
            stream.read_to_end(&mut answer)
        })
        .map_err(|error| format!("{server}: {error}"))?;
    body(&String::from_utf8_lossy(&answer))
}

fn body(answer: &str) -> std::result::Result<String, String> {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.lines().next().unwrap_or_default();
    match status.split_whitespace().nth(1) {
        Some("200") => Ok(body.to_owned()),
        _ => Err(format!("{status}: {body}")),
    }
}

#[cfg(test)]
mod tests {
    use super::body;

    #[test]
    fn only_what_was_asked_for_is_an_answer() {
        assert_eq!(
            body("HTTP/1.0 200 OK\r\nA: b\r\n\r\n{}\r\n\r\n"),
            Ok("{}\r\n\r\n".into())
        );
        let refusal = Err("HTTP/1.0 503 Service Unavailable: not yet".to_owned());
        assert_eq!(
            body("HTTP/1.0 503 Service Unavailable\r\n\r\nnot yet"),
            refusal
        );
        assert_eq!(body(""), Err(": ".into()));
    }
}
