#!/bin/bash
# The llama example in tensor parallel, started as ranks: the tokens of one rank, and ranks that do something else, die or
# come late.
# needs: tests/cli/llama_faults
. "$(dirname "$0")/../lib.sh"
command=$OUT/breakgraph llama=$OUT/examples/llama/llama faulty=$OUT/tests/cli/llama_faults
if [ ! -e "$OUT/libbreakgraph_nccl.a" ]; then
    skip ranks "there is no NCCL"
    exit 0
fi
# Many starts, and ranks that wait.
in_depth='bisect|late|.*-4-eager-sums|step-4|shadow-4'
possible=4
[ "$DEVICE" = host ] || possible=$({ timeout 60 "$command" doctor || true; } 2>/dev/null | grep -c '^✓ device [0-9]')
if [ "$possible" -lt 2 ]; then
    skip ranks "needs 2 devices, and there are $possible"
    exit 0
fi

timeout 300 "$llama" --tokens 12 >"$work/one" 2>"$work/log" && pass one-rank || fail one-rank "exit status $?"

# tokens NAME RANKS ENVIRONMENT ARGUMENT...: the text of one rank, and nothing from the others.
tokens()
{
    local name=$1 ranks=$2 variables=$3
    ! is_left_out "$name" || return 0
    shift 3
    if ! env $variables timeout 300 "$command" run --ranks="$ranks" --no-prefix -- "$llama" --tokens 12 "$@" >"$work/text" 2>"$work/log"; then
        fail "$name" "it fails"
    elif ! cmp -s "$work/one" "$work/text"; then
        fail "$name" "the text is $(cat "$work/text"), that of one rank $(cat "$work/one")"
    else
        pass "$name"
    fi
}
for ranks in 2 4; do
    if [ "$ranks" -gt "$possible" ]; then
        skip "ranks-$ranks" "needs $ranks devices, and there are $possible"
        continue
    fi
    for mode in eager full breakable; do
        tokens $mode-$ranks $ranks A=1 --mode $mode
        tokens $mode-$ranks-eager-sums $ranks BG_EAGER_OPS=all_reduce --mode $mode
    done
    tokens forward-$ranks $ranks BG_DEBUG=forward
    tokens ops-$ranks $ranks BG_DEBUG=ops
    tokens step-$ranks $ranks BG_DEBUG=step
    tokens shadow-$ranks $ranks BG_SHADOW=calls
    if is_left_out "shadow-$ranks"; then :
    elif grep -q 'finding' "$work/log"; then fail shadow-clean-$ranks "there are findings"; else pass shadow-clean-$ranks; fi
    # Each rank holds no more than its part and what all hold: embedding and output, norms.
    bytes=$("$command" run --ranks="$ranks" -- "$llama" --tokens 1 2>&1 | sed -n 's/.*rank [0-9]* of [0-9]*: \([0-9]*\) bytes.*/\1/p' | sort -n | tail -1)
    largest=$((9437184 / ranks + 1057792)) # of the small model: its layers' matrices are split, embedding, output and norms are not
    if [ -n "$bytes" ] && [ "$bytes" -le "$largest" ]; then pass bytes-$ranks; else fail bytes-$ranks "a rank holds ${bytes:-no} bytes, expected at most $largest"; fi
    if env LLAMA_ALL_REDUCE=0 "$command" run --ranks="$ranks" --no-prefix -- "$llama" --tokens 12 2>/dev/null | cmp -s "$work/one" -; then
        fail no-sums-$ranks "the tokens are right without all-reduce"
    else
        pass no-sums-$ranks
    fi
done

# Rank 1 alone does something else, in a shell of its own.
odd() { timeout 300 env BG_RANKS_TIMEOUT=100 "$command" run --ranks=2 -- sh -c "[ \$RANK = 0 ] || { $1; }; exec '$llama' --tokens 200"; }
expect other-breaks 1 'rank 0: .*attention#0.*rank 1: .*rope#0' odd 'export BG_EAGER_OPS=rope'
[ "$(grep -c 'rank 0: .*rank 1: ' "$work/log")" -ge 2 ] && pass other-breaks-on-every-rank || fail other-breaks-on-every-rank "one rank alone says so"
expect late 0 'mode breakable' odd 'sleep 1'
BG_RANKS_COMPARE=1 expect other-debugging 0 'mode breakable' odd 'export BG_DEBUG=sync'
expect fails-at-start 5 'rank 1 .*status 5' odd 'exit 5'
expect killed-at-start 137 'rank 1 .*SIGKILL' odd 'kill -9 $$'

# All ranks have the fault, and every start has the same calls eager.
! deep || "$faulty" --plant-faults counter:3 --tokens 1 2>&1 >/dev/null | grep -oE '^planted: [a-z_]+#[0-9]+' | cut -d' ' -f2 >"$work/planted"
expect bisect 1 '^culprit ' "$command" bisect --ranks=2 --state="$work/state" --shadow -- "$faulty" --plant-faults counter:3 --tokens 3
! deep || { sed -n 's/^culprit \([a-z_]*#[0-9]*\) .*/\1/p' "$work/log" | cmp -s - "$work/planted" && [ -s "$work/planted" ] && pass bisect-exact; } ||
    fail bisect-exact "planted: $(cat "$work/planted")"
expect check 0 '0 findings' timeout 300 "$command" check --ranks=2 -- "$llama" --tokens 3
expect step 0 '0 findings' timeout 300 "$command" step --ranks=2 -- "$llama" --tokens 3
expect report 0 '0 findings' timeout 300 "$command" report --ranks=2 --text --trace="$work/trace.json" --html="$work/page.html" -- "$llama" --tokens 3
[ -s "$work/page.html" ] && [ -s "$work/trace.rank-0.json" ] && [ -s "$work/trace.rank-1.json" ] && pass report-files || fail report-files "some are missing"
exit $bad
