//! Metrics that are told from outside the cluster: an API server of ours for external.metrics.k8s.io, as the controller manager's
//! autoscaler asks it, and its place among the cluster's APIs. Not where numbers come from: whoever starts it says them.
//! A file with numbers in, answers of the aggregated API out.
use std::{
    collections::BTreeMap,
    convert::Infallible,
    fs,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use http_body_util::Full;
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use k8s_openapi::ByteString;
use kube::api::DeleteParams;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    },
};

use crate::{
    control_plane::{environment, path},
    error::{Error, Result},
    node::config::make,
    pki::{Authority, Subject},
    progress::Silent,
    rpc::Launch,
    running::{Running, first_ended},
    wait::{Look, Waiter},
};

pub(crate) const ROLE: &str = "__external-metrics";
const NAME: &str = "external-metrics";
const NAMESPACE: &str = "kube-system";
const GROUP: &str = "external.metrics.k8s.io";
const VERSION: &str = "v1beta1";
/// In the cluster's own network namespace.
const PORT: u16 = 6443;
const LIMIT: Duration = Duration::from_secs(60);
const GRACE: Duration = Duration::from_secs(2);

/// What the server is started with.
#[derive(Debug, Serialize, Deserialize)]
struct Served {
    certificate: PathBuf,
    key: PathBuf,
    /// Numbers by name of the metric.
    values: PathBuf,
}

impl Running {
    /// Says these metrics from now on, to whoever asks in any namespace. Returns when the API server passes them on.
    pub async fn say_metrics(&self, values: &BTreeMap<String, i64>) -> Result<()> {
        let dir = self.dir.join(NAME);
        make(&dir)?;
        let file = dir.join("values.json");
        let new = dir.join("values.json.new");
        let text = serde_json::to_string(values).unwrap_or_default();
        fs::write(&new, text)
            .and_then(|()| fs::rename(&new, &file))
            .map_err(Error::io("write", &file))?;
        let programs = self.init.programs().await?;
        if programs
            .iter()
            .any(|it| it.name == NAME && it.ended.is_none())
        {
            return Ok(());
        }
        let launch = self.lay_metrics(&dir, file)?;
        self.init.start(launch).await?;
        for object in self.metrics_objects()? {
            self.send(&object).await?;
        }
        let waiter = Waiter::new(&Silent);
        waiter
            .until("the API of external metrics", LIMIT, async || {
                first_ended(&self.init.programs().await?, "", "while it started")?;
                let request = http::Request::get(format!("/apis/{GROUP}/{VERSION}"));
                let request = request.body(vec![]).unwrap_or_default();
                Ok(match self.client.request_text(request).await {
                    Ok(_) => Look::Is(()),
                    Err(error) => Look::NotYet(error.to_string()),
                })
            })
            .await
    }

    /// Ends it, and takes its API away.
    pub async fn stop_metrics(&self) -> Result<()> {
        let apis = self.any("apiregistration.k8s.io/v1", "APIService")?;
        let name = format!("{VERSION}.{GROUP}");
        match apis.delete(&name, &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => drop(other.map_err(Error::kube(format!("delete APIService {name}")))?),
        }
        self.init.stop(NAME, GRACE).await
    }

    fn lay_metrics(&self, dir: &Path, values: PathBuf) -> Result<Launch> {
        let authority = Authority::open(&self.dir.join("pki"))?;
        let host = format!("{NAME}.{NAMESPACE}.svc");
        let subject = Subject::user(NAME, NAME).serves(&[&host], &[]);
        let identity = authority.issue(&subject)?;
        let served = Served {
            certificate: identity.certificate,
            key: identity.key,
            values,
        };
        let file = dir.join("served.json");
        let text = serde_json::to_string_pretty(&served).unwrap_or_default();
        fs::write(&file, text).map_err(Error::io("write", &file))?;
        Ok(Launch {
            name: NAME.into(),
            argv: vec![path(&self.record().exe), ROLE.into(), path(&file)],
            env: environment(),
            log: self.log(NAME),
        })
    }

    fn metrics_objects(&self) -> Result<[Value; 2]> {
        let ca = self.dir.join("pki/ca.crt");
        let ca = ByteString(fs::read(&ca).map_err(Error::io("read", &ca))?);
        Ok([
            // Nobody translates addresses of Services here; the API server goes to one of this type by its name.
            json!({
                "apiVersion": "v1", "kind": "Service",
                "metadata": {"name": NAME, "namespace": NAMESPACE},
                "spec": {"type": "ExternalName", "externalName": "localhost"}
            }),
            json!({
                "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
                "metadata": {"name": format!("{VERSION}.{GROUP}")},
                "spec": {
                    "group": GROUP, "version": VERSION,
                    "groupPriorityMinimum": 100, "versionPriority": 100,
                    "service": {"name": NAME, "namespace": NAMESPACE, "port": PORT},
                    "caBundle": ca
                }
            }),
        ])
    }
}

/// The server, a process of its own.
pub(crate) fn main(file: &Path) -> i32 {
    let served = fs::read_to_string(file)
        .map_err(|e| e.to_string())
        .and_then(|text| serde_json::from_str(&text).map_err(|e| e.to_string()));
    let done = served.and_then(|served: Served| {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.map_err(|e| e.to_string())?.block_on(serve(served))
    });
    match done {
        Ok(()) => 0,
        Err(message) => {
            eprintln!("external metrics: {message}");
            1
        }
    }
}

async fn serve(served: Served) -> std::result::Result<(), String> {
    let certificate = CertificateDer::from_pem_file(&served.certificate);
    let certificate = certificate.map_err(|e| e.to_string())?;
    let key = PrivateKeyDer::from_pem_file(&served.key).map_err(|e| e.to_string())?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .map_err(|e| e.to_string())?;
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let listener = tokio::net::TcpListener::bind(at).await;
    let listener = listener.map_err(|e| format!("cannot listen on {at}: {e}"))?;
    let values = Arc::new(served.values);
    loop {
        let (stream, _) = listener.accept().await.map_err(|e| e.to_string())?;
        let (acceptor, values) = (acceptor.clone(), Arc::clone(&values));
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let service = service_fn(move |request: Request<Incoming>| {
                let values = Arc::clone(&values);
                async move { Ok::<_, Infallible>(answer(request.uri().path(), &values)) }
            });
            let connection = hyper::server::conn::http1::Builder::new();
            let _ = connection
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

fn answer(asked: &str, values: &Path) -> Response<Full<Bytes>> {
    let values = fs::read_to_string(values).unwrap_or_default();
    let values: BTreeMap<String, i64> = serde_json::from_str(&values).unwrap_or_default();
    let now = k8s_openapi::jiff::Timestamp::now();
    let (code, body) = said(asked, &values, &now.to_string());
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = code;
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    response
}

/// Status and object for a path.
fn said(asked: &str, values: &BTreeMap<String, i64>, now: &str) -> (http::StatusCode, Value) {
    let base = format!("/apis/{GROUP}/{VERSION}");
    let version = format!("{GROUP}/{VERSION}");
    if asked.trim_end_matches('/') == base {
        let resources: Vec<Value> = values
            .keys()
            .map(|name| {
                json!({"name": name, "singularName": "", "namespaced": true,
                    "kind": "ExternalMetricValueList", "verbs": ["get"]})
            })
            .collect();
        let list = json!({"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": version, "resources": resources});
        return (http::StatusCode::OK, list);
    }
    let metric = asked
        .strip_prefix(&format!("{base}/namespaces/"))
        .and_then(|rest| rest.split_once('/'))
        .map(|(_, metric)| metric);
    match metric.and_then(|metric| Some((metric, values.get(metric)?))) {
        Some((metric, value)) => {
            let list = json!({
                "kind": "ExternalMetricValueList", "apiVersion": version, "metadata": {},
                "items": [{"metricName": metric, "metricLabels": {}, "timestamp": now, "value": value.to_string()}]
            });
            (http::StatusCode::OK, list)
        }
        None => {
            let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "reason": "NotFound", "code": 404, "message": format!("nothing is told of {asked}")});
            (http::StatusCode::NOT_FOUND, status)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_listed_and_what_is_not_told_is_not_there() {
        let values = BTreeMap::from([("requests-waiting".to_owned(), 3)]);
        let ask = |path: &str| said(path, &values, "2026-11-30T08:00:00Z");
        let base = "/apis/external.metrics.k8s.io/v1beta1";
        let (code, list) = ask(base);
        assert_eq!(
            (code.as_u16(), &list["resources"][0]["name"]),
            (200, &json!("requests-waiting"))
        );
        let (code, list) = ask(&format!("{base}/namespaces/any/requests-waiting"));
        assert_eq!(code.as_u16(), 200);
        assert_eq!(
            list["items"],
            json!([{"metricName": "requests-waiting", "metricLabels": {}, "timestamp": "2026-11-30T08:00:00Z", "value": "3"}])
        );
        for other in [
            format!("{base}/namespaces/any/other"),
            "/openapi/v3".to_owned(),
        ] {
            assert_eq!(ask(&other).0.as_u16(), 404, "{other}");
        }
    }
}
