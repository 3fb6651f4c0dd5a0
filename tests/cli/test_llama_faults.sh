#!/bin/bash
# The example with planted faults, which other tests search for: the text is wrong where the planted call is captured.
. "$(dirname "$0")/lib.sh"
program=$OUT/tests/cli/llama_faults

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in none planted eager forward clean-program no-value bad-kind bad-seed; do skip $name "there is no GPU"; done
    exit 0
fi

# text NAME COMMAND...: the text that the command prints is that of an eager run; differs NAME COMMAND...: it is not.
"$OUT/examples/llama/llama" --mode eager >"$work/eager" 2>"$work/log" || fail eager-run "exit status $?"
run() { "$@" >"$work/text" 2>"$work/log" && [ -s "$work/text" ]; }
text()
{
    local name=$1
    shift
    if ! run "$@"; then fail "$name" "it fails"
    elif ! cmp -s "$work/eager" "$work/text"; then fail "$name" "the text is not that of an eager run"
    else pass "$name"; fi
}
differs()
{
    local name=$1
    shift
    if ! run "$@"; then fail "$name" "it fails"
    elif cmp -s "$work/eager" "$work/text"; then fail "$name" "the text is that of an eager run"
    else pass "$name"; fi
}

text none "$program"
differs planted "$program" --plant-faults branch:1
call=$(sed -n 's/^planted: \([a-z_]*#[0-9]*\) (branch)$/\1/p' "$work/log")
text eager env BG_EAGER_OPS="${call:-nothing is planted}" "$program" --plant-faults branch:1
text forward env BG_DEBUG=forward "$program" --plant-faults branch:1

# The example itself has none.
expect clean-program 2 'unknown flag "--plant-faults"' "$OUT/examples/llama/llama" --plant-faults branch:1
expect no-value 2 'allowed: KIND:SEED, KIND one of branch .* varies$' "$program" --plant-faults
expect bad-kind 2 '"bronch:1"; allowed: KIND:SEED' "$program" --plant-faults bronch:1
expect bad-seed 2 '"branch:x"; allowed: KIND:SEED' "$program" --plant-faults branch:x

exit $bad
