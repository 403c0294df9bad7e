//! An invoice as CSV: one row for each line, and nothing but lines.

use super::Invoice;

const HEAD: [&str; 25] = [
    "invoice",
    "kind",
    "reason",
    "tenant",
    "claim_uid",
    "claim",
    "device_class",
    "request",
    "pool",
    "card",
    "model",
    "device",
    "profile",
    "from",
    "until",
    "seconds",
    "share_seconds",
    "price",
    "currency",
    "list",
    "billed",
    "cost",
    "exactly",
    "estimated",
    "corrects",
];

impl Invoice {
    /// As CSV with a head.
    ///
    /// # Errors
    /// None that memory does not have.
    pub fn csv(&self) -> Result<String, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(HEAD)?;
        for line in &self.lines {
            let text = |it: &Option<String>| it.clone().unwrap_or_default();
            let price = super::text::price(line);
            writer.write_record([
                self.id.clone(),
                line.kind.word().to_owned(),
                text(&line.reason),
                text(&line.tenant),
                text(&line.claim_uid),
                text(&line.claim),
                text(&line.device_class),
                text(&line.request),
                line.card.pool.clone(),
                line.card.name.clone(),
                line.card.model.clone(),
                text(&line.device),
                text(&line.profile),
                line.span.from().to_string(),
                line.span.until().to_string(),
                line.seconds.to_string(),
                line.share_seconds.to_string(),
                price,
                self.currency.to_string(),
                line.list.to_string(),
                line.billed.to_string(),
                line.cost.to_string(),
                line.exactly.to_string(),
                line.estimated.join("; "),
                line.correction
                    .as_ref()
                    .map(|it| it.invoice.clone())
                    .unwrap_or_default(),
            ])?;
        }
        finished(writer)
    }
}

/// What a writer has written.
pub(crate) fn finished(writer: csv::Writer<Vec<u8>>) -> Result<String, csv::Error> {
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    // Only texts were written.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
