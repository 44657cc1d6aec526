#!/bin/sh
# Builds cycod for AArch64 Linux, starts a machine of that kind in an emulator, and runs the core suites in it. It needs a Debian
# system, because compiler, libraries, kernel and root file system come from Debian packages. Everything goes below target/aarch64.
#
#     scripts/aarch64.sh            builds the suites and runs them
#     scripts/aarch64.sh rustc      prints the path of a compiler for AArch64: RUSTC=$(scripts/aarch64.sh rustc) cargo xtask dist
#     scripts/aarch64.sh shell WORD…  runs a command in the machine, in the checkout
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
repository=$PWD
triple=aarch64-unknown-linux-gnu
place=$repository/target/aarch64
# Development builds of some crates read their texts from their sources.
crates=${CARGO_HOME:-$HOME/.cargo}/registry/src
mkdir -p "$place"

# The crates whose own tests run in the machine, and the tests of the program that run there: what is built on system calls.
suites="cycod-file cycod-flow cycod-plan cycod-process cycod-run cycod-secret cycod-store"
program_suites="confine:: confined:: run::"

# The compiler of the system with the standard library for AArch64 beside its own. Debian has it as a package of the other architecture.
toolchain() {
    packages aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu aarch64-linux-gnu-g++ g++-aarch64-linux-gnu \
        mmdebstrap mmdebstrap jq jq
    if [ -e "$(rustc --print target-libdir --target $triple)" ]; then
        rustc=$(command -v rustc) cargo=$(command -v cargo)
        return
    fi
    packages /usr/bin/rustc rustc-web /usr/bin/cargo cargo-web
    rustc=$place/rustc cargo=/usr/bin/cargo
    [ ! -x "$rustc" ] || return 0
    sysroot=$place/sysroot/lib/rustlib
    mkdir -p "$sysroot"
    # From the same suite as the compiler, which reads only what its own version wrote.
    foreign "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$place/std" libstd-rust-web-dev
    ln -sfn "$(/usr/bin/rustc --print sysroot)/lib/rustlib/$(/usr/bin/rustc --print host-tuple)" "$sysroot/"
    ln -sfn "$place/std/usr/lib/rustlib/$triple" "$sysroot/"
    printf '#!/bin/sh\nexec /usr/bin/rustc --sysroot "%s" "$@"\n' "$place/sysroot" >"$rustc.new"
    chmod +x "$rustc.new"
    mv "$rustc.new" "$rustc"
}

foreign() { # foreign SUITE DIRECTORY PACKAGE…: unpacks packages for AArch64 and what they need; nothing of them runs
    suite=$1 directory=$2
    shift 2
    rm -rf "$directory"
    mmdebstrap --quiet --mode=root --variant=extract --architectures=arm64 --include="$(echo "$@" | tr ' ' ,)" \
        "$suite" "$directory" >/dev/null
}

# A root file system with a kernel, and a first file system that finds both it and the checkout on this machine.
machine() {
    packages qemu-system-aarch64 qemu-system-arm cpio cpio depmod kmod xz xz-utils
    root=$place/root
    [ ! "$place/initrd" -nt scripts/aarch64-init.sh ] || return 0
    # Its kernel is 6.12, the first that confines everything that a tool can ask for.
    foreign trixie "$root" bash dash coreutils findutils grep sed gawk procps python3 git jq sqlite3 mount util-linux \
        busybox-static linux-image-arm64
    echo '127.0.0.1 localhost' >"$root/etc/hosts"
    kernel=$(basename "$root"/lib/modules/*)
    depmod -b "$root" "$kernel"
    first=$place/first
    rm -rf "$first"
    mkdir -p "$first/bin" "$first/proc" "$first/sys" "$first/dev" "$first/root" "$first/modules"
    cp "$root/bin/busybox" "$first/bin/"
    number=10
    for module in virtio_pci virtio_mmio 9pnet_virtio 9p; do
        line=$(grep "/$module.ko" "$root/lib/modules/$kernel/modules.dep") || continue # It is part of the kernel.
        # Dependencies are listed with the innermost last.
        for file in $(echo "${line#*:}" | tr ' ' '\n' | tac) "${line%%:*}"; do
            xz -dc "$root/lib/modules/$kernel/$file" >"$first/modules/$number-$(basename "$file" .xz)"
            number=$((number + 1))
        done
    done
    cp scripts/aarch64-init.sh "$first/init"
    (cd "$first" && find . | cpio --quiet -o -H newc | gzip -1) >"$place/initrd.new"
    mv "$place/initrd.new" "$place/initrd"
}

start() { # start MINUTES: runs target/aarch64/job.sh in the machine; its status is the machine's
    rm -f "$place/status"
    timeout "$1m" qemu-system-aarch64 -M virt -cpu max -smp 2 -m 3G -nic none -nographic -no-reboot \
        -kernel "$place"/root/boot/vmlinuz-* -initrd "$place/initrd" \
        -append "console=ttyAMA0 quiet panic=-1 checkout=$repository crates=$crates" \
        -virtfs "local,path=$place/root,mount_tag=root,security_model=passthrough,multidevs=remap" \
        -virtfs "local,path=$repository,mount_tag=checkout,security_model=passthrough,multidevs=remap" \
        -virtfs "local,path=$crates,mount_tag=crates,security_model=passthrough,multidevs=remap,readonly=on" </dev/null
    [ -s "$place/status" ] || { echo "aarch64: the machine did not get to the end" >&2 && return 1; }
    return "$(cat "$place/status")"
}

build() { # build WORD…: the paths of the test programs, each with the directory that it runs in
    RUSTC=$rustc CARGO_TARGET_DIR=$place/build CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=false \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        "$cargo" test --no-run --locked --target $triple --message-format json "$@" |
        jq -r 'select(.reason == "compiler-artifact" and .profile.test and .executable)
            | "\(.manifest_path | rtrimstr("/Cargo.toml"))\t\(.executable)"'
}

case ${1:-} in
rustc)
    toolchain
    echo "$rustc"
    ;;
shell)
    shift
    machine
    printf '%s\n' "$*" >"$place/job.sh"
    start 60
    ;;
"")
    toolchain
    machine
    # shellcheck disable=SC2046,SC2086 # lists of words
    build $(printf -- '-p %s ' $suites) >"$place/programs"
    build -p cycod --test cli --test smoke >"$place/program"
    {
        echo 'failed=0'
        echo 'run() { echo "== $3"; cd "$2" && CARGO_MANIFEST_DIR=$2 timeout "$1" "$3" $4 || failed=1; }'
        while IFS="$(printf '\t')" read -r directory program; do
            echo "run 1200 '$directory' '$program'"
        done <"$place/programs"
        while IFS="$(printf '\t')" read -r directory program; do
            case $program in
            */cli-*) echo "run 2400 '$directory' '$program' '$program_suites'" ;;
            *) echo "run 1200 '$directory' '$program'" ;;
            esac
        done <"$place/program"
        echo 'exit $failed'
    } >"$place/job.sh"
    start 120
    ;;
*)
    echo "usage: scripts/aarch64.sh [rustc | shell WORD…]" >&2
    exit 2
    ;;
esac
