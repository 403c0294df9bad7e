//! `includes`, which asks a scalar and a list alike: a scalar includes itself, a list its members (KEP-5491).

use cel::common::types::{CelList, DYN_TYPE};
use cel::{DeclarationError, Env, ExecutionError};

use super::functions::boolean;
use super::sets::is_in;

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_member_overload(
        "includes",
        "dyn_includes_dyn",
        DYN_TYPE,
        vec![DYN_TYPE],
        |args| {
            let [this, wanted] = args.as_slice() else {
                return Err(ExecutionError::MissingArgumentOrTarget);
            };
            match this.downcast_ref::<CelList<'_>>() {
                Some(list) => boolean(is_in(list, wanted.as_ref())),
                None => boolean(this.equals(wanted.as_ref())),
            }
        },
    )
}
