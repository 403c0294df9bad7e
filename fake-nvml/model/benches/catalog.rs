//! How long model files take to read: one (what `fakegpu run` waits for) and all (what `fakegpu model list` waits for).
use gpu_model::{Catalog, Model};
use std::time::Instant;

fn main() {
    let start = Instant::now();
    let catalog = Catalog::builtin();
    let made = start.elapsed();
    let one = catalog.model("H100-SXM5-80GB").map(Model::name);
    let first = start.elapsed();
    let all = catalog.models().len();
    let every = start.elapsed();
    println!(
        "catalogue without reading any file  {:>8.3} ms",
        made.as_secs_f64() * 1e3
    );
    println!(
        "one model ({})       {:>8.3} ms",
        one.unwrap_or("none"),
        first.as_secs_f64() * 1e3
    );
    println!(
        "all {all} models                       {:>8.3} ms",
        every.as_secs_f64() * 1e3
    );
}
