#!/bin/bash
# The commands in README.md and docs whose output stands behind them ("$ command"): run, and compared with that output, but for addresses
# and numbers with a fraction, such as times. "..." stands for any text. Pages are read as they are: a line that ages fails.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip pages "what the pages show was printed on the host device, or is in a record"
    exit 0
fi
in_depth='docs/debugging.md:4' # a search

# What stands for the reader's program, or needs a GPU or a package: who else holds the page to it.
elsewhere='python3|tests/zoo/|torchrun|llama-simple|\./(model|server|order|graphs|unloaded)|engine|report DIR|pip |reductions'
out=$(cd "$OUT" && pwd)
mkdir "$work/bin"
ln -s "$out"/{breakgraph,tests/cli/llama_faults,examples/llama/llama,examples/hostcuda/missing_join} "$work/bin"
PATH=$work/bin:$PATH
make() { [ "$1" = demo ] && "$out/examples/llama/llama" --demo; }

# Prints on each line: page, number, command, and what stands behind it, with \n between its lines; fields end in a tab.
samples()
{
    awk 'function flush() { if (text != "") printf "%s\t%d\t%s\t%s\n", FILENAME, ++n, command, text; command = text = "" }
         /^ *```/ { flush(); inside = !inside; next }
         inside && /^\$ / { flush(); command = substr($0, 3); next }
         inside && command != "" { gsub(/\\/, "\\\\"); text = text $0 "\\n" }' "$1"
}

# Reads text: addresses and fractions are the same, and so are blanks.
plain() { sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/[0-9]+\.[0-9]+/FRACTION/g; s/\x1b\[[0-9;]*m//g' | tr -s ' \n' ' ' | sed 's/^ //; s/ $//'; }

is_like()   # found, wanted: each part between "..." is there, in this order, from the first to the last
{
    local pattern
    pattern=$(sed -E 's/[^A-Za-z0-9 ]/\\&/g; s/ ?\\\.\\\.\\\. ?/*/g' <<<"$2")
    # shellcheck disable=SC2053 # a pattern
    [[ $1 == $pattern ]]
}

check_sample()  # page, number in it, command, text
{
    local name=$1:$2 found wanted
    if [[ $3 =~ $elsewhere ]]; then
        skip "$name" "the program is the reader's, or needs a GPU or a package"
        return
    fi
    ! is_left_out "$name" || return 0
    (cd "$work/bin" && eval "${3//build\/host/$out}") >"$work/out" 2>&1 </dev/null # its status is its own: findings make it 1
    found=$(sed "s|$out/|build/host/|g" "$work/out" | plain)
    wanted=$(printf '%b' "$4" | plain)
    if is_like "$found" "$wanted"; then
        pass "$name"
    else
        printf 'wanted: %s\nfound:  %s\n' "$wanted" "$found" >"$work/log"
        fail "$name" "the page shows another output"
    fi
}

count=0
while IFS=$'\t' read -r page number command text; do
    count=$((count + 1))
    check_sample "$page" "$number" "$command" "$text"
done < <(for page in README.md docs/*.md docs/attach/*.md; do samples "$page"; done)
[ "$count" -gt 20 ] && pass pages-found || fail pages-found "$count samples"

# It can fail: a number that is another one, a word, a missing line.
is_like 'a 1 b' 'a 2 b' || is_like 'a b c' 'a ... d' || is_like 'a b' 'a' || ! is_like 'a b c d' 'a ... d' || ! is_like 'a (b) *' 'a (b) *' &&
    fail pages-compare || pass pages-compare
exit $bad
