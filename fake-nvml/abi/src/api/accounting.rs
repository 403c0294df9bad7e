//! Accounting: what processes have used since it was switched on.
//! Not what they use now (`processes`).
//! From the loads in the state that have run since then; the driver's buffer has room for as many processes as captures show.

use gpu_model::{Choice, Load, Now, Percent, Shape};

use crate::handle::Device;
use crate::macros::api;
use crate::out::{Out, OutArray, list};
use crate::status::{Result, Status};
use crate::types::{AccountingStats, AccountingStatsV2};
use crate::view::View;

/// Processes that the driver keeps (captures of A100, H100, L40S and T4).
const BUFFER: u32 = 4000;

/// The moment since which a GPU is accounted; NOT_SUPPORTED while it is not.
fn since(view: &View, device: Device) -> Result<gpu_model::Now> {
    view.state(view.whole(device)?)
        .chosen
        .accounting
        .ok_or(Status::NotSupported)
}

/// What a process has used.
struct Account {
    since: Now,
    /// Its end, or now.
    until: Now,
    /// In bytes.
    memory: u64,
    /// Mean use of the card.
    compute: Percent,
    running: bool,
}

impl Account {
    /// Milliseconds that the process has lasted, once it has ended.
    fn time(&self) -> u64 {
        if self.running {
            0
        } else {
            self.until.since(self.since) / 1000
        }
    }
}

/// The loads of processes that began since the GPU is accounted.
fn accounted(view: &View, device: Device) -> Result<impl Iterator<Item = (u32, &Load)>> {
    let since = since(view, device)?;
    let loads = view.state(view.whole(device)?).loads.iter();
    let accounted = loads.filter(move |load| load.since >= since && load.since <= view.now());
    Ok(accounted.filter_map(|load| Some((load.process.as_ref()?.pid.0, load))))
}

/// All loads of a process as one; NOT_FOUND if it is not accounted.
fn account(view: &View, device: Device, pid: u32) -> Result<Account> {
    let now = view.now();
    let mut sum: Option<Account> = None;
    for (_, load) in accounted(view, device)?.filter(|(of, _)| *of == pid) {
        let until = load.until.map_or(now, |until| until.min(now));
        let lasted = until.since(load.since).max(1);
        // Twice the area in hundredths of a percent.
        let mean =
            load.shape.area_twice(lasted) / u128::from(lasted) / 2 / u128::from(Shape::FULL / 100);
        let (memory, compute) = (
            load.memory.bytes(),
            Percent(u32::try_from(mean).unwrap_or(100).min(100)),
        );
        let running = load.runs(now);
        sum = Some(match sum {
            None => Account {
                since: load.since,
                until,
                memory,
                compute,
                running,
            },
            Some(known) => Account {
                since: known.since.min(load.since),
                until: known.until.max(until),
                memory: known.memory + memory,
                compute: Percent((known.compute.0 + compute.0).min(100)),
                running: known.running || running,
            },
        });
    }
    sum.ok_or(Status::NotFound)
}

api! {
    table ACCOUNTING;

    /// Whether processes are accounted.
    view fn nvmlDeviceGetAccountingMode(device: Device, mode: Out<u32>) |view| {
        mode.put(view.state(view.whole(device)?).chosen.accounting.is_some().into())
    }

    /// Switches accounting on or off; off forgets. NOT_SUPPORTED in MIG mode.
    session fn nvmlDeviceSetAccountingMode(device: Device, mode: u32) |session| {
        let on = super::policy::enabled(mode)?;
        super::clocks::choose(session, device, Choice::Accounting(on))
    }

    /// How many processes can be accounted.
    view fn nvmlDeviceGetAccountingBufferSize(device: Device, size: Out<u32>) |view| {
        view.whole(device)?;
        size.put(BUFFER)
    }

    /// Processes that are accounted.
    view fn nvmlDeviceGetAccountingPids(device: Device, count: Out<u32>, pids: OutArray<u32>) |view| {
        view.whole(device)?;
        count.check()?;
        let mut all: Vec<u32> = accounted(view, device)?.map(|(pid, _)| pid).collect();
        all.sort_unstable();
        all.dedup();
        list(&count, &pids, all.len() as u32, all.iter().copied())
    }

    /// What a process has used; NOT_FOUND if it is not accounted.
    view fn nvmlDeviceGetAccountingStats(device: Device, pid: u32, stats: Out<AccountingStats>) |view| {
        view.whole(device)?;
        stats.check()?;
        let account = account(view, device, pid)?;
        let time = account.time();
        let Account { since, memory, compute, running, .. } = account;
        stats.put(AccountingStats {
            gpu_utilization: compute.0,
            memory_utilization: compute.of_memory().0,
            max_memory_usage: memory,
            time,
            start_time: since.0,
            is_running: running.into(),
            reserved: [0; 5],
        })
    }

    /// `nvmlDeviceGetAccountingStats` with sums; the process is named in the struct.
    view fn nvmlDeviceGetAccountingStats_v2(device: Device, stats: Out<AccountingStatsV2>) |view| {
        view.whole(device)?;
        let pid = stats.get()?.pid;
        let account = account(view, device, pid)?;
        let time = account.time();
        let Account { since, memory, compute, running, .. } = account;
        stats.put(AccountingStatsV2 {
            pid,
            is_running: running.into(),
            gpu_utilization: compute.0,
            memory_utilization: compute.of_memory().0,
            max_memory_usage: memory,
            sample_count: 1,
            sum_gpu_util: compute.0.into(),
            sum_fb_util: compute.of_memory().0.into(),
            time,
            start_time: since.0,
        })
    }

    /// Forgets processes that have ended.
    session fn nvmlDeviceClearAccountingPids(device: Device) |session| { super::clocks::choose(session, device, Choice::ClearAccounting) }
}
