#!/usr/bin/env python3
"""Derives the tables of this folder, and `functions.tsv` and `structs.tsv` of `../../model/data`, from public releases of nvml.h and of nvidia-ml-py.

Not part of a build: the tables are committed, what they come from is not. Needs pip, a C compiler and a few minutes; run it as
`python3 derive.py FOLDER`, where FOLDER keeps the downloads. The packages (PyPI): nvidia-nvml-dev-cu11, nvidia-nvml-dev-cu12 and
nvidia-nvml-dev hold the nvml.h of each CUDA release, nvidia-ml-py binds the same structs for Python.
"""
import ctypes, importlib.util, pathlib, re, subprocess, sys, zipfile

HERE = pathlib.Path(__file__).resolve().parent
# The last header of each CUDA release (13.0.39 and 13.2.51 are older headers of the same release, and smaller).
HEADERS = [
    ("11.8", "nvidia-nvml-dev-cu11", "11.8.86"),
    ("12.0", "nvidia-nvml-dev-cu12", "12.0.76"),
    ("12.1", "nvidia-nvml-dev-cu12", "12.1.55"),
    ("12.2", "nvidia-nvml-dev-cu12", "12.2.140"),
    ("12.3", "nvidia-nvml-dev-cu12", "12.3.52"),
    ("12.4", "nvidia-nvml-dev-cu12", "12.4.127"),
    ("12.5", "nvidia-nvml-dev-cu12", "12.5.39"),
    ("12.6", "nvidia-nvml-dev-cu12", "12.6.77"),
    ("12.8", "nvidia-nvml-dev-cu12", "12.8.90"),
    ("12.9", "nvidia-nvml-dev-cu12", "12.9.79"),
    ("13.0", "nvidia-nvml-dev", "13.0.87"),
    ("13.1", "nvidia-nvml-dev", "13.1.115"),
    ("13.2", "nvidia-nvml-dev", "13.2.86"),
    ("13.3", "nvidia-nvml-dev", "13.3.29"),
    ("13.4", "nvidia-nvml-dev", "13.4.92"),
    ("13.5", "nvidia-nvml-dev", "13.5.37"),
]
# nvidia-ml-py follows drivers: what it binds, a driver of that number has. Three functions came back to older branches so.
PYTHONS = ["12.535.77", "12.535.161", "12.550.52", "12.550.89", "12.570.86", "12.570.172", "13.580.65", "13.580.126", "13.595.45", "13.615.71"]
PYTHON = PYTHONS[-1]
# The branch of drivers that came with a CUDA release.
BRANCHES = {535: "12.2", 550: "12.4", 570: "12.8", 580: "13.0", 595: "13.2", 615: "13.4"}


def fetch(folder, package, version):
    place = folder / f"{package}-{version}"
    if not place.exists():
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder / "wheels", f"{package}=={version}"], check=True)
        stem = package.replace("-", "_")
        wheel = next((folder / "wheels").glob(f"{stem}-{version}-*.whl"))
        zipfile.ZipFile(wheel).extractall(place)
    return place


def number(release):
    return tuple(int(part) for part in release.split("."))


def text_of(path):
    text = path.read_text(errors="replace")
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"//[^\n]*", " ", text)


def functions(text):
    """name -> [(type, name)]; the block of old names included."""
    found = {}
    for name, args in re.findall(r"DECLDIR\s+(?:char\s*\*\s*)?(nvml\w+)\s*\(([^)]*)\)\s*;", text):
        params = []
        for arg in args.split(","):
            arg = " ".join(arg.split())
            if arg in ("void", ""):
                continue
            match = re.fullmatch(r"(.*?)(\w+)((?:\[\w*\])?)", arg)
            kind, label, array = match.groups()
            kind = kind.strip().replace(" *", "*") + ("*" if array else "")
            params.append((kind, label))
        found[name] = params
    return found


def versions(text):
    """The versioned structs that the header has a version macro for."""
    return {f"nvml{name}_v{number}" for name, number in re.findall(r"NVML_STRUCT_VERSION\s*\(\s*(\w+)\s*,\s*(\d+)\s*\)", text) if name != "data"}


def structs(text):
    """C name -> fields, for every plain struct that has a typedef."""
    found = {}
    for body, names in re.findall(r"typedef\s+struct(?:\s+\w+)?\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*(nvml\w+(?:\s*,\s*nvml\w+)*)\s*;", text):
        body = re.sub(r"(?:union|struct)\s*\w*\s*\{[^{}]*\}(?=\s*;)", "ANONYMOUS", body)
        body = re.sub(r"(?:union|struct)\s*\w*\s*\{[^{}]*\}", " int ", body)
        body = re.sub(r"\bANONYMOUS\s*;", ";", body)
        fields = [re.search(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?::\s*\d+)?$", part.strip()).group(1) for part in body.split(";") if part.strip() and ":" not in part]
        found.update((name.strip(), fields) for name in names.split(","))
    for old, name in re.findall(r"typedef\s+(nvml\w+)\s+(nvml\w+)\s*;", text):
        if old in found:
            found[name] = found[old]
    return found


def c_layouts(folder, header):
    names = structs(text_of(header))
    lines = ["#include <stdio.h>", "#include <stddef.h>", "#define NVML_NO_UNVERSIONED_FUNC_DEFS", f'#include "{header}"', "int main(void) {"]
    for name in sorted(names):
        lines.append(f'printf("{name}\\t%zu\\t%zu", sizeof({name}), _Alignof({name}));')
        for field in names[name]:
            lines.append(f'printf("\\t{field}:%zu:%zu", offsetof({name}, {field}), sizeof((({name}*)0)->{field}));')
        lines.append('printf("\\n");')
    source, program = folder / "layouts.c", folder / "layouts"
    source.write_text("\n".join(lines + ["return 0; }"]))
    subprocess.run(["cc", "-std=c11", "-o", program, source], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout


def python_layouts(path):
    spec = importlib.util.spec_from_file_location("pynvml", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["pynvml"] = module  # it looks itself up
    spec.loader.exec_module(module)
    lines = []
    for name, kind in sorted(vars(module).items()):
        if isinstance(kind, type) and issubclass(kind, ctypes.Structure) and getattr(kind, "_fields_", None):
            if any(len(field) > 2 for field in kind._fields_):
                continue  # bit fields have no offset in bytes
            fields = [f"{field[0]}:{getattr(kind, field[0]).offset}:{getattr(kind, field[0]).size}" for field in kind._fields_]
            lines.append("\t".join([name, str(ctypes.sizeof(kind)), str(ctypes.alignment(kind)), *fields]))
    return "\n".join(lines) + "\n"


def main():
    if sys.argv[1:2] == ["--python-layouts"]:
        sys.stdout.write(python_layouts(pathlib.Path(sys.argv[2])))
        return
    folder = pathlib.Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    since, ever, newest = {}, set(), None
    for release, package, version in HEADERS:
        header = next(fetch(folder, package, version).rglob("nvml.h"))
        text = text_of(header)
        # nvmlErrorString has its DECLDIR elsewhere in some releases; it is as old as NVML.
        here = {("function", name) for name in functions(text)} | {("function", "nvmlErrorString")} | {("struct", name) for name in versions(text)}
        for thing in here:
            since.setdefault(thing, release)
        gone = {name for kind, name in ever - here if kind == "function"}
        if gone:
            print(f"{release}: not declared, though an older one did: {sorted(gone)}", file=sys.stderr)
        ever |= here
        newest = header
    backports = {}
    for version in PYTHONS:
        _, branch, minor = version.split(".")
        module = next(fetch(folder, "nvidia-ml-py", version).rglob("pynvml.py"))
        for name in re.findall(r'_nvmlGetFunctionPointer\("(nvml\w+)"', module.read_text()):
            release = since.get(("function", name))
            if release and number(release) > number(BRANCHES[int(branch)]):
                backports.setdefault(name, f"{branch}.{minor}")
    # What the newest no longer declares is no function of ours either.
    rows = sorted((kind, name, release) for (kind, name), release in since.items() if (kind, name) in here)
    source = f"# From {', '.join(f'{p} {v}' for _, p, v in HEADERS)}\n# (PyPI), by abi/data/derive.py. 11.8 says: no later than that.\n"
    model = HERE.parent.parent / "model" / "data"
    model.mkdir(exist_ok=True)
    head = f"# Since which CUDA release's nvml.h a function exists, and from which driver on an older branch has it too\n# (nvidia-ml-py {', '.join(PYTHONS)}).\n"
    lines = ["\t".join([name, release, *filter(None, [backports.get(name)])]) for kind, name, release in rows if kind == "function"]
    (model / "functions.tsv").write_text(head + source + "\n".join(lines) + "\n")
    head = "# Since which CUDA release's nvml.h a struct version exists (its NVML_STRUCT_VERSION macro).\n"
    lines = [f"{name}\t{release}" for kind, name, release in rows if kind == "struct"]
    (model / "structs.tsv").write_text(head + source + "\n".join(lines) + "\n")
    text = text_of(newest)
    head = f"# The functions of nvml.h {HEADERS[-1][2]} (nvidia-nvml-dev, PyPI) and the types of their parameters, by derive.py.\n"
    lines = ["\t".join([name, *[kind for kind, _ in params]]) for name, params in sorted(functions(text).items())]
    (HERE / "signatures.tsv").write_text(head + "\n".join(lines) + "\n")
    head = f"# Structs of nvml.h {HEADERS[-1][2]} (nvidia-nvml-dev, PyPI) as a C compiler for 64-bit Linux lays them out, by derive.py.\n# name, size, alignment, then field:offset:size\n"
    (HERE / "layouts-header.tsv").write_text(head + c_layouts(folder, newest))
    module = next(fetch(folder, "nvidia-ml-py", PYTHON).rglob("pynvml.py"))
    head = f"# Structs of nvidia-ml-py {PYTHON} (PyPI) as ctypes lays them out on 64-bit Linux, by derive.py.\n# name, size, alignment, then field:offset:size\n"
    (HERE / "layouts-nvidia-ml-py.tsv").write_text(head + python_layouts(module))


main()
