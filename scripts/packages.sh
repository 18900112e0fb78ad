# Sourced by the other scripts: what each job needs, and one function that installs what is missing.

build_packages=(g++ cmake ninja-build ccache mold libfmt-dev libexpected-dev nlohmann-json3-dev libtomlplusplus-dev
  libcli11-dev libcurl4-openssl-dev libsqlite3-dev libhnswlib-dev libseccomp-dev bubblewrap libgtest-dev libgmock-dev)
test_packages=(python3 libbenchmark-dev clang-14 clang-format-14 clang-tidy-14 python3-torch libopenblas0-pthread)

# install_missing PACKAGE...: installs the Debian packages that are not there. Says so before it acts; needs root or sudo.
install_missing() {
  local missing=()
  for package in "$@"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || { echo "error: these Debian packages are missing and need root to install: ${missing[*]}" >&2; return 3; }
    sudo=(sudo)
  fi
  echo "Installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { "${sudo[@]}" apt-get update && DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "error: apt-get failed; its full output is in $log" >&2
    return 3
  fi
  rm -f "$log"
}

# build_preset PRESET [TARGET...]: configures and builds, quiet unless it fails.
build_preset() {
  local preset=$1
  shift
  local log
  log=$(mktemp)
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" ${1:+--target "$@"}; } >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    echo "error: the build of preset $preset failed" >&2
    return 3
  fi
  rm -f "$log"
}
