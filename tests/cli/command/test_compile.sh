#!/bin/bash
# Rules that are wrong (tests/cli/command/rules.c): the referee drops and names them; without proofs, bisect --compiled names the
# run. And random programs with rules.
# needs: tests/cli/command/rules tests/random/test_random
. "$(dirname "$0")/../lib.sh"

program=$OUT/tests/cli/command/rules command=$PWD/$OUT/breakgraph
if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for kind in none epsilon swapped in-place padded large; do skip "$kind" "there is no GPU"; done
    exit 0
fi

# On a GPU a proof also measures: a rule of tiny kernels may be slower, and is then not used.
for kind in epsilon swapped in-place padded large; do
    expect "plain-$kind" 0 'gives the same bits' "$program" $kind 0
    expect "dropped-$kind" 0 'fusion-differs\] plus_norm\[plus#0, norm#0\] at tests/cli/command/rules.c' \
        env BG_COMPILE=2 "$program" $kind 0
    expect "unproven-$kind" 1 'gives other bits' env BG_COMPILE=2 BG_COMPILE_PROVE=off "$program" $kind 3
    expect "bisect-$kind" 1 'culprit plus_norm#3 \(plus_norm\[plus#3, norm#3\]\) at tests/cli/command/rules.c' \
        env BG_COMPILE_PROVE=off "$command" bisect --compiled --state="$work/state" -- "$program" $kind 3
    rm -f "$work/state"
    expect "shadow-$kind" 1 'breakgraph bisect --compiled names the rule' \
        env BG_COMPILE=2 BG_COMPILE_PROVE=off "$command" run --shadow=calls -- "$program" $kind 3
done
# What a rule may differ by is no fault of the graph.
expect tolerated 0 'call by call: nothing differs' env BG_COMPILE=3 "$command" run --strict --shadow=calls -- "$OUT/examples/llama/llama" --tokens 1
expect right 0 'gives the same bits' env BG_COMPILE=2 "$program" none 0
expect right-unproven 0 'gives the same bits' env BG_COMPILE=2 BG_COMPILE_PROVE=off "$program" none 0
expect bisect-nothing 0 'was good in both trials' "$command" bisect --compiled --state="$work/state" -- "$program" none 0
rm -f "$work/state"
expect bisect-stays 13 'fault remains with none of the 5 runs' \
    env BG_COMPILE_PROVE=off "$command" bisect --compiled --state="$work/state" -- sh -c "$program none 0; exit 1"
rm -f "$work/state"
expect bisect-level 2 'BG_COMPILE=1 fuses nothing' \
    env BG_COMPILE=1 "$command" bisect --compiled --state="$work/state" -- "$program" epsilon 0
expect bisect-no-rules 11 'no rule has fused anything' \
    "$command" bisect --compiled --state="$work/state" -- sh -c "BG_COMPILE=0 $program epsilon 0; exit 1"
expect printed 0 'plus_norm\[plus#4, norm#4\]' env BG_COMPILE=2 BG_COMPILE_PRINT=1 "$program" none 0
expect fits 0 'fusion-fits\] plus_norm\[plus#0, norm#0\] at .*: the rule for plus_norm' env BG_COMPILE=1 "$program" none 0
expect no-rules 0 'BG_COMPILE changes nothing: the program has no rules' env BG_COMPILE=2 "$OUT/examples/quickstart"
expect misspelt 0 'BG_COMPILE_OPS: no rule.s op matches "plus_nrom#1" \(did you mean plus_norm\?\)' \
    env BG_COMPILE=2 BG_COMPILE_OPS='plus_nrom#1' "$program" none 0
expect left-out 0 'gives the same bits' env BG_COMPILE=2 BG_COMPILE_PROVE=off BG_COMPILE_OPS='!plus_norm#3' "$program" epsilon 3

# The check captures twice, and launches neither: that rules are unproven there says nothing about the program.
# shellcheck disable=SC2016
expect captures-of-tools 1 'check recapture: 0 findings' env BG_COMPILE=2 \
    sh -c '"$0" check --what=recapture -- "$1" none 0 2>&1 | tee /dev/stderr | grep -q fusion-unproven' "$command" "$program"
for prove in once off; do
    expect "random-$prove" 0 'ok programs' env BG_COMPILE=2 BG_COMPILE_PROVE=$prove "$OUT/tests/random/test_random" \
        --programs "${PROGRAMS:-$(sized 20 600)}" --seed "${SEED:-1}"
done
exit $bad
