//! Numbers that the API sets (`resource/v1/types.go`, 1.37). `validate` holds objects against them.

/// Devices in one claim's allocation.
pub const RESULTS_PER_CLAIM: u64 = 32;
/// Devices in a slice.
pub const DEVICES_PER_SLICE: usize = 128;
/// Devices in a slice where one has taints, consumes counters or has list attributes.
pub const ADVANCED_DEVICES_PER_SLICE: usize = 64;
/// Counter sets in a slice.
pub const COUNTER_SETS_PER_SLICE: usize = 8;
/// Counters in a set, and in an entry of `consumesCounters`.
pub const COUNTERS_PER_SET: usize = 32;
/// Counter sets that one device draws on.
pub const COUNTER_SETS_PER_DEVICE: usize = 2;
/// Attributes and capacities of a device together.
pub const ATTRIBUTES_AND_CAPACITIES: usize = 32;
/// Values of a device's attributes; those of a list count one by one.
pub const ATTRIBUTE_VALUES: usize = 48;
/// Bytes of a text or version that is an attribute.
pub const ATTRIBUTE_BYTES: usize = 64;
/// Bytes of an attribute's or capacity's name without its domain.
pub const ID_BYTES: usize = 32;
/// Bytes of a driver's name, and of a domain.
pub const DRIVER_BYTES: usize = 63;
/// Bytes of a pool's name.
pub const POOL_BYTES: usize = 253;
/// Taints of a device.
pub const TAINTS_PER_DEVICE: usize = 16;
/// Binding conditions, and binding failure conditions, of a device.
pub const BINDING_CONDITIONS: usize = 4;
/// Compatibility groups of an entry.
pub const COMPATIBILITY_GROUPS: usize = 2;
/// Values that a request policy lists.
pub const POLICY_VALUES: usize = 10;
/// Requests, constraints and configurations of a claim, each, and the requests that one of these names.
pub const REQUESTS_PER_CLAIM: usize = 32;
/// Subrequests of a request.
pub const FIRST_AVAILABLE: usize = 8;
/// Selectors of a request or class, and derived attributes of a request.
pub const SELECTORS: usize = 32;
/// Bytes of configuration that only its driver understands.
pub const OPAQUE_BYTES: usize = 10 * 1024;
