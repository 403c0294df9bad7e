//! What goes wrong on strangers' machines: each fault is one message with its remedy, and leaves nothing behind.
#![forbid(unsafe_code)]

mod support;

use components::{Catalog, Error, Host, Kind, Overrides};
use support::{LOCK, Lab, Outcome, Told};

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in:\n{text}");
    }
}

#[test]
fn no_go() -> Outcome {
    let lab = Lab::new()?;
    lab.remove("bin/go")?;
    says(
        &lab.refused("alpha", Kind::NoGo)?,
        &[
            "cannot build alpha",
            "no `go` on PATH",
            "Install Go 1.21 or newer",
            "--component",
        ],
    );
    Ok(())
}

#[test]
fn a_go_too_old_to_fetch_another() -> Outcome {
    let lab = Lab::new()?;
    lab.write("env.sh", "version=go1.19.8\n")?;
    says(
        &lab.refused("alpha", Kind::WrongGo)?,
        &[
            "its module asks for go1.26.8",
            "bin/go is go1.19.8",
            "A Go of 1.21 or newer fetches go1.26.8 by itself",
        ],
    );
    lab.write("env.sh", "version=go1.26.80\n")?;
    says(&lab.refused("alpha", Kind::WrongGo)?, &["is go1.26.80"]);
    Ok(())
}

#[test]
fn a_toolchain_that_cannot_be_had() -> Outcome {
    let lab = Lab::new()?;
    lab.write(
        "env.sh",
        "echo 'go: download go1.26.8 for linux/amd64: toolchain not available' >&2; exit 1\n",
    )?;
    says(
        &lab.refused("alpha", Kind::WrongGo)?,
        &["toolchain not available", "Install go1.26.8"],
    );
    lab.write("env.sh", "")?;
    lab.write("build.sh", "echo 'go: go.mod requires go >= 1.27.0 (running go 1.26.8; GOTOOLCHAIN=local)' >&2; exit 1\n")?;
    says(
        &lab.refused("alpha", Kind::WrongGo)?,
        &["GOTOOLCHAIN=local", "Install go1.26.8"],
    );
    Ok(())
}

#[test]
fn a_go_that_is_no_go() -> Outcome {
    let lab = Lab::new()?;
    lab.program("bin/go", "#!/bin/sh\necho 'gccgo 12'\n")?;
    says(
        &lab.refused("alpha", Kind::WrongGo)?,
        &["does not answer `go env -json`"],
    );
    lab.program("bin/go", "#!/bin/sh\necho boom >&2; exit 3\n")?;
    says(
        &lab.refused("alpha", Kind::WrongGo)?,
        &["cannot become it: boom"],
    );
    Ok(())
}

#[test]
fn no_network_on_the_first_run() -> Outcome {
    let lab = Lab::new()?;
    lab.write("build.sh", "echo 'go: example.org/tools@v1.2.3: Get \"https://proxy.example/x\": dial tcp: lookup proxy.example: no such host' >&2; exit 1\n")?;
    says(
        &lab.refused("alpha", Kind::NoNetwork)?,
        &[
            "sources of alpha",
            "no such host",
            "GOPROXY is https://proxy.example",
            "later runs need no network",
        ],
    );
    lab.write("env.sh", "echo 'go: download go1.26.8: dial tcp 127.0.0.1:1: connect: connection refused' >&2; exit 1\n")?;
    says(
        &lab.refused("alpha", Kind::NoNetwork)?,
        &["connection refused"],
    );
    Ok(())
}

#[test]
fn no_c_compiler_is_found_before_the_long_builds() -> Outcome {
    let lab = Lab::new()?;
    lab.remove("bin/cc")?;
    says(
        &lab.refused("gamma", Kind::NoCCompiler)?,
        &[
            "cannot build gamma",
            "parts in C",
            "\"cc\"",
            "apt-get install gcc libc6-dev",
        ],
    );
    // Headers missing: the compiler is there and cannot compile.
    lab.program(
        "bin/cc",
        "#!/bin/sh\necho 'stdlib.h: No such file' >&2; exit 1\n",
    )?;
    lab.refused("gamma", Kind::NoCCompiler)?;
    assert!(lab.calls(&["go build"]).is_empty());
    // Programs without parts in C do not need one.
    lab.catalog()?.ensure(&["alpha"], &Told::default())?;
    Ok(())
}

#[test]
fn a_disk_that_is_full_or_will_be() -> Outcome {
    let lab = Lab::new()?;
    lab.write("components.lock", "")?;
    lab.write(
        "lock/components.lock",
        &LOCK.replace(
            "purpose = \"first\"",
            "purpose = \"first\"\nsize_mib = 1000000000",
        ),
    )?;
    says(
        &lab.refused("alpha", Kind::DiskFull)?,
        &[
            "not enough room",
            "alpha needs about 1000000064 MiB in",
            "XDG_CACHE_HOME",
        ],
    );
    assert!(lab.calls(&[]).is_empty());
    lab.write("lock/components.lock", LOCK)?;
    lab.write("build.sh", "echo 'go: writing output: write $WORK/b001/exe/a.out: no space left on device' >&2; exit 1\n")?;
    says(
        &lab.refused("alpha", Kind::DiskFull)?,
        &[
            "became full while making alpha",
            "no space left on device",
            "MiB in",
            "what is already built stays",
        ],
    );
    Ok(())
}

#[test]
fn a_build_that_fails_shows_its_last_words() -> Outcome {
    let lab = Lab::new()?;
    lab.write("build.sh", "echo example.org/fine >&2; i=0; while [ $i -lt 40 ]; do echo \"x.go:$i:1: undefined: y\" >&2; i=$((i+1)); done; exit 2\n")?;
    let text = lab.refused("alpha", Kind::Build)?;
    says(
        &text,
        &[
            "making alpha failed (exit status: 2)",
            "GOTOOLCHAIN=go1.26.8",
            "build -v -trimpath",
            "x.go:39:1: undefined: y",
        ],
    );
    assert!(
        !text.contains("x.go:5:1") && !text.contains("example.org/fine"),
        "only the last words: {text}"
    );
    Ok(())
}

#[test]
fn a_build_without_its_program() -> Outcome {
    let lab = Lab::new()?;
    lab.write("build.sh", "exit 0\n")?;
    says(
        &lab.refused("alpha", Kind::Build)?,
        &["left no program \"alpha\"", "must name a main package"],
    );
    Ok(())
}

#[test]
fn a_deb_source_without_debian() -> Outcome {
    let lab = Lab::new()?;
    lab.remove("bin/apt-get")?;
    says(
        &lab.refused("box", Kind::NoDeb)?,
        &[
            "needs apt-get and dpkg-deb",
            "statically linked box",
            "--component box=PATH",
        ],
    );
    // A script is not a static program; a static one serves.
    lab.program("bin/box", "#!/bin/sh\n")?;
    lab.refused("box", Kind::NoDeb)?;
    lab.remove("bin/box")?;
    std::fs::copy(lab.path("static"), lab.path("bin/box"))?;
    lab.refused("box", Kind::NoDeb)?;
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(lab.path("bin/box"), std::fs::Permissions::from_mode(0o755))?;
    let installed = lab.catalog()?.ensure(&["box"], &Told::default())?;
    assert_eq!(
        installed.get("box")?.origin,
        format!("system {}", lab.path("bin/box").display())
    );
    Ok(())
}

#[test]
fn package_lists_that_are_missing_are_fetched_without_root() -> Outcome {
    let lab = Lab::new()?;
    lab.write(
        "apt.sh",
        "case \"$*\" in *lists=*update*) touch \"$LAB/updated\";; *lists=*) ;; *) echo 'E: Unable to locate package box-static' >&2; exit 100;; esac\n",
    )?;
    lab.catalog()?.ensure(&["box"], &Told::default())?;
    assert!(lab.path("updated").exists());
    Ok(())
}

#[test]
fn a_package_that_cannot_be_fetched() -> Outcome {
    let lab = Lab::new()?;
    lab.write("apt.sh", "echo 'E: Failed to fetch http://deb.example/x  Temporary failure resolving deb.example' >&2; exit 100\n")?;
    says(
        &lab.refused("box", Kind::NoNetwork)?,
        &[
            "sources of box",
            "Temporary failure resolving",
            "Debian's package mirror",
            "--component box=PATH",
        ],
    );
    // Without a network `update` ends well and only warns.
    lab.write(
        "apt.sh",
        "case \"$*\" in *update*) echo 'W: Failed to fetch x  Could not connect to deb.example' >&2;; \
         *) echo 'E: Unable to locate package box-static' >&2; exit 100;; esac\n",
    )?;
    says(
        &lab.refused("box", Kind::NoNetwork)?,
        &["Could not connect"],
    );
    lab.write(
        "apt.sh",
        "case \"$*\" in *update*) ;; *) echo 'E: Unable to locate package box-static' >&2; exit 100;; esac\n",
    )?;
    says(
        &lab.refused("box", Kind::NoDeb)?,
        &["apt cannot give its package box-static: E: Unable to locate"],
    );
    Ok(())
}

#[test]
fn a_program_of_ones_own_that_cannot_be_used() -> Outcome {
    let lab = Lab::new()?;
    lab.write("lock/own", "no program")?;
    std::fs::remove_file(lab.path("lock/own"))?;
    says(
        &lab.refused("own", Kind::Path)?,
        &["component own: the lock file names", "cannot be opened"],
    );
    lab.write("lock/own", "no program")?;
    says(
        &lab.refused("own", Kind::Path)?,
        &["not executable", "chmod +x"],
    );
    let with = |value: String| -> Result<String, Error> {
        let catalog = lab
            .catalog()?
            .with_overrides(Overrides::from_args([value])?)?;
        Ok(catalog
            .ensure(&["alpha"], &Told::default())
            .map_or_else(|error| error.to_string(), |_| "went well".to_owned()))
    };
    says(
        &with(format!("alpha={}", lab.path("lock").display()))?,
        &["--component alpha=", "which is a folder", "lock/alpha"],
    );
    let unknown = with("alhpa=/x".to_owned())
        .err()
        .map(|error| error.to_string())
        .unwrap_or_default();
    says(
        &unknown,
        &[
            "no component \"alhpa\"; did you mean \"alpha\"?",
            "Known: alpha, beta",
        ],
    );
    Ok(())
}

#[test]
fn a_cache_that_cannot_be_used() -> Outcome {
    let lab = Lab::new()?;
    lab.write("cache", "a file in the way")?;
    let error = lab
        .catalog()?
        .ensure(&["alpha"], &Told::default())
        .err()
        .ok_or("went well")?;
    assert_eq!(error.kind(), Kind::Cache, "{error}");
    says(&error.to_string(), &["cannot make", "XDG_CACHE_HOME"]);
    let vars = [("XDG_CACHE_HOME", "relative"), ("HOME", "")];
    let nowhere = Catalog::open_on(&lab.path("lock/components.lock"), Host::with_vars(vars))?
        .ensure(&["alpha"], &Told::default());
    assert!(matches!(nowhere, Err(Error::NoCacheFolder)));
    Ok(())
}

#[test]
fn a_lock_file_or_module_file_that_is_not_there() -> Outcome {
    let lab = Lab::new()?;
    std::fs::remove_file(lab.path("lock/go/tools/go.sum"))?;
    says(
        &lab.catalog().err().ok_or("went well")?.to_string(),
        &["cannot read", "go.sum", "beside it"],
    );
    let none = Catalog::open(&lab.path("none.lock"))
        .err()
        .ok_or("went well")?;
    assert_eq!(none.kind(), Kind::Lock);
    says(
        &none.to_string(),
        &["none.lock", "Name an existing lock file"],
    );
    Ok(())
}

#[test]
fn an_unknown_name() -> Outcome {
    let lab = Lab::new()?;
    let error = lab
        .catalog()?
        .ensure(&["beata"], &Told::default())
        .err()
        .ok_or("went well")?;
    assert_eq!(error.kind(), Kind::UnknownComponent);
    says(&error.to_string(), &["did you mean \"beta\"?"]);
    Ok(())
}

#[test]
fn no_python_or_one_without_environments() -> Outcome {
    let lab = Lab::new()?;
    lab.write(
        "python.sh",
        "echo \"ModuleNotFoundError: No module named 'ensurepip'\" >&2; exit 1\n",
    )?;
    says(
        &lab.refused("snake", Kind::NoPython)?,
        &[
            "cannot install snake",
            "No module named 'ensurepip'",
            "apt-get install python3 python3-venv",
            "--component snake=PATH",
        ],
    );
    lab.remove("bin/python3")?;
    says(
        &lab.refused("snake", Kind::NoPython)?,
        &["no `python3` on PATH"],
    );
    Ok(())
}

#[test]
fn an_index_that_cannot_be_reached_or_has_another_file() -> Outcome {
    let lab = Lab::new()?;
    lab.write("python.sh", "case \"$*\" in *install*) echo 'WARNING: Retrying after connection broken: Failed to establish a new connection: [Errno 111]' >&2; exit 1;; esac\n")?;
    says(
        &lab.refused("snake", Kind::NoNetwork)?,
        &[
            "sources of snake",
            "Errno 111",
            "later runs need no network",
        ],
    );
    lab.write("python.sh", "case \"$*\" in *install*) echo 'ERROR: THESE PACKAGES DO NOT MATCH THE HASHES' >&2; exit 1;; esac\n")?;
    says(
        &lab.refused("snake", Kind::Build)?,
        &["DO NOT MATCH THE HASHES", "--require-hashes"],
    );
    Ok(())
}
