//! SHA-256, of files and of the inputs of a build.
//! Not a security boundary: apt and Go's checksum database vouch for what is fetched.
//! Bytes come from files and from the lock; hex strings go into cache names and manifests.

use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

/// Digest over named inputs. Each is framed by its length, so no two lists of inputs look alike.
#[derive(Default)]
pub(crate) struct Inputs(Sha256);

impl Inputs {
    pub(crate) fn add(mut self, name: &str, value: &str) -> Self {
        for part in [name, value] {
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
        self
    }

    pub(crate) fn add_all<'a>(
        self,
        name: &str,
        values: impl IntoIterator<Item = &'a String>,
    ) -> Self {
        let list: Vec<&String> = values.into_iter().collect();
        let counted = self.add(name, &list.len().to_string());
        list.into_iter()
            .fold(counted, |inputs, value| inputs.add(name, value))
    }

    /// Files of our own. None at all leaves the digest as it was before there were any.
    pub(crate) fn add_own(self, files: &[(String, String)]) -> Self {
        files
            .iter()
            .fold(self, |inputs, (name, text)| inputs.add(name, text))
    }

    pub(crate) fn hex(self) -> String {
        hex(&self.0.finalize())
    }
}

/// SHA-256 of a file's content, as hex.
pub(crate) fn of_file(path: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(path)?;
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 1 << 18]);
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}

/// Digest over the names, links and contents below a folder. What Python compiles for itself does not count.
pub(crate) fn of_tree(root: &Path) -> std::io::Result<String> {
    let (mut inputs, mut folders) = (Inputs::default(), vec![root.to_owned()]);
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                files.push(entry.path());
            } else if entry.file_name() != "__pycache__" {
                folders.push(entry.path());
            }
        }
    }
    files.sort();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file).to_string_lossy();
        let content = match std::fs::read_link(&file) {
            Ok(target) => target.to_string_lossy().into_owned(),
            Err(_) => of_file(&file)?,
        };
        inputs = inputs.add(&name, &content);
    }
    Ok(inputs.hex())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_framed() {
        let digest = |name, value| Inputs::default().add(name, value).hex();
        assert_ne!(digest("ab", "c"), digest("a", "bc"));
        let lists = |first: &[&str], second: &[&str]| {
            let own = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>();
            Inputs::default()
                .add_all("x", &own(first))
                .add_all("x", &own(second))
                .hex()
        };
        assert_ne!(lists(&["a"], &[]), lists(&[], &["a"]));
    }
}
