#!/bin/sh
# try-dist.sh DIR: installs the packages of `cargo xtask dist` that fit this machine into empty places, and runs each.
set -eu
dist=$(cd "$1" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
machine=$(uname -m)
tried() { printf 'tried %s\n' "$1"; }
skip() { printf 'not tried: %s\n' "$1"; }

(cd "$dist" && sha256sum --quiet --check SHA256SUMS)
tried "the checksums"

# The archive, in a root with nothing else in it.
archive=$(echo "$dist"/cycod-*-"$machine"-unknown-linux-gnu.tar.gz)
mkdir "$place/root"
tar -xzf "$archive" -C "$place/root" --strip-components=1
for file in completions/cycod.bash completions/_cycod completions/cycod.fish completions/_cycod.ps1 man/cycod.1 man/cycod-run.1; do
    test -s "$place/root/$file"
done
cat > "$place/tool.yaml" << 'end'
description: Show the version, without a shell
run: /cycod --version
tags: [read]
end
mkdir -p "$place/root/project/.cycod/tools" "$place/root/tmp" "$place/root/root" "$place/root/proc" "$place/root/dev"
cp "$place/tool.yaml" "$place/root/project/.cycod/tools/version.yaml"
in_root() { # in_root SCRIPT: as root of a name space; the shell is gone when the program starts
    unshare --user --map-root-user --mount --pid --fork sh -c '
        mount --bind "$1" "$1"; mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"
        exec unshare --root="$1" --wd=/project /cycod $2' sh "$place/root" "$1"
}
if unshare --user --map-root-user --mount --pid --fork true 2> /dev/null; then
    version=$(in_root "--version")
    in_root "trust version --yes" > /dev/null 2>&1
    test "$(in_root "run version")" = "$version"
    tried "the archive, in an empty root: $version, and a tool"
else
    skip "the archive in an empty root: no user name spaces"
    version=$("$place/root/cycod" --version)
fi

case $machine in x86_64) debian=amd64 node=x64 ;; *) debian=arm64 node=arm64 ;; esac
deb=$(echo "$dist"/cycod_*_"$debian".deb)
if command -v dpkg-deb > /dev/null && [ -f "$deb" ]; then
    dpkg-deb --extract "$deb" "$place/deb"
    test "$("$place/deb/usr/bin/cycod" --version)" = "$version"
    gzip -dc "$place/deb/usr/share/man/man1/cycod.1.gz" | grep -q '^.TH cycod 1'
    mkdir -p "$place/installed/var/lib/dpkg/updates" "$place/installed/var/lib/dpkg/info"
    : > "$place/installed/var/lib/dpkg/status"
    dpkg --root="$place/installed" --force-script-chrootless --force-not-root --force-bad-path --log=/dev/null --install "$deb" > /dev/null
    test "$("$place/installed/usr/bin/cycod" --version)" = "$version"
    tried "the .deb, installed into an empty root"
else
    skip "the .deb"
fi

if command -v npm > /dev/null; then
    mkdir "$place/npm"
    (cd "$place/npm" && HOME=$place npm install --offline --no-update-notifier --no-audit --no-fund --loglevel=error \
        "$dist"/cycod-linux-"$node"-*.tgz "$(ls "$dist"/cycod-[0-9]*.tgz)" > /dev/null)
    test "$("$place/npm/node_modules/.bin/cycod" --version)" = "$version"
    code=0; "$place/npm/node_modules/.bin/cycod" run nothing 2> /dev/null || code=$?
    test "$code" = 1
    tried "the npm packages"
else
    skip "the npm packages: no npm"
fi

wheel=$(echo "$dist"/cycod-*_"$machine".*.whl)
if python3 -c 'import venv, ensurepip' 2> /dev/null && [ -f "$wheel" ]; then
    python3 -m venv "$place/venv"
    "$place/venv/bin/pip" install --quiet --no-index --disable-pip-version-check "$wheel"
    test "$("$place/venv/bin/cycod" --version)" = "$version"
    "$place/venv/bin/pip" show --files cycod > "$place/files"; grep -q bin/cycod "$place/files"
    tried "the wheel"
else
    skip "the wheel"
fi

python3 - "$dist/oci" << 'end'
import gzip, hashlib, json, pathlib, sys, tarfile, io
root = pathlib.Path(sys.argv[1])
def blob(descriptor):
    content = (root / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    assert len(content) == descriptor["size"] and hashlib.sha256(content).hexdigest() == descriptor["digest"][7:]
    return content
assert json.loads((root / "oci-layout").read_text()) == {"imageLayoutVersion": "1.0.0"}
for entry in json.loads((root / "index.json").read_text())["manifests"]:
    manifest = json.loads(blob(entry))
    config = json.loads(blob(manifest["config"]))
    layers = [gzip.decompress(blob(layer)) for layer in manifest["layers"]]
    assert ["sha256:" + hashlib.sha256(layer).hexdigest() for layer in layers] == config["rootfs"]["diff_ids"]
    program = tarfile.open(fileobj=io.BytesIO(layers[0])).getmember("usr/bin/cycod")
    assert program.mode & 0o777 == 0o755
end
tried "the image: digests, sizes and content (no engine ran it)"

for bill in "$dist"/*.cdx.json; do
    python3 -c 'import json, sys; bill = json.load(open(sys.argv[1])); assert len(bill["components"]) > 100 and bill["specVersion"] == "1.5"' "$bill"
done
tried "the list of components"

if [ -f "$dist/cycod.rb" ] && command -v ruby > /dev/null; then
    ruby -c "$dist/cycod.rb" > /dev/null
    tried "the syntax of the formula (Homebrew didn't install it)"
else
    skip "the formula"
fi

windows=$(find "$dist" -maxdepth 1 -name 'cycod-*-windows-gnu.zip')
if [ -n "$windows" ] && python3 -c 'import yaml' 2> /dev/null; then
    python3 - "$windows" "$dist" << 'end'
import hashlib, json, pathlib, sys, yaml, zipfile
archive, dist = map(pathlib.Path, sys.argv[1:])
digest, files = hashlib.sha256(archive.read_bytes()).hexdigest(), zipfile.ZipFile(archive).namelist()
scoop = json.loads((dist / "cycod.json").read_text())
there = scoop["architecture"]["64bit"]
assert there["hash"] == digest and there["url"].endswith("/" + archive.name)
assert f"{there['extract_dir']}/{scoop['bin']}" in files
winget = yaml.safe_load((dist / "winget/cycod.cycod.installer.yaml").read_text())
[installer], [nested] = winget["Installers"], winget["NestedInstallerFiles"]
assert installer["InstallerSha256"] == digest and installer["InstallerUrl"] == there["url"]
assert nested["RelativeFilePath"].replace("\\", "/") in files
end
    tried "the archive for Windows and what scoop and winget read of it (neither installed it)"
else
    skip "the archive for Windows"
fi

for mac in "$dist"/cycod-*-apple-darwin.tar.gz; do
    [ -f "$mac" ] || { skip "the packages for macOS" && break; }
    python3 - "$mac" << 'end'
import struct, sys, tarfile
# <https://github.com/apple-oss-distributions/xnu>, EXTERNAL_HEADERS/mach-o/loader.h
archive, name = tarfile.open(sys.argv[1]), sys.argv[1].rsplit("/", 1)[-1].removesuffix(".tar.gz")
program = archive.getmember(f"{name}/cycod")
assert program.mode & 0o777 == 0o755
program = archive.extractfile(program).read()
magic, processor, _, kind, count, _, _, _ = struct.unpack_from("<8I", program)
arm = "aarch64" in name
assert (magic, processor, kind) == (0xFEEDFACF, 0x100000C if arm else 0x1000007, 2)
at, libraries, signed = 32, [], False
for _ in range(count):
    command, size = struct.unpack_from("<2I", program, at)
    if command in (0xC, 0x80000018, 0x8000001F):
        (offset,) = struct.unpack_from("<I", program, at + 8)
        libraries.append(program[at + offset : at + size].split(b"\0")[0].decode())
    signed |= command == 0x1D
    at += size
assert libraries and all(library.startswith(("/usr/lib/", "/System/Library/")) for library in libraries), libraries
# Apple's processors run no program without a signature.
assert signed or not arm
end
    tried "the headers of $(basename "$mac") (no Mac ran it)"
done

# What the action runs, with the files of this directory instead of a release.
action=$(dirname "$0")/../.github/actions/setup-cycod/action.yml
if command -v bash > /dev/null && command -v curl > /dev/null && python3 -c 'import yaml' 2> /dev/null; then
    python3 -c 'import sys, yaml; print(yaml.safe_load(open(sys.argv[1]))["runs"]["steps"][0]["run"])' "$action" > "$place/action.sh"
    mkdir "$place/releases" "$place/runner"
    ln -s "$dist" "$place/releases/v${version#cycod }"
    (cd "$place" && env VERSION="${version#cycod }" TRUST=true RELEASES="file://$place/releases" RUNNER_TEMP="$place/runner" \
        GITHUB_WORKSPACE="$place" GITHUB_PATH="$place/path" GITHUB_OUTPUT="$place/output" GITHUB_ENV="$place/env" \
        bash "$place/action.sh" > /dev/null)
    test "$("$(cat "$place/path")/cycod" --version)" = "$version"
    grep -qx "CYCOD_TRUSTED_DIRECTORIES=$place" "$place/env"
    tried "the script of the action (GitHub didn't run it)"
else
    skip "the script of the action"
fi
