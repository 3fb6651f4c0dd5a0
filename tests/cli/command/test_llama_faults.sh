#!/bin/bash
# The example with planted faults, which other tests search for: the text is wrong where the planted call is captured.
# needs: tests/cli/llama_faults
. "$(dirname "$0")/../lib.sh"
program=$OUT/tests/cli/llama_faults

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in none planted eager forward clean-program no-value bad-kind bad-seed bisect; do skip $name "there is no GPU"; done
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

# found NAME COMMAND...: breakgraph bisect names the calls that are planted, no others, and each with its line. A start of
# the program is a trial: it leaves a line in the file.
seed=${BREAKGRAPH_SEED:-3}
echo "seed $seed"
printf '#!/bin/bash\necho >>"%s"\nexec "$@"\n' "$work/starts" >"$work/count" && chmod +x "$work/count"
bisect() { : >"$work/starts"; "$OUT/breakgraph" bisect --fresh --state="$work/state" --shadow -- "$work/count" "$program" --plant-faults "$1:$seed" --tokens 3 >"$work/log" 2>&1; }
for kind in $(sized branch 'branch counter leaked temporary skipped host-copy cached beside position nan pair cancel'); do
    "$program" --plant-faults "$kind:$seed" --tokens 1 2>&1 >/dev/null | grep '^planted:' | grep -oE '[a-z_]+#[0-9]+' | sort >"$work/planted"
    rm -f "$work/state"
    bisect $kind
    status=$?
    sed -n 's/^culprit \([a-z_]*#[0-9]*\) (op [a-z_]*) at examples\/llama\/model.c:[0-9]*$/\1/p' "$work/log" | sort >"$work/culprits"
    starts=$(wc -l <"$work/starts")
    if [ $status -ne 1 ] || [ ! -s "$work/planted" ] || ! cmp -s "$work/planted" "$work/culprits"; then
        fail "bisect-$kind" "exit status $status, planted: $(tr '\n' ' ' <"$work/planted")"
    elif [ "$(wc -l <"$work/planted")" -eq 1 ] && [ "$starts" -gt 20 ]; then # 2 log2(64) + 8
        fail "bisect-$kind" "$starts starts"
    else
        pass "bisect-$kind"
    fi
done
rm -f "$work/state"
bisect varies
status=$?
call=$("$program" --plant-faults "varies:$seed" --tokens 1 2>&1 >/dev/null | sed -n 's/^planted: \([a-z_]*#[0-9]*\) (varies)$/\1/p')
if [ $status -eq 12 ] && grep -q "${call:-nothing} at .*model.c:[0-9]*: the eager pass is nondeterministic" "$work/log"; then pass bisect-varies
else fail bisect-varies "exit status $status, planted: $call"; fi
: >"$work/starts"
expect bisect-clean 0 'there is no fault to search for' "$OUT/breakgraph" bisect --state="$work/clean" --shadow -- "$program" --tokens 3

# A drawing of each of the five segments, whole; a place that is not there does no harm to the program.
mkdir "$work/dot"
expect dot 0 'segments 5' "$OUT/breakgraph" run -e BG_DOT="$work/dot" -- "$program" --tokens 2
if [ "$(find "$work/dot" -name 'llama-*-1-[0-4].dot' | wc -l)" -eq 5 ] && [ "$(cat "$work"/dot/*.dot | grep -c '^digraph segment {$')" -eq 5 ] &&
    [ "$(cat "$work"/dot/*.dot | grep -c '^}$')" -eq 5 ]; then pass dot-files
else find "$work/dot" >"$work/log"; fail dot-files "not five whole drawings"; fi
expect dot-nowhere 0 'BG_DOT: .*No such file' "$OUT/breakgraph" run -e BG_DOT="$work/nowhere" -- "$program" --tokens 2

exit $bad
