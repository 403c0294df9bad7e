//! An invoice as FOCUS, the FinOps Foundation's open cost and usage specification: version 1.2 with its 21 mandatory columns,
//! and 1.3 with the names of providers and the columns of split costs.
//! Not here: whether a file keeps the rules (`tests` holds those that we check).
//!
//! Amounts are those of the invoice to the last digit; quantities and unit prices, which may have no finite decimal, are
//! given with 12 digits. Rows that are shown and not invoiced have no billed cost. The ratios of a split have 18 digits and add
//! up to exactly 1 by largest remainder.

use std::collections::BTreeMap;

use crate::charge::{Line, LineKind};
use crate::entry::Card;
use crate::invoice::{Invoice, finished, what};
use crate::ratio::{Arithmetic, Ratio, Rounding, units_as_decimal};
use crate::split::{Share, SplitError, split};

/// A version of the specification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// Of May 2025.
    V1_2,
    /// Of December 2025.
    V1_3,
}

/// The 21 columns that version 1.2 calls mandatory, and whether a row may leave one empty.
pub const MANDATORY: [(&str, bool); 21] = [
    ("BilledCost", false),
    ("BillingAccountId", false),
    ("BillingAccountName", true),
    ("BillingCurrency", false),
    ("BillingPeriodEnd", false),
    ("BillingPeriodStart", false),
    ("ChargeCategory", false),
    ("ChargeClass", true),
    ("ChargeDescription", true),
    ("ChargePeriodEnd", false),
    ("ChargePeriodStart", false),
    ("ContractedCost", false),
    ("EffectiveCost", false),
    ("InvoiceIssuerName", false),
    ("ListCost", false),
    ("PricingQuantity", true),
    ("PricingUnit", true),
    ("ProviderName", false),
    ("PublisherName", false),
    ("ServiceCategory", false),
    ("ServiceName", false),
];

/// Digits of quantities and unit prices.
pub const DIGITS: u32 = 12;
/// Digits of the ratios of a split.
pub const RATIO_DIGITS: u32 = 18;

/// What cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FocusError {
    /// A number that does not fit.
    #[error(transparent)]
    Arithmetic(#[from] Arithmetic),
    /// A split over nothing.
    #[error(transparent)]
    Split(#[from] SplitError),
    /// The CSV writer.
    #[error("cannot write the FOCUS file: {0}")]
    Csv(#[from] csv::Error),
}

type Row = Vec<(&'static str, String)>;

/// The invoice as a CSV file of FOCUS.
///
/// # Errors
/// A number that does not fit.
pub fn focus(invoice: &Invoice, version: Version) -> Result<String, FocusError> {
    let ratios = match version {
        Version::V1_2 => BTreeMap::new(),
        Version::V1_3 => ratios(invoice)?,
    };
    let mut writer = csv::Writer::from_writer(Vec::new());
    let mut head = false;
    for (at, line) in invoice.lines.iter().enumerate() {
        let mut row = row(invoice, line)?;
        if version == Version::V1_3 {
            allocated(&mut row, invoice, line, ratios.get(&at).copied());
        }
        row.sort_by_key(|(name, _)| (name.starts_with("x_"), *name));
        if !head {
            writer.write_record(row.iter().map(|(name, _)| *name))?;
            head = true;
        }
        writer.write_record(row.iter().map(|(_, value)| value))?;
    }
    Ok(finished(writer)?)
}

fn row(invoice: &Invoice, line: &Line) -> Result<Row, FocusError> {
    let decimal = |ratio: Ratio| ratio.decimal(DIGITS, Rounding::HalfEven);
    let hours = line.priced_seconds.over(Ratio::whole(3600))?;
    let correction = line.correction.is_some();
    let invoiced = line.kind == LineKind::Sold && !line.showback;
    let zero = units_as_decimal(0, invoice.currency.digits());
    let billed = if invoiced {
        line.billed.to_string()
    } else {
        zero.clone()
    };
    // Shown and not invoiced: what it cost.
    let list = match (invoiced, line.showback) {
        (true, _) => line.list.to_string(),
        (false, true) => line.cost.to_string(),
        (false, false) => zero,
    };
    let contracted = if invoiced {
        billed.clone()
    } else {
        list.clone()
    };
    let after = line.hourly.times(Ratio::ONE.minus(line.discount)?)?;
    // A cap, a policy or a smallest need leave no price that a quantity could be multiplied with.
    let plain = !invoiced || after.times(hours)? == line.exactly;
    let unless = |empty: bool, text: String| if empty { String::new() } else { text };
    let (span, period) = (line.span, invoice.period);
    let owner = invoice.issuer.clone();
    let tenant = line.tenant.clone();
    let resource = line
        .claim_uid
        .clone()
        .unwrap_or_else(|| line.card.to_string());
    let sku = match &line.profile {
        Some(profile) => format!("{}/{profile}", line.card.model),
        None => line.card.model.clone(),
    };
    Ok(vec![
        ("BilledCost", billed),
        (
            "BillingAccountId",
            tenant.clone().unwrap_or_else(|| owner.clone()),
        ),
        (
            "BillingAccountName",
            tenant.clone().unwrap_or_else(|| owner.clone()),
        ),
        ("BillingCurrency", invoice.currency.to_string()),
        ("BillingPeriodStart", period.from().to_string()),
        ("BillingPeriodEnd", period.until().to_string()),
        ("ChargeCategory", "Usage".to_owned()),
        ("ChargeClass", unless(!correction, "Correction".to_owned())),
        (
            "ChargeDescription",
            format!("{}: {}", line.kind.word(), what(line)),
        ),
        ("ChargeFrequency", "Usage-Based".to_owned()),
        ("ChargePeriodStart", span.from().to_string()),
        ("ChargePeriodEnd", span.until().to_string()),
        (
            "ConsumedQuantity",
            unless(correction, line.seconds.to_string()),
        ),
        ("ConsumedUnit", unless(correction, "Seconds".to_owned())),
        ("ContractedCost", contracted.clone()),
        (
            "ContractedUnitPrice",
            unless(correction || !plain, decimal(after)?),
        ),
        ("EffectiveCost", contracted),
        ("InvoiceId", invoice.id.clone()),
        ("InvoiceIssuerName", owner.clone()),
        ("ListCost", list),
        ("ListUnitPrice", unless(correction, decimal(line.hourly)?)),
        (
            "PricingCategory",
            if line.spot { "Dynamic" } else { "Standard" }.to_owned(),
        ),
        ("PricingQuantity", unless(correction, decimal(hours)?)),
        ("PricingUnit", unless(correction, "Hours".to_owned())),
        ("ProviderName", owner.clone()),
        ("PublisherName", owner),
        ("ResourceId", resource),
        (
            "ResourceName",
            line.claim.clone().unwrap_or_else(|| line.card.to_string()),
        ),
        (
            "ResourceType",
            if line.claim_uid.is_some() {
                "ResourceClaim"
            } else {
                "GPU"
            }
            .to_owned(),
        ),
        ("ServiceCategory", "Compute".to_owned()),
        ("ServiceName", "GPU partitions".to_owned()),
        ("ServiceSubcategory", "Other (Compute)".to_owned()),
        ("SkuId", sku.clone()),
        ("SkuPriceId", format!("{sku}@{}", line.price)),
        ("SubAccountId", tenant.clone().unwrap_or_default()),
        ("SubAccountName", tenant.unwrap_or_default()),
        ("x_CardCost", line.cost.to_string()),
        ("x_CardName", line.card.to_string()),
        ("x_ClaimUid", line.claim_uid.clone().unwrap_or_default()),
        (
            "x_CorrectedInvoiceId",
            line.correction
                .as_ref()
                .map(|it| it.invoice.clone())
                .unwrap_or_default(),
        ),
        ("x_Kind", line.kind.word().to_owned()),
        ("x_MigProfile", line.profile.clone().unwrap_or_default()),
        ("x_QuotaUnit", invoice.weights.clone()),
        ("x_ShareSeconds", line.share_seconds.to_string()),
    ])
}

/// Each line's part of its card, in units of `10^-18`; those of a card add up to 1. Corrections are no part of one.
fn ratios(invoice: &Invoice) -> Result<BTreeMap<usize, i128>, FocusError> {
    let mut cards: BTreeMap<&Card, Vec<usize>> = BTreeMap::new();
    for (at, line) in invoice.lines.iter().enumerate() {
        if line.correction.is_none() && line.kind != LineKind::Administrative {
            cards.entry(&line.card).or_default().push(at);
        }
    }
    let mut all = BTreeMap::new();
    for lines in cards.into_values() {
        let ids: Vec<String> = lines
            .iter()
            .map(|at| {
                let line = &invoice.lines[*at];
                line.claim_uid
                    .clone()
                    .unwrap_or_else(|| format!("~{}", line.kind.word()))
            })
            .collect();
        let shares: Vec<Share<'_>> = lines
            .iter()
            .zip(&ids)
            .map(|(at, id)| Share {
                id,
                amount: invoice.lines[*at].share_seconds,
            })
            .collect();
        if shares.iter().all(|it| it.amount.is_zero()) {
            continue;
        }
        let parts = split(10_i128.pow(RATIO_DIGITS), &shares)?;
        all.extend(lines.into_iter().zip(parts));
    }
    Ok(all)
}

fn allocated(row: &mut Row, invoice: &Invoice, line: &Line, ratio: Option<i128>) {
    let details = ratio.map(|ratio| {
        let hours = line.share_seconds.hours(DIGITS).unwrap_or_default();
        let ratio = units_as_decimal(ratio, RATIO_DIGITS);
        // By hand, since a JSON number of 18 digits is not a floating point number.
        format!(r#"{{"Elements":[{{"AllocatedRatio":{ratio},"UsageUnit":"GPU Hours","UsageQuantity":{hours}}}]}}"#)
    });
    let card = line.card.to_string();
    let of = |text: &str| {
        if ratio.is_some() {
            text.to_owned()
        } else {
            String::new()
        }
    };
    row.extend([
        ("AllocatedMethodId", of("sliceproof/weight-seconds")),
        ("AllocatedMethodDetails", details.unwrap_or_default()),
        ("AllocatedResourceId", of(&card)),
        ("AllocatedResourceName", of(&card)),
        ("AllocatedTags", String::new()),
        ("HostProviderName", invoice.issuer.clone()),
        ("ServiceProviderName", invoice.issuer.clone()),
    ]);
}

#[cfg(test)]
mod tests;
