#!/usr/bin/env bash
# Builds what is useful alone for any Linux with glibc 2.28 or newer (RHEL 8, Debian 10, Ubuntu 20.04):
#   release.sh [FOLDER]     libnvidia-ml.so.1, nvidia-smi, nvml-probe and fakegpu (which carries them), by default in target/fakegpu-release
# The linker and the C library's symbols are zig's, by cargo-zigbuild; both come from PyPI into an environment of their own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-$PWD/target}
out=${1:-$target/fakegpu-release}
glibc=2.28
triple=$(rustc -vV | sed -n 's/^host: //p')
tools=$target/zig
if [ ! -x "$tools/bin/cargo-zigbuild" ]; then
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check cargo-zigbuild==0.24.1 ziglang==0.15.2
fi
export PATH=$tools/bin:$PATH CARGO_TARGET_DIR=$target/zigbuild
# The library alone and as a cdylib only: with an rlib beside it cargo leaves out link-time optimisation.
cargo-zigbuild rustc --locked --profile payload --package nvml-abi --lib --crate-type cdylib --target "$triple.$glibc"
cargo-zigbuild build --locked --profile payload --package nvidia-smi --package nvml-client --bins --target "$triple.$glibc"
mkdir -p "$out"
built=$CARGO_TARGET_DIR/$triple/payload
cp "$built/libnvidia_ml.so" "$out/libnvidia-ml.so.1"
cp "$built/nvidia-smi" "$built/nvml-probe" "$out/"
# fakegpu carries these very files.
GPU_HOST_PAYLOAD=$built cargo-zigbuild build --locked --release --package fakegpu --bin fakegpu --target "$triple.$glibc"
cp "$CARGO_TARGET_DIR/$triple/release/fakegpu" "$out/"
ls -l "$out"
