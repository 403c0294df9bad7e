//! The one shape that every exported function has.
//! Not the functions: those stand under `api`, by topic.
//! A C call comes in, the body decides, a return code goes out; no panic passes, and the name lands in a coverage table.

/// Functions with behaviour. The forms differ in what the body gets:
/// - `view fn nvmlX(args) |view| { … }`: needs init; the view is the state as this thread last saw it, renewed when it moved
/// - `session fn nvmlX(args) |session| { … }`: needs init; for calls that change the state or wait for it
/// - `free fn nvmlX(args) { … }`: works before init
/// - `text fn nvmlX(args) { … }`: works before init and returns a C string
///
/// `table NAME;` collects the names for `coverage`.
macro_rules! api {
    (table $table:ident; $($rest:tt)*) => {
        $crate::macros::api!(@names $table [] $($rest)*);
        $crate::macros::api!(@fns $($rest)*);
    };

    (@names $table:ident [$($names:expr,)*]
        $(#[$doc:meta])* $kind:ident fn $name:ident ($($args:tt)*) $(|$cx:ident|)? $body:block $($rest:tt)*) => {
        $crate::macros::api!(@names $table [$($names,)* stringify!($name),] $($rest)*);
    };
    (@names $table:ident [$($names:expr,)*]) => {
        /// The functions of this file that have behaviour.
        #[allow(dead_code, reason = "read by the coverage test")]
        pub(crate) const $table: &[&str] = &[$($names),*];
    };

    (@fns) => {};
    (@fns $(#[$doc:meta])* view fn $name:ident ($($arg:ident: $ty:ty),* $(,)?) |$cx:ident| $body:block $($rest:tt)*) => {
        $crate::macros::export! { [$(#[$doc])*] $name ($($arg: $ty),*) -> $crate::status::Return
            { $crate::boundary::with_view($crate::macros::calling!($name($($arg: $ty),*)), move |$cx: &$crate::view::View| -> $crate::status::Result { $body }) } }
        $crate::macros::api!(@fns $($rest)*);
    };
    (@fns $(#[$doc:meta])* session fn $name:ident ($($arg:ident: $ty:ty),* $(,)?) |$cx:ident| $body:block $($rest:tt)*) => {
        $crate::macros::export! { [$(#[$doc])*] $name ($($arg: $ty),*) -> $crate::status::Return
            { $crate::boundary::with_session($crate::macros::calling!($name($($arg: $ty),*)), move |$cx: &'static $crate::session::Session| -> $crate::status::Result { $body }) } }
        $crate::macros::api!(@fns $($rest)*);
    };
    (@fns $(#[$doc:meta])* free fn $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::macros::export! { [$(#[$doc])*] $name ($($arg: $ty),*) -> $crate::status::Return
            { $crate::boundary::free($crate::macros::calling!($name($($arg: $ty),*)), move || -> $crate::status::Result { $body }) } }
        $crate::macros::api!(@fns $($rest)*);
    };
    (@fns $(#[$doc:meta])* text fn $name:ident ($($arg:ident: $ty:ty),* $(,)?) $body:block $($rest:tt)*) => {
        $crate::macros::export! { [$(#[$doc])*] $name ($($arg: $ty),*) -> $crate::out::Text { $body } }
        $crate::macros::api!(@fns $($rest)*);
    };
}

/// A call as `boundary` hands it to `hooks`: a type of its own for each function, with a copy of the arguments, which costs nothing
/// where nobody looks.
macro_rules! calling {
    ($name:ident ($($arg:ident: $ty:ty),*)) => {{
        struct Calling { $($arg: $ty),* }

        impl $crate::boundary::Calling for Calling {
            const FUNCTION: &'static str = stringify!($name);

            fn show(&self, line: &mut $crate::hooks::Line) {
                let _ = &line;
                $($crate::hooks::Argument::show(&self.$arg, stringify!($arg), line);)*
            }
        }

        Calling { $($arg),* }
    }};
}

/// One exported C function.
macro_rules! export {
    ([$(#[$doc:meta])*] $name:ident ($($arg:ident: $ty:ty),*) -> $ret:ty $body:block) => {
        $(#[$doc])*
        ///
        /// # Safety
        /// Called from C: each pointer is NULL or valid for what nvml.h says about it.
        #[allow(non_snake_case, reason = "the name is the header's")]
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> $ret $body
    };
}

pub(crate) use {api, calling, export};
