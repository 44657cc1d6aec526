#!/bin/sh
# Checks that cycod compiles and links for macOS, on both kinds of processors. Nothing runs: macOS runs on Apple's machines only.
# It needs a Debian system with Python. The compiler and the source of its standard library come from Debian packages, the compiler
# of C, the linker and the headers of macOS from zig, which is on PyPI. Everything goes below target/macos.
#
#     scripts/macos.sh check [PROCESSOR]    checks that the whole program compiles, in some ten minutes for each processor
#     scripts/macos.sh build [PROCESSOR] [PROFILE]  builds and links the program, with a profile of Cargo (dev), and prints its path
#     scripts/macos.sh clean                removes what was built
#
# PROCESSOR is aarch64, x86_64 or both, which is the default.
#
# What is linked shows that nothing is missing but what the libraries of Apple have: zig brings the names in libSystem, and each
# other name has to begin as those of a library that is linked. It says nothing about whether macOS runs the program.
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
repository=$PWD
place=$repository/target/macos
mkdir -p "$place"

# Debian has the source of the standard library for this compiler, so cargo builds it with the program.
toolchain() {
    packages /usr/bin/rustc rustc-web /usr/bin/cargo cargo-web /usr/lib/rustlib/src/rust/library rust-web-src \
        python3 python3 /usr/share/doc/python3-venv python3-venv
    if [ ! -e "$place/venv/ready" ]; then
        python3 -m venv --clear "$place/venv"
        "$place/venv/bin/pip" install -q ziglang==0.17.1 cargo-zigbuild==0.24.1
        touch "$place/venv/ready"
    fi
    PATH=$place/venv/bin:$PATH
    export PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO=/usr/bin/cargo CARGO_TARGET_DIR="$place/build" CARGO_INCREMENTAL=0 \
        CARGO_PROFILE_DEV_DEBUG=false
}

cargo() { # cargo COMMAND TRIPLE WORD…
    command=$1 triple=$2
    shift 2
    cargo-zigbuild "$command" -Zbuild-std=std,panic_abort --locked --target "$triple" "$@"
}

# The libraries of Apple that the program uses and that zig has no list of, each with how its names begin.
libraries="
CoreFoundation ^_(CF|kCF|___CF)
CoreServices ^_(FS|kFS|LS)
IOKit ^_(IO|kIO)
Security ^_(Sec|kSec|SSL)
SystemConfiguration ^_(SC|kSC)
libobjc ^_(objc_|sel_|class_|OBJC_|_objc_)"

# Writes what the linker is to know of Apple's libraries: their places, and the names that the program takes from them.
stubs() { # stubs FILE: the names, one a line
    directory=$place/stubs
    rm -rf "$directory"
    mkdir -p "$directory"
    echo "$libraries" | while read -r library names; do
        [ -n "$library" ] || continue
        case $library in
        lib*) path=/usr/lib/$library.A.dylib file=$directory/$library.tbd ;;
        *)
            path=/System/Library/Frameworks/$library.framework/Versions/A/$library
            mkdir -p "$directory/$library.framework"
            file=$directory/$library.framework/$library.tbd
            ;;
        esac
        {
            printf -- '--- !tapi-tbd\ntbd-version: 4\ntargets: [ x86_64-macos, arm64-macos ]\n'
            printf "install-name: '%s'\ncurrent-version: 1\ncompatibility-version: 1\n" "$path"
            printf 'exports:\n  - targets: [ x86_64-macos, arm64-macos ]\n    symbols: [ %s ]\n...\n' \
                "$(grep -E "$names" "$1" | sed "s/.*/'&'/" | paste -sd, -)"
        } >"$file"
    done
}

program() { # program TRIPLE PROFILE: builds the program, and prints its path
    [ "$2" = dev ] && folder=debug || folder=$2
    built=$place/build/$1/$folder/cycod
    # What would strip it is not part of Debian's compiler.
    export CARGO_PROFILE_DEV_STRIP=none CARGO_PROFILE_RELEASE_STRIP=none
    set -- rustc "$1" -p cycod --bin cycod --profile "$2" --config 'profile.release.package.cycod.strip="none"' -- -L "native=$place/stubs" -C "link-arg=-F$place/stubs" -C "link-arg=-L$place/stubs"
    # The first time the linker lists what the program takes from Apple's libraries.
    : >"$place/names"
    stubs "$place/names"
    cargo "$@" >"$place/log" 2>&1 && echo "macos: nothing of Apple's libraries is used" >&2 && return 1
    sed -n 's/.*undefined symbol: \(_[A-Za-z0-9_$]*\).*/\1/p' "$place/log" | sort -u >"$place/names"
    [ -s "$place/names" ] || { cat "$place/log" >&2 && return 1; }
    known=$(echo "$libraries" | sed -n 's/^[A-Za-z]* //p' | paste -sd'|' -)
    others=$(grep -Ev "$known" "$place/names" || true)
    [ -z "$others" ] || { echo "macos: no library is known to have" $others >&2 && return 1; }
    stubs "$place/names"
    cargo "$@" >&2
    echo "$built"
}

triples=$(for processor in $(echo "${2:-both}" | sed 's/^both$/aarch64 x86_64/'); do echo "$processor-apple-darwin"; done)
case ${1:-} in
check)
    toolchain
    for triple in $triples; do
        cargo check "$triple" -p cycod
    done
    ;;
build)
    toolchain
    for triple in $triples; do
        program "$triple" "${3:-dev}"
    done
    ;;
clean)
    rm -rf "$place"
    ;;
*)
    echo "usage: scripts/macos.sh check [PROCESSOR] | build [PROCESSOR] [PROFILE] | clean" >&2
    exit 2
    ;;
esac
