#!/usr/bin/env bash
# Versions of CaDiCaL to link Twill with, built into FOLDER: sources from PyPI's python-sat, which has
# them as its authors published them. Standard output has a version a line and its folder, for
#   cmake --preset release -DCADICAL_ROOT=THAT_FOLDER
# Needs python3, tar, make and a C++ compiler.   bench/cadical_versions.sh FOLDER [VERSION...]
set -euo pipefail
if [ $# -lt 1 ]; then
  echo "usage: bench/cadical_versions.sh FOLDER [VERSION...]" >&2
  exit 2
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
versions=("$@")
[ $# -gt 0 ] || versions=(1.5.3 1.9.5 3.0.0)
package=python_sat-1.9.dev24.tar.gz

if [ ! -f "$folder/$package" ]; then
  # (pip would want to build it.)
  python3 - "$package" "$folder/$package.part" <<'END'
import html, re, sys, urllib.request
name, target = sys.argv[1:]
with urllib.request.urlopen("https://pypi.org/simple/python-sat/", timeout=60) as index:
    links = re.findall(r'href="([^"]+)"[^>]*>([^<]+)<', index.read().decode())
for link, text in links:
    if text.strip() == name:
        with urllib.request.urlopen(html.unescape(link).split("#")[0], timeout=300) as source:
            open(target, "wb").write(source.read())
        break
else:
    sys.exit(f"PyPI has no {name}")
END
  mv "$folder/$package.part" "$folder/$package"
fi
for version in "${versions[@]}"; do
  root=$folder/cadical-$version
  if [ ! -f "$root/build/libcadical.a" ]; then
    rm -rf "$root"
    mkdir "$root"
    if ! tar xOf "$folder/$package" "${package%.tar.gz}/solvers/cadical${version//./}.tar.gz" |
      tar xzf - -C "$root" --strip-components=1; then
      echo "$package has no CaDiCaL $version" >&2
      exit 1
    fi
    (cd "$root" && ./configure -fPIC && make -j "$(nproc)") >"$folder/build-$version.log" 2>&1 ||
      { echo "CaDiCaL $version does not build: $folder/build-$version.log" >&2; exit 1; }
  fi
  echo "$version $root"
done
