//! Where in a text something stands, as people and editors count.

/// Line and column of a byte of the text, both from 1; a column is a character. Beyond the text it is the text's end.
pub fn line_and_column(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let of_line = before.rsplit('\n').next().unwrap_or_default();
    (line, of_line.chars().count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_columns_are_from_1_and_columns_are_characters() {
        let text = "a\nüb\n";
        let places = [0, 1, 2, 4, 5, 6].map(|byte| line_and_column(text, byte));
        assert_eq!(places, [(1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 1)]);
        assert_eq!(line_and_column(text, 100), (3, 1));
    }
}
