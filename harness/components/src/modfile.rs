//! The few lines of a go.mod that matter here: which toolchain, which versions.
//! Not a full parser: `go` itself judges the file.
//! Text comes from `ci/go/*/go.mod`; the toolchain goes into the build's environment and into the cache key.

/// What go.mod says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModFile {
    /// The exact toolchain, as GOTOOLCHAIN wants it: `go1.27.3`.
    pub(crate) toolchain: String,
    /// The module's own path.
    pub(crate) module: String,
    /// Required modules with their versions, longest path first.
    requires: Vec<(String, String)>,
}

impl ModFile {
    /// Reads the text of a go.mod.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (mut go, mut toolchain, mut own, mut requires, mut block) =
            (None, None, String::new(), Vec::new(), String::new());
        for line in text.lines() {
            let mut words = line
                .split("//")
                .next()
                .unwrap_or_default()
                .split_whitespace();
            let (first, rest): (_, Vec<&str>) = (words.next(), words.collect());
            match (block.as_str(), first, rest.as_slice()) {
                (_, Some(")"), _) => block.clear(),
                ("", Some(word), ["("]) => block = word.to_owned(),
                ("", Some("module"), [path]) => own = (*path).to_owned(),
                ("", Some("go"), [version]) => go = Some(format!("go{version}")),
                ("", Some("toolchain"), [version]) => toolchain = Some((*version).to_owned()),
                ("", Some("require"), [module, version]) => {
                    requires.push(((*module).to_owned(), (*version).to_owned()))
                }
                ("require", Some(module), [version]) => {
                    requires.push((module.to_owned(), (*version).to_owned()))
                }
                _ => {}
            }
        }
        // A `go` line of two numbers names a language, not a release that can be fetched.
        let exact = |name: &String| {
            name.strip_prefix("go")
                .is_some_and(|version| version.split('.').count() == 3)
        };
        let toolchain = toolchain
            .or(go)
            .filter(exact)
            .ok_or("it names no exact toolchain; add a line like `toolchain go1.27.3`")?;
        requires.sort_by_key(|(module, _)| std::cmp::Reverse(module.len()));
        Ok(Self {
            toolchain,
            module: own,
            requires,
        })
    }

    /// Version of the module that provides a package, without the leading `v`.
    pub(crate) fn version_of(&self, package: &str) -> Option<&str> {
        self.requires
            .iter()
            .find(|(module, _)| {
                package
                    .strip_prefix(module.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
            .map(|(_, version)| version.trim_start_matches('v'))
    }
}

/// File name that `go build` gives a main package: the last element of its path that is not a major version.
pub(crate) fn program_name(package: &str) -> &str {
    let major = |element: &str| {
        element
            .strip_prefix('v')
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    };
    package
        .rsplit('/')
        .find(|element| !major(element))
        .unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "module x\n\ngo 1.27.0\n\ntoolchain go1.27.3\n\nrequire a.io/b v1.2.3\nrequire (\n\ta.io/b/c v0.4.0 // indirect\n)\ntool a.io/b/cmd/d\n";

    #[test]
    fn toolchain_line_wins_over_go_line() {
        assert_eq!(
            ModFile::parse(TEXT).map(|m| m.toolchain),
            Ok("go1.27.3".to_owned())
        );
        assert_eq!(
            ModFile::parse("go 1.26.8\n").map(|m| m.toolchain),
            Ok("go1.26.8".to_owned())
        );
    }

    #[test]
    fn a_language_version_is_no_toolchain() {
        assert!(ModFile::parse("module x\ngo 1.26\n").is_err());
    }

    #[test]
    fn the_longest_module_provides_a_package() -> Result<(), String> {
        let module = ModFile::parse(TEXT)?;
        assert_eq!(module.version_of("a.io/b/cmd/d"), Some("1.2.3"));
        assert_eq!(module.version_of("a.io/b/c/cmd/e"), Some("0.4.0"));
        assert_eq!(module.version_of("a.io/bb"), None);
        Ok(())
    }

    #[test]
    fn program_names_follow_go_build() {
        assert_eq!(program_name("go.etcd.io/etcd/server/v3"), "server");
        assert_eq!(program_name("k8s.io/kubernetes/cmd/kubelet"), "kubelet");
        assert_eq!(
            program_name("github.com/containerd/containerd/v2/cmd/ctr"),
            "ctr"
        );
    }
}
