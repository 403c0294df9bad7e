//! What `-d POWER,UTILIZATION,CLOCK` tell besides: the samples that the driver has kept, summed up behind the block they belong to.
//! Not in a whole report and not in XML, which have none of these blocks.
//! Blocks and lines are those of captures of drivers 545 and 580 (smi/tests/data/README.md).

use nvml_client::{Code, Device, Result, Sample, Sampled};

use super::Dialect;
use super::tree::Node;
use crate::value;

/// The samples behind a block.
pub(super) fn behind(block: &Node, gpu: &Device<'_>, dialect: Dialect) -> Vec<Node> {
    let blocks: &[(&'static str, Sampled, &'static str)] = match block.text() {
        "GPU Power Readings" => &[("Power Samples", Sampled::Power, "W")],
        "Utilization" => &[
            ("GPU Utilization Samples", Sampled::Gpu, "%"),
            ("Memory Utilization Samples", Sampled::Memory, "%"),
            ("ENC Utilization Samples", Sampled::Encoder, "%"),
            ("DEC Utilization Samples", Sampled::Decoder, "%"),
            // 545 has these two not.
            ("JPG Utilization Samples", Sampled::Jpeg, "%"),
            ("OFA Utilization Samples", Sampled::Ofa, "%"),
        ],
        "Max Customer Boost Clocks" => &[
            ("SM Clock Samples", Sampled::SmClock, "MHz"),
            ("Memory Clock Samples", Sampled::MemoryClock, "MHz"),
        ],
        _ => &[],
    };
    let known = |of| dialect.since(550) || !matches!(of, Sampled::Jpeg | Sampled::Ofa);
    blocks
        .iter()
        .filter(|(_, of, _)| known(*of))
        .map(|(name, of, unit)| summary(name, unit, gpu.samples(*of)))
        .collect()
}

/// How long, how many, and between what.
fn summary(name: &'static str, unit: &str, samples: Result<Vec<Sample>>) -> Node {
    let samples = match samples {
        // As good as the answer that there are none.
        Ok(samples) if samples.is_empty() => Err(Code::NOT_FOUND.text()),
        Ok(samples) => Ok(samples),
        Err(e) if e.code() == Some(Code::NOT_FOUND) => Err(e.text()),
        Err(e) => Err(value::missing(&e)),
    };
    let line = |name, show: &dyn Fn(&[Sample]) -> String| {
        let shown = samples
            .as_ref()
            .map_or_else(|word| (*word).to_owned(), |samples| show(samples));
        Node::value(name, "", shown)
    };
    let amount = |amount: Option<i64>| {
        let amount = amount.unwrap_or_default();
        if unit == "W" {
            format!("{} {unit}", value::watts(amount))
        } else {
            format!("{amount} {unit}")
        }
    };
    let of = |samples: &[Sample]| {
        samples
            .iter()
            .map(|sample| sample.value)
            .collect::<Vec<_>>()
    };
    Node::group(
        name,
        "",
        vec![
            line("Duration", &|samples| {
                let ends = samples.first().zip(samples.last());
                let microseconds = ends.map_or(0, |(first, last)| last.at.saturating_sub(first.at));
                let hundredths = microseconds / 10_000;
                format!("{}.{:02} sec", hundredths / 100, hundredths % 100)
            }),
            line("Number of Samples", &|samples| samples.len().to_string()),
            line("Max", &|samples| amount(of(samples).into_iter().max())),
            line("Min", &|samples| amount(of(samples).into_iter().min())),
            line("Avg", &|samples| {
                let values = of(samples);
                amount(values.iter().sum::<i64>().checked_div(values.len() as i64))
            }),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(block: &Node) -> Vec<&str> {
        let Node::Group { nodes, .. } = block else {
            panic!("{block:?}")
        };
        nodes
            .iter()
            .map(|node| match node {
                Node::Value { value, .. } => value.as_str(),
                Node::Group { .. } => panic!("{node:?}"),
            })
            .collect()
    }

    #[test]
    fn samples_are_summed_up() {
        let sample = |at, value| Sample { at, value };
        let kept = vec![
            sample(1_000_000, 68_927),
            sample(2_000_000, 70_000),
            sample(3_360_000, 400_000),
        ];
        let block = summary("Power Samples", "W", Ok(kept));
        assert_eq!(
            values(&block),
            ["2.36 sec", "3", "400.00 W", "68.92 W", "179.64 W"]
        );
        let block = summary("GPU Utilization Samples", "%", Ok(vec![sample(5, 40)]));
        assert_eq!(values(&block), ["0.00 sec", "1", "40 %", "40 %", "40 %"]);
    }

    #[test]
    fn without_samples_a_word_stands_on_each_line() {
        let answer = |code| nvml_client::Error::Call {
            function: "nvmlDeviceGetSamples",
            code,
        };
        for (got, word) in [
            (Ok(Vec::new()), "Not Found"),
            (Err(answer(Code::NOT_FOUND)), "Not Found"),
            (Err(answer(Code::NOT_SUPPORTED)), "N/A"),
        ] {
            assert_eq!(values(&summary("SM Clock Samples", "MHz", got)), [word; 5]);
        }
    }
}
