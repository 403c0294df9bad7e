//! `components.lock`: which programs there are and where each comes from, parsed and checked once.
//! It says nothing of what is on the disk: that is `cache`.
//! Text comes from the embedded or a named file plus the files beside it (Go modules, Python requirements); values go to `catalog`.

mod releases;

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::error::{Error, Result};
use crate::modfile::{self, ModFile};
use releases::Releases;

/// The one version of the format that this program reads.
const FORMAT: i64 = 1;

/// A checked lock file.
#[derive(Debug, Clone)]
pub struct Lock {
    components: Vec<Component>,
    go: BTreeMap<String, GoBuild>,
    releases: Releases,
}

/// One program.
#[derive(Debug, Clone)]
pub struct Component {
    /// Its name here: lower-case letters, digits, dots and dashes.
    pub name: String,
    /// Its version, without a leading `v`.
    pub version: String,
    /// What it is for, in a few words.
    pub purpose: String,
    /// About how much disk it takes.
    pub size_mib: u64,
    /// Where it comes from.
    pub source: Source,
}

/// Where a program comes from.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Source {
    /// A public Go module.
    Go(GoSource),
    /// A Debian package.
    Deb(DebSource),
    /// Python packages in an environment of their own.
    Python(PythonSource),
    /// The user's own file.
    Path(PathSource),
}

/// Built from a public Go module.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoSource {
    /// Folder under `go/`, beside the lock file, that holds go.mod and go.sum.
    pub module: String,
    /// Import path of the main package.
    pub package: String,
    /// Whether it has parts in C.
    #[serde(default)]
    pub cgo: bool,
    /// Files and folders of the module that `package` then is the path of. Nothing is built: the component is their texts,
    /// one after another, as YAML documents.
    #[serde(default)]
    pub files: Vec<String>,
}

/// Taken out of a Debian package, or an equal program of the system.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DebSource {
    /// Debian's package name.
    pub package: String,
    /// The program inside, without a leading slash.
    pub file: PathBuf,
    /// Names on PATH or absolute files to take where there is no apt; only a statically linked one counts, unless `dynamic`.
    pub system: Vec<PathBuf>,
    /// Whether the program may need shared libraries of this system. It runs on this machine then, in no image.
    #[serde(default)]
    pub dynamic: bool,
    /// Section of the archive, where it is not `main`.
    #[serde(default)]
    pub section: Option<String>,
}

/// Packages of PyPI, installed by pip into an environment of their own.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonSource {
    /// `python/NAME.txt` beside the lock file: all packages with versions and digests.
    pub requirements: String,
    /// The package whose version is the component's.
    pub package: String,
    /// What `python -m` runs; without it the program is the environment's Python itself.
    #[serde(default)]
    pub module: Option<String>,
    /// `python/NAME.txt` with what builds those of the packages that are published as source only. Without it none is built.
    #[serde(default)]
    pub build: Option<String>,
    /// Text of the requirements.
    #[serde(skip)]
    pub text: String,
    /// Text of `build`.
    #[serde(skip)]
    pub build_text: Option<String>,
}

/// The user's own file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathSource {
    /// The program; a relative path starts at the folder of the lock file.
    pub file: PathBuf,
}

/// How all programs of one Go module file are built.
#[derive(Debug, Clone)]
pub struct GoBuild {
    /// Build tags.
    pub tags: Vec<String>,
    /// Linker flags.
    pub ldflags: Vec<String>,
    /// The exact toolchain, as GOTOOLCHAIN wants it.
    pub toolchain: String,
    /// Text of go.mod.
    pub go_mod: String,
    /// Text of go.sum.
    pub go_sum: String,
    /// Source files of our own in the module's folder, name and text.
    pub own: Vec<(String, String)>,
}

impl Component {
    /// File name that the program has in the world, where its name here differs: `ptp` for `cni-ptp`.
    pub fn program(&self) -> &str {
        match &self.source {
            // etcd's package is called `server`; the program never is.
            Source::Go(go)
                if go.files.is_empty()
                    && self.name.ends_with(modfile::program_name(&go.package)) =>
            {
                modfile::program_name(&go.package)
            }
            _ => &self.name,
        }
    }

    /// The source in a few words: `go k8s.io/kubernetes/cmd/kubelet`.
    pub fn describe_source(&self) -> String {
        match &self.source {
            Source::Go(go) if !go.files.is_empty() => format!("files of go {}", go.package),
            Source::Go(go) => format!("go {}", go.package),
            Source::Deb(deb) => format!("deb {}", deb.package),
            Source::Python(python) => format!("python {}", python.package),
            Source::Path(path) => format!("path {}", path.file.display()),
        }
    }
}

impl Lock {
    /// Reads a lock file; `beside` gives the text of a file by its path from the lock's folder.
    pub(crate) fn parse(
        text: &str,
        file: &Path,
        beside: impl Fn(&str) -> Result<String>,
    ) -> Result<Self> {
        let at = |span: Range<usize>, problem: String| Error::Lock {
            file: file.to_owned(),
            problem: format!(
                "line {}: {problem}",
                text[..span.start.min(text.len())].matches('\n').count() + 1
            ),
        };
        let raw: Raw = toml::from_str(text).map_err(|error| Error::Lock {
            file: file.to_owned(),
            problem: error.to_string().trim_end().to_owned(),
        })?;
        if *raw.format.get_ref() != FORMAT {
            let found = raw.format.get_ref();
            return Err(at(
                raw.format.span(),
                format!(
                    "it has format {found}, this program reads format {FORMAT}; use the sliceproof that belongs to it"
                ),
            ));
        }

        let mut go = BTreeMap::new();
        for (folder, build) in raw.go {
            let span = build.span();
            check_name(&folder).map_err(|problem| at(span.clone(), problem))?;
            let go_mod = beside(&format!("go/{folder}/go.mod"))?;
            let go_sum = beside(&format!("go/{folder}/go.sum"))?;
            let module = ModFile::parse(&go_mod)
                .map_err(|problem| at(span, format!("go/{folder}/go.mod: {problem}")))?;
            let RawGo {
                tags,
                ldflags,
                files,
            } = build.into_inner();
            let own = files
                .into_iter()
                .map(|name| Ok((name.clone(), beside(&format!("go/{folder}/{name}"))?)))
                .collect::<Result<_>>()?;
            go.insert(
                folder,
                (
                    GoBuild {
                        tags,
                        ldflags,
                        toolchain: module.toolchain.clone(),
                        go_mod,
                        go_sum,
                        own,
                    },
                    module,
                ),
            );
        }

        let mut in_order: Vec<_> = raw.component.into_iter().collect();
        in_order.sort_by_key(|(_, component)| component.span().start);
        let mut components: Vec<Component> = Vec::new();
        for (name, component) in in_order {
            let span = component.span();
            let mut component = check_name(&name)
                .and_then(|()| component.into_inner().check(name))
                .map_err(|problem| at(span.clone(), problem))?;
            if let Source::Python(source) = &mut component.source {
                source.text = beside(&format!("python/{}.txt", source.requirements))?;
                source.build_text = source
                    .build
                    .as_ref()
                    .map(|build| beside(&format!("python/{build}.txt")))
                    .transpose()?;
                check_python(&component.version, source)
                    .map_err(|problem| at(span.clone(), problem))?;
            }
            if let Source::Go(source) = &component.source {
                let module = go.get(&source.module).map(|(_, module)| module);
                check_go(&component, source, module)
                    .map_err(|problem| at(span.clone(), problem))?;
                let twin = components.iter().find(|other| matches!(&other.source, Source::Go(other) if other.module == source.module
                    && other.files.is_empty() && source.files.is_empty()
                    && modfile::program_name(&other.package) == modfile::program_name(&source.package)));
                if let Some(twin) = twin {
                    return Err(at(
                        span,
                        format!(
                            "{} and {} build programs of one name from one module; give one a module folder of its own",
                            twin.name, component.name
                        ),
                    ));
                }
            }
            components.push(component);
        }
        let mut releases = Releases::new();
        for (minor, release) in raw.kubernetes {
            let span = release.span();
            let release = release.into_inner();
            let module = go.get(&release.module).map(|(_, module)| module);
            release
                .check(&minor, &components, module)
                .map_err(|problem| at(span, problem))?;
            releases.insert(minor, release);
        }
        Ok(Self {
            releases,
            components,
            go: go
                .into_iter()
                .map(|(folder, (build, _))| (folder, build))
                .collect(),
        })
    }

    /// All programs, in the order of the file.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// One program.
    pub fn component(&self, name: &str) -> Result<&Component> {
        self.components
            .iter()
            .find(|component| component.name == name)
            .ok_or_else(|| {
                Error::unknown(
                    name,
                    self.components
                        .iter()
                        .map(|component| component.name.as_str()),
                )
            })
    }

    /// How the programs of a module folder are built.
    pub fn go_build(&self, module: &str) -> Option<&GoBuild> {
        self.go.get(module)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    format: Spanned<i64>,
    #[serde(default)]
    go: BTreeMap<String, Spanned<RawGo>>,
    #[serde(default)]
    component: BTreeMap<String, Spanned<RawComponent>>,
    #[serde(default)]
    kubernetes: BTreeMap<String, Spanned<releases::Release>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawGo {
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    ldflags: Vec<String>,
    #[serde(default)]
    files: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawComponent {
    version: String,
    purpose: String,
    #[serde(default)]
    size_mib: u64,
    go: Option<GoSource>,
    deb: Option<DebSource>,
    python: Option<PythonSource>,
    path: Option<PathSource>,
    oci: Option<toml::Value>,
}

impl RawComponent {
    fn check(self, name: String) -> Result<Component, String> {
        if self.oci.is_some() {
            return Err(format!(
                "component {name}: source `oci` is reserved and not read yet; use go, deb, python or path"
            ));
        }
        let mut sources = [
            self.go.map(Source::Go),
            self.deb.map(Source::Deb),
            self.python.map(Source::Python),
            self.path.map(Source::Path),
        ]
        .into_iter()
        .flatten();
        let (Some(source), None) = (sources.next(), sources.next()) else {
            return Err(format!(
                "component {name} needs exactly one source: go, deb, python or path"
            ));
        };
        match &source {
            Source::Deb(deb) if deb.file.is_absolute() => {
                return Err(format!(
                    "component {name}: `file` is a place inside the package, without a leading slash"
                ));
            }
            Source::Deb(deb) if deb.system.is_empty() => {
                return Err(format!(
                    "component {name}: a deb source names in `system` what serves where there is no Debian"
                ));
            }
            _ => {}
        }
        Ok(Component {
            name,
            version: self.version,
            purpose: self.purpose,
            size_mib: self.size_mib,
            source,
        })
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let allowed =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b".-".contains(&byte);
    if name.bytes().all(allowed) && name.starts_with(|first: char| first.is_ascii_alphanumeric()) {
        Ok(())
    } else {
        Err(format!(
            "{name:?} is no name: lower-case letters, digits, dots and dashes, the first no dot or dash"
        ))
    }
}

/// The packages that `python/FILE.txt` pins, each with its version; each must have a digest.
fn pins<'a>(file: &str, text: &'a str) -> Result<Vec<(&'a str, &'a str)>, String> {
    let lines = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines
        .map(|line| {
            let pin = line.split_whitespace().next().unwrap_or_default();
            let (name, pinned) = pin.split_once("==").ok_or_else(|| {
                format!("python/{file}.txt: {pin:?} is no pinned package; write NAME==VERSION --hash=sha256:DIGEST")
            })?;
            if !line.contains("--hash=sha256:") {
                return Err(format!(
                    "python/{file}.txt: {name} has no --hash=sha256:DIGEST; `pip hash FILE` makes one"
                ));
            }
            Ok((name, pinned))
        })
        .collect()
}

/// The requirements name the component's package in its version, and every package with a digest.
fn check_python(version: &str, source: &PythonSource) -> Result<(), String> {
    let PythonSource {
        requirements,
        package,
        ..
    } = source;
    if let (Some(build), Some(text)) = (&source.build, &source.build_text) {
        pins(build, text)?;
    }
    let pins = pins(requirements, &source.text)?;
    let found = pins.iter().find(|(name, _)| name == package);
    match found.map(|(_, pinned)| *pinned) {
        Some(pinned) if pinned == version => Ok(()),
        Some(pinned) => Err(format!(
            "{package} is {version} here, but python/{requirements}.txt pins {pinned}"
        )),
        None => Err(format!("python/{requirements}.txt does not pin {package}")),
    }
}

fn check_go(
    component: &Component,
    source: &GoSource,
    module: Option<&ModFile>,
) -> Result<(), String> {
    let Component { name, version, .. } = component;
    let GoSource {
        module: folder,
        package,
        ..
    } = source;
    let module = module.ok_or_else(|| {
        format!(
            "component {name} is built from module {folder:?}, which has no [go.{folder}] table"
        )
    })?;
    if module.module == *package {
        // A program of our own has the version that we give it.
        return Ok(());
    }
    match module.version_of(package) {
        Some(required) if required == version => Ok(()),
        Some(required) => Err(format!(
            "component {name} is {version} here, but go/{folder}/go.mod requires {required} of {package}"
        )),
        None => Err(format!(
            "component {name}: go/{folder}/go.mod requires no module that provides {package}; add it there with `go get -tool {package}@v{version}`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GO_MOD: &str = "module x\ngo 1.26.8\nrequire a.io/b v1.2.3\n";

    fn parse(text: &str) -> Result<Lock> {
        Lock::parse(text, Path::new("components.lock"), |file| {
            Ok(match file {
                "python/good.txt" => {
                    "# all\nbox==1.2 --hash=sha256:00\nother==3 --hash=sha256:11\n"
                }
                "python/bare.txt" => "box==1.2\n",
                "python/loose.txt" => "box>=1.2 --hash=sha256:00\n",
                file if file.ends_with("go.mod") => GO_MOD,
                _ => "",
            }
            .to_owned())
        })
    }

    fn refused(text: &str) -> String {
        match parse(text) {
            Ok(_) => panic!("accepted: {text}"),
            Err(error) => error.to_string(),
        }
    }

    const GOOD: &str = r#"
format = 1
[go.m]
[component.zeta]
version = "1.2.3"
purpose = "p"
go = { module = "m", package = "a.io/b/cmd/zeta" }
[component.alpha]
version = "9"
purpose = "p"
path = { file = "/x" }
"#;

    fn python(version: &str, requirements: &str) -> String {
        GOOD.replace("version = \"9\"", &format!("version = \"{version}\""))
            .replace(
                "path = { file = \"/x\" }",
                &format!("python = {{ requirements = \"{requirements}\", package = \"box\" }}"),
            )
    }

    #[test]
    fn a_python_component_carries_its_requirements() -> Result<()> {
        let lock = parse(&python("1.2", "good"))?;
        assert!(
            matches!(&lock.component("alpha")?.source, Source::Python(source) if source.text.contains("other==3"))
        );
        Ok(())
    }

    #[test]
    fn components_keep_the_order_of_the_file() -> Result<()> {
        let names: Vec<String> = parse(GOOD)?
            .components()
            .iter()
            .map(|component| component.name.clone())
            .collect();
        assert_eq!(names, ["zeta", "alpha"]);
        Ok(())
    }

    #[test]
    fn the_embedded_lock_is_good_and_complete() -> Result<()> {
        let catalog = crate::Catalog::embedded()?;
        let names: Vec<&str> = catalog.names().collect();
        for name in [
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
            "kubelet",
            "kubectl",
            "containerd",
            "containerd-shim-runc-v2",
            "ctr",
            "runc",
            "cni-ptp",
            "cni-host-local",
            "cni-loopback",
            "gpu-kubelet-plugin",
            "nvidia-cdi-hook",
            "busybox",
        ] {
            assert!(names.contains(&name), "{name} is not in the lock");
        }
        Ok(())
    }

    #[test]
    fn each_fault_names_its_line_and_remedy() {
        let cases = [
            (
                GOOD.replace("format = 1", "format = 2"),
                "line 2: it has format 2, this program reads format 1",
            ),
            (
                GOOD.replace("1.2.3", "1.2.4"),
                "line 4: component zeta is 1.2.4 here, but go/m/go.mod requires 1.2.3",
            ),
            (
                GOOD.replace("a.io/b/cmd", "a.io/c/cmd"),
                "requires no module that provides a.io/c/cmd/zeta; add it there with `go get -tool",
            ),
            (
                GOOD.replace("module = \"m\"", "module = \"n\""),
                "no [go.n] table",
            ),
            (
                GOOD.replace("path = {", "oci = {"),
                "line 8: component alpha: source `oci` is reserved",
            ),
            (
                GOOD.replace("path = { file = \"/x\" }", ""),
                "line 8: component alpha needs exactly one source",
            ),
            (
                GOOD.replace(
                    "path = {",
                    "go = { module = \"m\", package = \"a.io/b/cmd/alpha\" }\npath = {",
                ),
                "exactly one source",
            ),
            (
                GOOD.replace("component.alpha", "component.Alpha"),
                "\"Alpha\" is no name",
            ),
            (GOOD.replace("path = {", "pth = {"), "unknown field `pth`"),
            (
                python("9", "good"),
                "line 8: box is 9 here, but python/good.txt pins 1.2",
            ),
            (python("1.2", "bare"), "box has no --hash=sha256:DIGEST"),
            (python("1.2", "loose"), "\"box>=1.2\" is no pinned package"),
            (
                python("1.2", "good\", build = \"bare"),
                "python/bare.txt: box has no --hash=sha256:DIGEST",
            ),
            (python("1.2", "empty"), "does not pin box"),
            (GOOD.replace("version = \"9\"", "version = 9"), "line 9"),
            (
                GOOD.replace(
                    "path = { file = \"/x\" }",
                    "deb = { package = \"p\", file = \"/bin/p\", system = [\"p\"] }",
                ),
                "without a leading slash",
            ),
            (
                GOOD.replace(
                    "path = { file = \"/x\" }",
                    "deb = { package = \"p\", file = \"bin/p\", system = [] }",
                ),
                "where there is no Debian",
            ),
            (
                GOOD.replace("path = { file = \"/x\" }", "version = \"10\""),
                "duplicate key",
            ),
        ];
        for (text, part) in cases {
            let message = refused(&text);
            assert!(
                message.starts_with("components.lock: ") && message.contains(part),
                "wanted {part:?} in:\n{message}"
            );
            assert!(message.contains("Mend the file"), "{message}");
        }
    }

    #[test]
    fn programs_keep_their_names_in_the_world() -> Result<()> {
        let lock = crate::Catalog::embedded()?;
        let program = |name: &str| {
            lock.lock()
                .component(name)
                .map(|component| component.program().to_owned())
        };
        assert_eq!(program("cni-ptp")?, "ptp");
        assert_eq!(program("etcd")?, "etcd");
        assert_eq!(program("kubelet")?, "kubelet");
        assert_eq!(program("busybox")?, "busybox");
        Ok(())
    }
}
