//! Arguments of NVML calls through the real library: any version of a struct, any announced length, any count, any number. A call
//! never writes beyond what it was told there is, never panics inside, and knows a struct version or refuses it.
#![allow(unsafe_code)] // one environment variable, before any thread starts

use gpu_model::{Catalog, GpuIndex, Machine, NodeSpec, Op, Options, Outcome, ProfileId};
use gpu_store::Store;
use nvml_client::raw::{Arg, Called, Raw};
use nvml_record::{Getter, Param, getters};
use std::time::Duration;

const UNKNOWN: u32 = 999;

struct Client {
    library: Raw,
    handles: Vec<(&'static str, u64)>,
    _folder: tempfile::TempDir,
}

impl Client {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let built = std::env::current_exe()
            .expect("this program")
            .with_file_name("libnvidia_ml.so");
        let library = folder.path().join("libnvidia-ml.so.580.95.05");
        std::fs::copy(built, &library).expect("the library that cargo built for this");
        let catalog = Catalog::builtin();
        let cards: NodeSpec = "2xA100-SXM4-40GB".parse().expect("cards");
        let options = Options {
            mig: true,
            ..Options::default()
        };
        let machine = Machine::build(&cards.resolve(&catalog).expect("known"), &options);
        let store = Store::create(
            folder.path().join(gpu_store::file_name("580.95.05")),
            &machine,
        )
        .expect("a state");
        let gpu = GpuIndex(0);
        let made = store.apply(Op::CreateGpuInstance {
            gpu,
            profile: ProfileId(9),
            placement: None,
        });
        let Ok(Outcome::GpuInstance { id: gi, .. }) = made else {
            panic!("{made:?}")
        };
        store
            .apply(Op::CreateComputeInstance {
                gpu,
                gi,
                profile: ProfileId(2),
                placement: None,
            })
            .expect("room");
        // SAFETY: the only test of this program; no other thread reads the environment.
        unsafe { std::env::set_var(gpu_store::VISIBLE_ENV, "all") };
        let library = Raw::open(library.as_os_str()).expect("it loads");
        assert_eq!(
            library.call("nvmlInitWithFlags", &mut [Arg::Number(0)]),
            Ok(Called::Code(0))
        );
        let handle = |name: &str, before: &[u64], number: u32| {
            let mut args: Vec<Arg> = before.iter().map(|h| Arg::Number(*h)).collect();
            args.extend([Arg::Number(u64::from(number)), Arg::Bytes(vec![0; 8])]);
            assert_eq!(library.call(name, &mut args), Ok(Called::Code(0)), "{name}");
            match args.pop() {
                Some(Arg::Bytes(bytes)) => u64::from_ne_bytes(bytes.try_into().expect("a handle")),
                other => panic!("{other:?}"),
            }
        };
        let device = handle("nvmlDeviceGetHandleByIndex_v2", &[], 0);
        let mig = handle("nvmlDeviceGetMigDeviceHandleByIndex", &[device], 0);
        let instance = handle("nvmlDeviceGetGpuInstanceById", &[device], gi.0);
        let compute = handle("nvmlGpuInstanceGetComputeInstanceById", &[instance], 0);
        Self {
            library,
            handles: vec![
                ("gpu", device),
                ("mig", mig),
                ("gi", instance),
                ("ci", compute),
            ],
            _folder: folder,
        }
    }

    fn call(&self, getter: &Getter, bytes: &[u8]) {
        let mut input = bytes.iter().copied();
        let mut next = || input.next().unwrap_or(0);
        let mut args = Vec::new();
        if getter.on.iter().all(|kind| kind != "system") {
            let which = usize::from(next());
            // Mostly a handle that fits.
            let (_, handle) = match self
                .handles
                .iter()
                .filter(|(kind, _)| getter.on.iter().any(|on| on == kind))
                .nth(which % 4)
            {
                Some(fits) if which < 224 => *fits,
                _ => self.handles[which % self.handles.len()],
            };
            args.push(Arg::Number(if which > 250 {
                u64::from(next()) << 52
            } else {
                handle
            }));
        }
        for param in &getter.params {
            let number = next();
            match param {
                Param::In(_, values) => args.push(Arg::Number(match number {
                    250.. => u64::MAX,
                    240..250 => u64::from(number) << 24,
                    _ => values[usize::from(number) % values.len()] + u64::from(number / 200),
                })),
                Param::Peer => args.push(Arg::Number(self.handles[usize::from(number) % 4].1)),
                Param::Out(_, ty) => args.push(Arg::Bytes(vec![0xee; ty.size()])),
                Param::Text(room, true) => {
                    let length = usize::from(number) % (room + 1);
                    args.extend([Arg::Bytes(vec![0xee; length]), Arg::Number(length as u64)]);
                }
                Param::Text(room, false) => args.push(Arg::Bytes(vec![0xee; *room])),
                Param::Versioned(version, ty) => {
                    // Right, near, or anything: what is announced is what there is.
                    let size = match next() {
                        0..128 => ty.size(),
                        128..192 => ty.size().wrapping_add_signed(isize::from(next() as i8)),
                        _ => usize::from(next()) * 16,
                    };
                    let version = match number {
                        0..128 => *version,
                        128..192 => u32::from(number % 5),
                        _ => u32::from(number),
                    };
                    let mut room = (size as u32 & 0xff_ffff | version << 24)
                        .to_le_bytes()
                        .to_vec();
                    room.extend(
                        std::iter::repeat_with(&mut next).take(size.saturating_sub(4).min(1 << 20)),
                    );
                    args.push(Arg::Bytes(room));
                }
                Param::List(_, room, ty) => {
                    let count = usize::from(number) % (room + 1);
                    args.extend([
                        Arg::Bytes((count as u32).to_le_bytes().to_vec()),
                        Arg::Bytes(vec![0xee; count * ty.size()]),
                    ]);
                }
                Param::Listed(_, room, ty) => args.extend([
                    Arg::Bytes(vec![0xee; room * ty.size()]),
                    Arg::Bytes((*room as u32).to_le_bytes().to_vec()),
                ]),
                Param::Array(_, room, ty) => args.push(Arg::Bytes(vec![0xee; room * ty.size()])),
                Param::Fields(_) => {
                    let count = usize::from(number) % 4;
                    let fields = std::iter::repeat_with(&mut next).take(count * 40).collect();
                    args.extend([Arg::Number(count as u64), Arg::Bytes(fields)]);
                }
            }
        }
        let given = args.clone();
        match self.library.call(&getter.name, &mut args) {
            Ok(Called::Code(code)) => {
                assert_ne!(code, UNKNOWN, "{} panicked inside: {given:?}", getter.name)
            }
            Ok(Called::Absent) => {}
            other => panic!("{}: {other:?} of {given:?}", getter.name),
        }
    }
}

#[test]
fn arguments() {
    let client = Client::new();
    let all = getters();
    let versioned: Vec<&Getter> = all
        .iter()
        .filter(|getter| getter.version().is_some())
        .collect();
    assert!(versioned.len() >= 20, "{}", versioned.len());
    bolero::check!(name = "arguments")
        .with_test_time(Duration::from_millis(600))
        .with_max_len(128)
        .for_each(|bytes: &[u8]| {
            let [which, bytes @ ..] = bytes else { return };
            // Every second call goes to a function with a versioned struct.
            let getter = match bytes.split_first() {
                Some((second, _)) if which % 2 == 0 => {
                    &all[(usize::from(*which / 2) + usize::from(*second) * 128) % all.len()]
                }
                _ => versioned[usize::from(*which / 2) % versioned.len()],
            };
            client.call(getter, bytes.get(1..).unwrap_or_default());
        });
}
