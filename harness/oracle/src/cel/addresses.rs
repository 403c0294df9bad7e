//! Addresses in CEL, as Kubernetes has them: `ip("10.0.0.1").family()`, `cidr("10.0.0.0/8").containsIP(...)`.

use std::any::Any;
use std::net::IpAddr;

use cel::common::types::{CelString, STRING_TYPE, Type};
use cel::common::value::{CowVal, StaticVal, Val};
use cel::{DeclarationError, Env, ExecutionError};

use super::functions::{argument, boolean, integer, text};

static IP: Type = Type::new_unspecified_type("net.IP");
static CIDR: Type = Type::new_unspecified_type("net.CIDR");

/// An address.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ip(IpAddr);

/// A network: an address, whose last bits need not be zero, and how many of its first bits count.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cidr(IpAddr, u8);

macro_rules! value {
    ($name:ident, $ty:ident) => {
        impl Val for $name {
            fn get_type(&self) -> &Type {
                <Self as Val>::cel_type()
            }
            fn cel_type() -> &'static Type {
                &$ty
            }
            fn equals(&self, other: &dyn Val) -> bool {
                other
                    .downcast_ref::<$name>()
                    .is_some_and(|other| other == self)
            }
            fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
                Box::new(*self)
            }
            fn as_any(&self) -> Option<&dyn Any> {
                Some(self)
            }
        }
        impl StaticVal for $name {}
    };
}
value!(Ip, IP);
value!(Cidr, CIDR);

/// No zones, and none of the sixth version that stand for one of the fourth.
fn address(text: &str) -> Result<IpAddr, String> {
    match text.parse() {
        Ok(IpAddr::V6(six)) if six.to_ipv4_mapped().is_some() => {
            Err(format!("{text:?} is an address of IPv4 within IPv6"))
        }
        Ok(address) => Ok(address),
        Err(_) => Err(format!("{text:?} is no address")),
    }
}

fn bits(address: IpAddr) -> u128 {
    match address {
        // Both kinds are counted from the first bit.
        IpAddr::V4(four) => u128::from(four.to_bits()) << 96,
        IpAddr::V6(six) => six.to_bits(),
    }
}

fn longest(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length)).unwrap_or(0)
}

impl Cidr {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no network, as 10.0.0.0/8 is");
        let (of, length) = text.split_once('/').ok_or_else(wrong)?;
        let address = address(of)?;
        let plain = length.bytes().all(|byte| byte.is_ascii_digit())
            && (length == "0" || !length.starts_with('0'));
        match length.parse() {
            Ok(length) if plain && length <= longest(address) => Ok(Cidr(address, length)),
            _ => Err(wrong()),
        }
    }

    fn contains(self, address: IpAddr) -> bool {
        self.0.is_ipv4() == address.is_ipv4()
            && bits(self.0) & mask(self.1) == bits(address) & mask(self.1)
    }

    fn masked(self) -> Self {
        let masked = bits(self.0) & mask(self.1);
        let first = match self.0 {
            IpAddr::V4(_) => IpAddr::V4(u32::try_from(masked >> 96).unwrap_or(0).into()),
            IpAddr::V6(_) => IpAddr::V6(masked.into()),
        };
        Cidr(first, self.1)
    }
}

/// To all networks: neither of one machine or link, nor to many.
fn is_global_unicast(address: IpAddr) -> bool {
    let everybody = address == IpAddr::from([255, 255, 255, 255]);
    !(everybody
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}

fn is_link_local_unicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.is_link_local(),
        IpAddr::V6(six) => six.segments()[0] & 0xffc0 == 0xfe80,
    }
}

fn is_link_local_multicast(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => four.octets()[..3] == [224, 0, 0],
        IpAddr::V6(six) => six.segments()[0] & 0xff0f == 0xff02,
    }
}

fn this(args: &[CowVal<'_, '_>]) -> Result<IpAddr, ExecutionError> {
    argument::<Ip>(args, 0).map(|ip| ip.0)
}

fn network(args: &[CowVal<'_, '_>], at: usize) -> Result<Cidr, ExecutionError> {
    argument::<Cidr>(args, at).copied()
}

fn wrong(function: &'static str) -> impl Fn(String) -> ExecutionError {
    move |why| ExecutionError::function_error(function, why)
}

pub(super) fn declare(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_type(IP.to_owned())?;
    env.add_type(CIDR.to_owned())?;
    addresses(env)?;
    networks(env)
}

fn addresses(env: &mut Env) -> Result<(), DeclarationError> {
    let of_text = || vec![STRING_TYPE];
    env.add_overload("ip", "string_to_ip", of_text(), |args| {
        Ok(CowVal::owned(Ip(
            address(text(&args, 0)?).map_err(wrong("ip"))?
        )))
    })?;
    env.add_overload("isIP", "is_ip", of_text(), |args| {
        boolean(address(text(&args, 0)?).is_ok())
    })?;
    env.add_overload("ip.isCanonical", "ip_is_canonical", of_text(), |args| {
        let text = text(&args, 0)?;
        let address = address(text).map_err(wrong("ip.isCanonical"))?;
        boolean(address.to_string() == text)
    })?;
    env.add_overload("string", "ip_to_string", vec![IP.to_owned()], |args| {
        Ok(CowVal::owned(CelString::from(this(&args)?.to_string())))
    })?;
    let member = |env: &mut Env, name: &str, id: &str, function| {
        env.add_member_overload(name, id, IP.to_owned(), vec![], function)
    };
    member(env, "family", "ip_family", |args| {
        integer(if this(&args)?.is_ipv4() { 4 } else { 6 })
    })?;
    member(env, "isUnspecified", "ip_is_unspecified", |args| {
        boolean(this(&args)?.is_unspecified())
    })?;
    member(env, "isLoopback", "ip_is_loopback", |args| {
        boolean(this(&args)?.is_loopback())
    })?;
    member(
        env,
        "isLinkLocalMulticast",
        "ip_is_link_local_multicast",
        |args| boolean(is_link_local_multicast(this(&args)?)),
    )?;
    member(
        env,
        "isLinkLocalUnicast",
        "ip_is_link_local_unicast",
        |args| boolean(is_link_local_unicast(this(&args)?)),
    )?;
    member(env, "isGlobalUnicast", "ip_is_global_unicast", |args| {
        boolean(is_global_unicast(this(&args)?))
    })
}

fn networks(env: &mut Env) -> Result<(), DeclarationError> {
    env.add_overload("cidr", "string_to_cidr", vec![STRING_TYPE], |args| {
        Ok(CowVal::owned(
            Cidr::parse(text(&args, 0)?).map_err(wrong("cidr"))?,
        ))
    })?;
    env.add_overload("isCIDR", "is_cidr", vec![STRING_TYPE], |args| {
        boolean(Cidr::parse(text(&args, 0)?).is_ok())
    })?;
    env.add_overload("string", "cidr_to_string", vec![CIDR.to_owned()], |args| {
        let Cidr(address, length) = network(&args, 0)?;
        Ok(CowVal::owned(CelString::from(format!(
            "{address}/{length}"
        ))))
    })?;
    let member = |env: &mut Env, name: &str, id: &str, args: Vec<Type>, function| {
        env.add_member_overload(name, id, CIDR.to_owned(), args, function)
    };
    member(
        env,
        "containsIP",
        "cidr_contains_ip_string",
        vec![STRING_TYPE],
        |args| {
            let address = address(text(&args, 1)?).map_err(wrong("containsIP"))?;
            boolean(network(&args, 0)?.contains(address))
        },
    )?;
    member(
        env,
        "containsIP",
        "cidr_contains_ip_ip",
        vec![IP.to_owned()],
        |args| {
            let address = argument::<Ip>(&args, 1)?.0;
            boolean(network(&args, 0)?.contains(address))
        },
    )?;
    member(
        env,
        "containsCIDR",
        "cidr_contains_cidr_string",
        vec![STRING_TYPE],
        |args| {
            let inner = Cidr::parse(text(&args, 1)?).map_err(wrong("containsCIDR"))?;
            let outer = network(&args, 0)?;
            boolean(outer.1 <= inner.1 && outer.contains(inner.0))
        },
    )?;
    member(
        env,
        "containsCIDR",
        "cidr_contains_cidr",
        vec![CIDR.to_owned()],
        |args| {
            let (outer, inner) = (network(&args, 0)?, network(&args, 1)?);
            boolean(outer.1 <= inner.1 && outer.contains(inner.0))
        },
    )?;
    member(env, "ip", "cidr_ip", vec![], |args| {
        Ok(CowVal::owned(Ip(network(&args, 0)?.0)))
    })?;
    member(env, "masked", "cidr_masked", vec![], |args| {
        Ok(CowVal::owned(network(&args, 0)?.masked()))
    })?;
    member(env, "prefixLength", "cidr_prefix_length", vec![], |args| {
        integer(network(&args, 0)?.1.into())
    })
}
