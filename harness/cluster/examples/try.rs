//! Starts a cluster from hand-built programs, for work on this crate: `try DIR PROGRAMS [GPUS] [NODES]`.
use std::path::PathBuf;

fn main() {
    cluster::dispatch();
    let args: Vec<String> = std::env::args().collect();
    let nodes = args.get(4).and_then(|n| n.parse().ok()).unwrap_or(1);
    let spec = cluster::ClusterSpec {
        name: "try".into(),
        dir: PathBuf::from(&args[1]),
        nodes: (0..nodes)
            .map(|n| cluster::NodeShape {
                name: format!("node-{}", n + 1),
                gpus: args
                    .get(3)
                    .map_or("1xA100-SXM4-40GB", |g| g)
                    .parse()
                    .expect("cards"),
                mig: true,
            })
            .collect(),
        programs: cluster::Programs::from_dir(&PathBuf::from(&args[2])),
        exe: None,
        image_cache: None,
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("runtime");
    let code = runtime.block_on(async {
        match cluster::Cluster::start(spec, &|p: cluster::Progress| eprintln!("{p}")).await {
            Ok(running) => {
                eprintln!("export KUBECONFIG={}", running.kubeconfig().display());
                tokio::signal::ctrl_c().await.expect("signals");
                running.stop().await.map_or_else(
                    |e| {
                        eprintln!("{e}");
                        1
                    },
                    |()| 0,
                )
            }
            Err(e) => {
                eprintln!("error: {e}");
                e.exit_code()
            }
        }
    });
    std::process::exit(code)
}
