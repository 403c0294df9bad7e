//! What NVML says on a machine, written down; and where the fake GPU says something else.
//! Not here: the command line (`fakegpu record`, `fakegpu compare`) and the calls into C (`nvml_client::raw`, which lets getters pass
//! and nothing else).
//! In: a library, or a recording. Out: a [`Recording`], a model file, a [`Report`].
#![forbid(unsafe_code)]

mod ask;
mod compare;
mod fake;
mod getters;
mod layout;
mod model_file;
mod recording;
mod target;
mod varies;
mod walk;
mod worker;

pub use ask::{Process, Reply, Request, Wire};
pub use compare::{Difference, Report, compare};
pub use fake::{Fake, FakeError, nearest};
pub use getters::{Getter, Param, getters};
pub use layout::Type;
pub use model_file::model_file;
pub use recording::{Call, FORMAT, Failure, Origin, OriginKind, Recording, RecordingError};
pub use target::Target;
pub use varies::{Class, Varies, VariesError};
pub use walk::{Options, walk};
pub use worker::{WORKER_ARG, work};
