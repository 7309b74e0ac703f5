#!/bin/sh
# Installs missing dependencies of the build.
#
#   xtask/setup.sh LLVM-PREFIX "DEBIAN PACKAGES" "RUST COMPONENTS"

set -eu
prefix=$1
packages=$2
components=$3

fail() {
  echo "setup: $*" >&2
  exit 1
}

for component in $components; do
  # rustfmt is started as `cargo fmt`, clippy as `cargo clippy`.
  command=${component#rust}
  if ! cargo "$command" --version >/dev/null 2>&1; then
    command -v rustup >/dev/null 2>&1 ||
      fail "\`cargo $command\` is missing, and rustup is not available: install $component"
    rustup component add "$component"
  fi
done

if ! command -v dpkg >/dev/null 2>&1; then
  # Not Debian: any installation of LLVM 19 and a linker suffices.
  [ -x "$prefix/bin/llvm-config" ] ||
    fail "no LLVM 19 below $prefix: install its development files (on Debian: $packages)," \
      "and set LLVM_SYS_191_PREFIX to their prefix"
  command -v cc >/dev/null 2>&1 || fail "no linker: install a C compiler named cc"
  exit 0
fi

missing=
for package in $packages; do
  dpkg -s "$package" 2>/dev/null | grep -q '^Status: .* installed$' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

command -v apt-get >/dev/null 2>&1 || fail "no apt-get; install these packages:$missing"
as_root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || fail "not root, and no sudo; install these packages:$missing"
  as_root=sudo
fi
echo "setup: installing$missing"
$as_root apt-get update -q
# shellcheck disable=SC2086  # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get install -q -y --no-install-recommends $missing ||
  fail "could not install$missing; LLVM 19 is part of Debian 12 and later, of Ubuntu 24.04" \
    "and later, and of apt.llvm.org"
