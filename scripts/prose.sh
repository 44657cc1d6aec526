#!/bin/sh
# Checks the English of the documentation and of the help pages with Harper, which is installed below target/prose, once.
#
#     scripts/prose.sh             everything
#     scripts/prose.sh FILE…       only these files
#
# tests/prose has the version, the words of the project, and the rules that are off, with the reasons. The words that this
# project avoids are in docs/STYLE.md; `cargo xtask tidy` checks those.
set -eu
cd "$(dirname "$0")/.."

prose=${CARGO_TARGET_DIR:-target}/prose
stamp=$(sha256sum < tests/prose/requirements.txt)
if [ "$(cat "$prose/stamp" 2>/dev/null)" != "$stamp" ]; then
    rm -rf "$prose"
    python3 -m venv "$prose"
    "$prose/bin/pip" install --quiet --disable-pip-version-check --requirement tests/prose/requirements.txt
    # It is written last, so that an installation that was cut off is made again.
    printf '%s' "$stamp" > "$prose/stamp"
fi

# What is checked are copies in which only the English is left, on the same lines.
copies=$prose/copies
rm -rf "$copies"
if [ $# = 0 ]; then
    set -- README.md ARCHITECTURE.md CHANGELOG.md CONTRIBUTING.md SECURITY.md docs/*.md docs/guide/*.md \
        docs/reference/*.md docs/errors/*.md crates/cycod/src/help/pages/*.txt
fi
for file in "$@"; do
    copy=$copies/${file%.txt}
    mkdir -p "$(dirname "$copy")"
    case $file in
    # Of a help page, the paragraphs: not its usage lines, options and examples.
    *.txt) sed 's/^  \([^ -].*\)$/\1/; t keep; s/.*//; :keep; s/^cycod .*//; s/.*   .*//' "$file" > "$copy.md" ;;
    # The title of a page about an error is a name.
    docs/errors/*) awk 'NR == 1 { print ""; next } { print }' "$file" > "$copy" ;;
    *) awk '/<!--/ { hidden = 1 } { print hidden ? "" : $0 } /-->/ { hidden = 0 }' "$file" > "${copy%.md}.md" ;;
    esac
done
count=$#
# shellcheck disable=SC2046 # no path has a blank
set -- $(find "$copies" -name '*.md' | sort)

rules=$(sed -n 's/^\([A-Z][A-Za-z]*\) .*/\1/p' tests/prose/ignored.txt | paste -sd, -)
found=$prose/found
if "$prose/bin/harper" lint --quiet --no-color --format compact --ignore "$rules" \
    --user-dict-path tests/prose/words.txt "$@" > "$found" 2> "$prose/errors"; then
    echo "the English of $count files has no findings"
else
    cat "$found"
    grep -v '^ *[0-9]*: \|^Stack backtrace\|^ *at ' "$prose/errors" >&2 || true
    exit 1
fi
