//! The functions and operators that expressions may use, each with its types: `target.name(arguments): result`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::types::Ty;

/// One way to call a function.
#[derive(Debug)]
pub(super) struct Signature {
    /// The type of what stands before the point; none for a function that stands alone.
    pub(super) target: Option<Ty>,
    pub(super) args: Vec<Ty>,
    pub(super) result: Ty,
}

/// All of them by name.
pub(super) static SIGNATURES: LazyLock<BTreeMap<&'static str, Vec<Signature>>> =
    LazyLock::new(|| {
        let mut all: BTreeMap<&'static str, Vec<Signature>> = BTreeMap::new();
        for line in TABLE.lines().map(str::trim).filter(|line| !line.is_empty()) {
            if let Some((name, signature)) = parse(line) {
                all.entry(name).or_default().push(signature);
            }
        }
        all
    });

fn parse(line: &'static str) -> Option<(&'static str, Signature)> {
    let (call, result) = line.rsplit_once("): ")?;
    // A target may have brackets of its own.
    let (head, args) = match call.rsplit_once("::") {
        Some((target, call)) => {
            let (name, args) = call.split_once('(')?;
            ((Some(target), name), args)
        }
        None => {
            let (name, args) = call.split_once('(')?;
            ((None, name), args)
        }
    };
    let args = args
        .split("; ")
        .filter(|arg| !arg.is_empty())
        .map(Ty::parse)
        .collect();
    let signature = Signature {
        target: head.0.map(Ty::parse),
        args,
        result: Ty::parse(result),
    };
    Some((head.1, signature))
}

/// `target::name(argument; argument): result`, or without a target.
const TABLE: &str = "
    _==_(A; A): bool
    _!=_(A; A): bool
    !_(bool): bool
    @not_strictly_false(bool): bool
    _?_:_(bool; A; A): A
    -_(int): int
    -_(double): double
    _+_(int; int): int
    _+_(uint; uint): uint
    _+_(double; double): double
    _+_(string; string): string
    _+_(bytes; bytes): bytes
    _+_(list(A); list(A)): list(A)
    _+_(google.protobuf.Duration; google.protobuf.Duration): google.protobuf.Duration
    _+_(google.protobuf.Duration; google.protobuf.Timestamp): google.protobuf.Timestamp
    _+_(google.protobuf.Timestamp; google.protobuf.Duration): google.protobuf.Timestamp
    _-_(int; int): int
    _-_(uint; uint): uint
    _-_(double; double): double
    _-_(google.protobuf.Duration; google.protobuf.Duration): google.protobuf.Duration
    _-_(google.protobuf.Timestamp; google.protobuf.Duration): google.protobuf.Timestamp
    _-_(google.protobuf.Timestamp; google.protobuf.Timestamp): google.protobuf.Duration
    _*_(int; int): int
    _*_(uint; uint): uint
    _*_(double; double): double
    _/_(int; int): int
    _/_(uint; uint): uint
    _/_(double; double): double
    _%_(int; int): int
    _%_(uint; uint): uint
    @in(A; list(A)): bool
    @in(A; map(A,B)): bool
    _[_](list(A); int): A
    _[_](map(A,B); A): B
    _[_](optional(list(A)); int): optional(A)
    _[_](optional(map(A,B)); A): optional(B)
    _[?_](list(A); int): optional(A)
    _[?_](map(A,B); A): optional(B)
    _[?_](optional(list(A)); int): optional(A)
    _[?_](optional(map(A,B)); A): optional(B)
    size(string): int
    size(bytes): int
    size(list(A)): int
    size(map(A,B)): int
    string::size(): int
    bytes::size(): int
    list(A)::size(): int
    map(A,B)::size(): int
    string::contains(string): bool
    string::startsWith(string): bool
    string::endsWith(string): bool
    matches(string; string): bool
    string::matches(string): bool
    int(int): int
    int(uint): int
    int(double): int
    int(string): int
    int(google.protobuf.Duration): int
    int(google.protobuf.Timestamp): int
    uint(uint): uint
    uint(int): uint
    uint(double): uint
    uint(string): uint
    double(double): double
    double(int): double
    double(uint): double
    double(string): double
    string(string): string
    string(bool): string
    string(int): string
    string(uint): string
    string(double): string
    string(bytes): string
    string(google.protobuf.Duration): string
    string(google.protobuf.Timestamp): string
    bytes(bytes): bytes
    bytes(string): bytes
    bool(bool): bool
    bool(string): bool
    type(A): type
    dyn(A): dyn
    optional.of(A): optional(A)
    optional.none(): optional(A)
    optional.ofNonZeroValue(A): optional(A)
    optional(A)::hasValue(): bool
    optional(A)::value(): A
    optional(A)::or(optional(A)): optional(A)
    optional(A)::orValue(A): A
    string::charAt(int): string
    string::indexOf(string): int
    string::indexOf(string; int): int
    string::lastIndexOf(string): int
    string::lastIndexOf(string; int): int
    list(string)::join(): string
    list(string)::join(string): string
    string::lowerAscii(): string
    string::upperAscii(): string
    string::replace(string; string): string
    string::replace(string; string; int): string
    string::split(string): list(string)
    string::split(string; int): list(string)
    string::substring(int): string
    string::substring(int; int): string
    string::trim(): string
    string::format(list(dyn)): string
    strings.quote(string): string
    quantity(string): kubernetes.Quantity
    isQuantity(string): bool
    kubernetes.Quantity::isLessThan(kubernetes.Quantity): bool
    kubernetes.Quantity::isGreaterThan(kubernetes.Quantity): bool
    kubernetes.Quantity::compareTo(kubernetes.Quantity): int
    kubernetes.Quantity::asInteger(): int
    kubernetes.Quantity::isInteger(): bool
    kubernetes.Quantity::asApproximateFloat(): double
    kubernetes.Quantity::sign(): int
    kubernetes.Quantity::add(kubernetes.Quantity): kubernetes.Quantity
    kubernetes.Quantity::add(int): kubernetes.Quantity
    kubernetes.Quantity::sub(kubernetes.Quantity): kubernetes.Quantity
    kubernetes.Quantity::sub(int): kubernetes.Quantity
    semver(string): kubernetes.Semver
    semver(string; bool): kubernetes.Semver
    isSemver(string): bool
    isSemver(string; bool): bool
    kubernetes.Semver::isLessThan(kubernetes.Semver): bool
    kubernetes.Semver::isGreaterThan(kubernetes.Semver): bool
    kubernetes.Semver::compareTo(kubernetes.Semver): int
    kubernetes.Semver::major(): int
    kubernetes.Semver::minor(): int
    kubernetes.Semver::patch(): int
    dyn::includes(dyn): bool
    sets.contains(list(A); list(A)): bool
    sets.equivalent(list(A); list(A)): bool
    sets.intersects(list(A); list(A)): bool
    list(A)::indexOf(A): int
    list(A)::first(): optional(A)
    list(A)::last(): optional(A)
    @loop_over_two(list(A)): dyn
    @loop_over_two(map(A,B)): dyn
    list(A)::lastIndexOf(A): int
    list(A)::slice(int; int): list(A)
    list(A)::distinct(): list(A)
    list(A)::reverse(): list(A)
    list(A)::flatten(): list(dyn)
    list(A)::flatten(int): list(dyn)
    list(A)::sort(): list(A)
    list(A)::@sortByAssociatedKeys(list(B)): list(A)
    lists.range(int): list(int)
    string::find(string): string
    string::findAll(string): list(string)
    string::findAll(string; int): list(string)
    url(string): kubernetes.URL
    isURL(string): bool
    kubernetes.URL::getScheme(): string
    kubernetes.URL::getHost(): string
    kubernetes.URL::getHostname(): string
    kubernetes.URL::getPort(): string
    kubernetes.URL::getEscapedPath(): string
    kubernetes.URL::getQuery(): map(string,list(string))
    format.named(string): optional(kubernetes.NamedFormat)
    kubernetes.NamedFormat::validate(string): optional(list(string))
    format.dns1123Label(): kubernetes.NamedFormat
    format.dns1123Subdomain(): kubernetes.NamedFormat
    format.dns1035Label(): kubernetes.NamedFormat
    format.qualifiedName(): kubernetes.NamedFormat
    format.dns1123LabelPrefix(): kubernetes.NamedFormat
    format.dns1123SubdomainPrefix(): kubernetes.NamedFormat
    format.dns1035LabelPrefix(): kubernetes.NamedFormat
    format.labelValue(): kubernetes.NamedFormat
    format.uri(): kubernetes.NamedFormat
    format.uuid(): kubernetes.NamedFormat
    format.byte(): kubernetes.NamedFormat
    format.date(): kubernetes.NamedFormat
    format.datetime(): kubernetes.NamedFormat
    list(int)::isSorted(): bool
    list(int)::max(): int
    list(int)::min(): int
    list(uint)::isSorted(): bool
    list(uint)::max(): uint
    list(uint)::min(): uint
    list(double)::isSorted(): bool
    list(double)::max(): double
    list(double)::min(): double
    list(bool)::isSorted(): bool
    list(bool)::max(): bool
    list(bool)::min(): bool
    list(google.protobuf.Duration)::isSorted(): bool
    list(google.protobuf.Duration)::max(): google.protobuf.Duration
    list(google.protobuf.Duration)::min(): google.protobuf.Duration
    list(google.protobuf.Timestamp)::isSorted(): bool
    list(google.protobuf.Timestamp)::max(): google.protobuf.Timestamp
    list(google.protobuf.Timestamp)::min(): google.protobuf.Timestamp
    list(string)::isSorted(): bool
    list(string)::max(): string
    list(string)::min(): string
    list(bytes)::isSorted(): bool
    list(bytes)::max(): bytes
    list(bytes)::min(): bytes
    list(int)::sum(): int
    list(uint)::sum(): uint
    list(double)::sum(): double
    list(google.protobuf.Duration)::sum(): google.protobuf.Duration
    duration(string): google.protobuf.Duration
    duration(google.protobuf.Duration): google.protobuf.Duration
    timestamp(string): google.protobuf.Timestamp
    timestamp(int): google.protobuf.Timestamp
    timestamp(google.protobuf.Timestamp): google.protobuf.Timestamp
    google.protobuf.Timestamp::getFullYear(): int
    google.protobuf.Timestamp::getFullYear(string): int
    google.protobuf.Timestamp::getMonth(): int
    google.protobuf.Timestamp::getMonth(string): int
    google.protobuf.Timestamp::getDayOfYear(): int
    google.protobuf.Timestamp::getDayOfYear(string): int
    google.protobuf.Timestamp::getDayOfMonth(): int
    google.protobuf.Timestamp::getDayOfMonth(string): int
    google.protobuf.Timestamp::getDate(): int
    google.protobuf.Timestamp::getDate(string): int
    google.protobuf.Timestamp::getDayOfWeek(): int
    google.protobuf.Timestamp::getDayOfWeek(string): int
    google.protobuf.Timestamp::getHours(): int
    google.protobuf.Timestamp::getHours(string): int
    google.protobuf.Timestamp::getMinutes(): int
    google.protobuf.Timestamp::getMinutes(string): int
    google.protobuf.Timestamp::getSeconds(): int
    google.protobuf.Timestamp::getSeconds(string): int
    google.protobuf.Timestamp::getMilliseconds(): int
    google.protobuf.Timestamp::getMilliseconds(string): int
    google.protobuf.Duration::getHours(): int
    google.protobuf.Duration::getMinutes(): int
    google.protobuf.Duration::getSeconds(): int
    google.protobuf.Duration::getMilliseconds(): int
    ip(string): net.IP
    isIP(string): bool
    ip.isCanonical(string): bool
    string(net.IP): string
    net.IP::family(): int
    net.IP::isUnspecified(): bool
    net.IP::isLoopback(): bool
    net.IP::isLinkLocalMulticast(): bool
    net.IP::isLinkLocalUnicast(): bool
    net.IP::isGlobalUnicast(): bool
    cidr(string): net.CIDR
    isCIDR(string): bool
    string(net.CIDR): string
    net.CIDR::containsIP(string): bool
    net.CIDR::containsIP(net.IP): bool
    net.CIDR::containsCIDR(string): bool
    net.CIDR::containsCIDR(net.CIDR): bool
    net.CIDR::ip(): net.IP
    net.CIDR::masked(): net.CIDR
    net.CIDR::prefixLength(): int
";

/// Types that are compared by order; numbers of all types with each other.
pub(super) fn ordered(left: &Ty, right: &Ty) -> bool {
    const NUMBERS: [&str; 3] = ["int", "uint", "double"];
    const OTHERS: [&str; 5] = [
        "bool",
        "string",
        "bytes",
        "google.protobuf.Duration",
        "google.protobuf.Timestamp",
    ];
    let known = |ty: &Ty| match ty {
        Ty::Plain(name) => NUMBERS.contains(name) || OTHERS.contains(name),
        other => other.open(),
    };
    match (left, right) {
        (Ty::Plain(left), Ty::Plain(right)) => {
            (NUMBERS.contains(left) && NUMBERS.contains(right))
                || (left == right && OTHERS.contains(left))
        }
        _ => known(left) && known(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines = TABLE.lines().filter(|line| !line.trim().is_empty()).count();
        assert_eq!(SIGNATURES.values().map(Vec::len).sum::<usize>(), lines);
        let index = &SIGNATURES["_[_]"][1];
        assert_eq!(index.args[0], Ty::map(Ty::Var('A'), Ty::Var('B')));
        assert!(
            SIGNATURES["size"]
                .iter()
                .any(|s| s.target == Some(Ty::list(Ty::Var('A'))))
        );
    }
}
