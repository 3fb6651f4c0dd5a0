#!/bin/bash
# The commands in README.md and docs whose output stands behind them ("$ command"): run, and compared with that output, but for addresses,
# numbers of threads, and numbers with a fraction, such as times; files are named without their folder. "..." stands for any text. Pages are read as they are: a line that ages
# fails. On a GPU (make gpu-check PART=attach) the programs of Python are run, else all others.
# needs: tests/cli/command/mix tests/zoo/plain/alias_writers
. "$(dirname "$0")/../lib.sh"

in_depth='docs/debugging.md:4|docs/attach/(breaks.md:2|hangs.md:1)' # searches, and a time limit
frameworks=
[ "$DEVICE" != cuda ] || ! python3 -c 'import torch, cupy, jax; assert torch.cuda.is_available()' 2>/dev/null || frameworks=there
# Why a sample is not run here; nothing if it is.
why_not()       # command
{
    case $1 in
    *llama-simple*) echo "needs llama.cpp" ;;
    *python3*) [ -n "$frameworks" ] || echo "needs a GPU and PyTorch, CuPy, JAX: make gpu-check PART=attach" ;;
    *) [ "$DEVICE" = host ] || echo "the page shows what the host device prints" ;;
    esac
}

out=$(cd "$OUT" && pwd)
mkdir "$work/bin"
ln -s "$out"/{breakgraph,hostcuda-cc,tests/cli/llama_faults,tests/cli/command/mix,examples/llama/llama,examples/hostcuda/missing_join} \
    "$PWD"/tests/attach/*.py "$PWD"/examples/pytorch/*.py "$PWD"/tests/programs/{reductions.cu,program.h} "$work/bin"
PATH=$work/bin:$PATH
make() { [ "$1" = demo ] && "$out/examples/llama/llama" --demo; }
if [ "$DEVICE" = host ]; then
    . tests/cli/attach/programs/build.sh
    build_program graphs && build_program frozen && build_program hang && build_cuda order ||
        { fail pages-programs "tests/cli/attach does not build"; exit $bad; }
    ln -s "$work"/{graphs,frozen,hang,order} "$work/bin"
fi

# Prints on each line: page, number, commands, and what stands behind them, with \n between lines; fields end in a tab. A command with
# nothing behind it is run before the next one.
samples()
{
    awk 'function flush() { if (text != "") { printf "%s\t%d\t%s\t%s\n", FILENAME, ++n, command, text; command = "" } text = "" }
         /^ *```/ { flush(); command = ""; inside = !inside; next }
         inside && /^\$ / { flush(); command = (command != "" ? command "\\n" : "") substr($0, 3); next }
         inside && command != "" { gsub(/\\/, "\\\\"); text = text $0 "\\n" }' "$1"
}

# Reads text: addresses, threads and fractions are the same, and so are blanks.
plain()
{
    sed -E 's/0x[0-9a-f]+/ADDRESS/g; s/thread,? [0-9]+/THREAD/g; s/[0-9]+\.[0-9]+/FRACTION/g; s/\x1b\[[0-9;]*m//g' | tr -s ' \n' ' ' |
        sed 's/^ //; s/ $//'
}

is_like()   # found, wanted: each part between "..." is there, in this order, from the first to the last
{
    local pattern
    pattern=$(sed -E 's/[^A-Za-z0-9 ]/\\&/g; s/ ?\\\.\\\.\\\. ?/*/g' <<<"$2")
    # shellcheck disable=SC2053 # a pattern
    [[ $1 == $pattern ]]
}

check_sample()  # page, number in it, command, text
{
    local name=$1:$2 command=${3//\\n/$'\n'} found wanted reason
    reason=$(why_not "$command")
    if [ -n "$reason" ]; then
        skip "$name" "$reason"
        return
    fi
    ! is_left_out "$name" || return 0
    (cd "$work/bin" && eval "${command//build\/host/$out}") >"$work/out" 2>&1 </dev/null # its status is its own: findings make it 1
    found=$(sed -E "s|$out/|build/host/|g; s|$work/bin/||g; s|/[^ ]*/site-packages/||g" "$work/out" | plain)
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
    [ "$number" != 1 ] || { rm -rf "$work/bin/DIR" && mkdir "$work/bin/DIR"; }
    check_sample "$page" "$number" "$command" "$text"
done < <(for page in README.md docs/*.md docs/attach/*.md; do samples "$page"; done)
[ "$count" -gt 20 ] && pass pages-found || fail pages-found "$count samples"

# It can fail: a number that is another one, a word, a missing line.
is_like 'a 1 b' 'a 2 b' || is_like 'a b c' 'a ... d' || is_like 'a b' 'a' || ! is_like 'a b c d' 'a ... d' || ! is_like 'a (b) *' 'a (b) *' &&
    fail pages-compare || pass pages-compare
exit $bad
