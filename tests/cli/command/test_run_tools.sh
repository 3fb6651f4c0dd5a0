#!/bin/bash
# breakgraph run where it stays as the parent of its program: what tools looked at, --strict, --seeds, signals and the terminal.
# needs: tests/cli/llama_faults
. "$(dirname "$0")/../lib.sh"
command=$OUT/breakgraph
quickstart=$OUT/examples/quickstart
here=$PWD
# What waits for time limits, and for what must not come.
in_depth='terminal-interrupts-once|seeds-hangs?'

# said NAME LINE: the last command printed that line, and it was the last one.
said() { [ "$(tail -n 1 "$work/log")" = "$2" ] && pass "$1" || fail "$1" "the last line is not: $2"; }

# ---- the program has all that it has without the command ----

expect bare-becomes 0 '^same$' sh -c "'$command' run -- sh -c 'echo \$PPID' >'$work/parent'; [ \"\$(cat '$work/parent')\" = \$\$ ] && echo same"
expect tool-is-parent 0 '^other$' sh -c "'$command' run --shadow -- sh -c 'echo \$PPID' >'$work/parent' 2>/dev/null; [ \"\$(cat '$work/parent')\" = \$\$ ] || echo other"
expect status 7 '' "$command" run --shadow -- sh -c 'exit 7'
expect status-signal 139 "^breakgraph run: signal SIGSEGV .* ended 'sh'" "$command" run --check=replay -- sh -c 'kill -SEGV $$'
said status-signal-next "next: breakgraph step -- sh -c 'kill -SEGV \$\$'"
expect missing 3 "'/nowhere' cannot be started" "$command" run --shadow -- /nowhere
expect input 0 '^hello$' sh -c "echo hello | '$command' run --debug=ops -- cat"
expect timeout 8 'ran longer than 0.3 s and was killed' "$command" run --shadow --timeout=0.3 -- sleep 20
expect timeout-bare 2 '^breakgraph run: --timeout needs' "$command" run --timeout=1 -- true
expect off-is-bare 0 '^$' sh -c "'$command' run --debug=off --shadow=0 --check=off -- true; echo"

cat >"$work/traps.sh" <<'SH'
trap 'echo SIG$1; exit 9' "$1"
echo ready
while :; do sleep 0.1; done
SH
passes() # SIGNAL: it reaches the program, which decides
{
    local pid
    : >"$work/log"
    env --default-signal=INT,QUIT,HUP "$command" run --shadow -- bash "$work/traps.sh" "$1" >"$work/log" 2>&1 </dev/null &
    pid=$!
    await holds "$work/log" ready
    kill -"$1" $pid
    wait $pid
    status=$?
    [ $status -eq 9 ] && [ "$(grep -c "^SIG$1\$" "$work/log")" = 1 ] && pass "passes-$1" || fail "passes-$1" "exit status $status, expected 9"
}
for signal in INT TERM HUP USR1; do passes $signal; done
ended_by_signal()
{
    "$command" run --shadow -- sh -c ": >'$work/begun'; exec sleep 600" &
    local pid=$!
    await test -e "$work/begun"
    kill -TERM $pid
    wait $pid
    echo "status $?"
}
expect ended-by-signal 0 '^status 143$' ended_by_signal
if command -v script >/dev/null; then
    # The command stands still meanwhile: a second signal, if it passed that of the terminal on, would come after the first.
    cat >"$work/counts.sh" <<'SH'
n=0
trap 'n=$((n + 1))' INT
read -r _ _ _ parent _ <"/proc/$PPID/stat"
kill -STOP "$parent"
: >"$1"
until [ $n -gt 0 ]; do sleep 0.1; done
for ((i = 0; i < 5; i++)); do sleep 0.1; done
kill -CONT "$parent"
for ((i = 0; i < 5; i++)); do sleep 0.1; done
echo "counted $n"
: >"$1.done"
exit 5
SH
    # script starts the command by $SHELL; dash would end itself by the Ctrl-C
    expect terminal-interrupts-once 0 'counted 1' sh -c "(while [ ! -e '$work/ready' ]; do sleep 0.05; done; printf '\\003'; while [ ! -e '$work/ready.done' ]; do sleep 0.05; done) | SHELL=$(command -v bash) script -qec \"'$command' run --shadow -- bash '$work/counts.sh' '$work/ready'; echo status \\\$?\" /dev/null"
    ! deep || { grep -q '^status 5' "$work/log" && pass terminal-status; } || fail terminal-status "another exit status than 5"
    expect terminal-input 0 '^read abc' sh -c "echo abc | script -qec \"'$command' run --shadow -- sh -c 'tty >/dev/null && read x && echo read \\\$x'\" /dev/null"
else
    for name in interrupts-once status input; do skip "terminal-$name" "script (util-linux) is not installed"; done
fi

# ---- --seeds: results of a program that need not use the library ----

seeded='[ $HOSTCUDA_SEED != 2 ] || { echo two; exit 1; }; echo one'
if [ "$DEVICE" = host ]; then
    expect seeds 12 '^4 seeds: 2 results: 3 as seed 0, 1 as seed 2; the order of work decides$' "$command" run --seeds=4 -- sh -c "$seeded"
    said seeds-next "next, if it launches graphs: breakgraph check --attach --what=orders -e HOSTCUDA_SEED=2 -- sh -c '${seeded}'"
    grep -Eq '^0-1, 3 +3  0 +[0-9a-f]{8}  -$' "$work/log" && grep -Eq '^2 +1  1 +[0-9a-f]{8}  -; line 1: two$' "$work/log" &&
        pass seeds-table || fail seeds-table "the rows are others"
    grep -q '^bad: breakgraph run -e HOSTCUDA_SEED=2 -- sh' "$work/log" && pass seeds-example || fail seeds-example "no command for a bad one"
    expect seeds-equal 0 '^3 seeds: all give the same result, with exit status 0$' "$command" run --seeds=3 -- echo one
    said seeds-equal-next 'next, if the result is wrong: breakgraph check --attach -- echo one'
    expect seeds-equal-bad 5 'with exit status 5$' "$command" run --seeds=3 -- sh -c 'exit 5'
    expect seeds-output-only 12 '^bad: .*SEED=1 ' "$command" run --seeds=2 -- sh -c 'echo $HOSTCUDA_SEED'
    expect seeds-varies 0 '^0-2 +3  0 +varies +-$' "$command" run --seeds=3 -- sh -c 'date +%N'
    expect seeds-hangs 12 '^1 +1  hangs ' "$command" run --seeds=2 --timeout=5 -- sh -c '[ $HOSTCUDA_SEED = 0 ] || sleep 600'
    expect seeds-killed 12 '^1 +1  139 ' "$command" run --seeds=2 -- sh -c '[ $HOSTCUDA_SEED = 0 ] || kill -SEGV $$'
    expect seeds-missing 3 "'/nowhere' cannot be started" "$command" run --seeds=2 -- /nowhere
    expect seeds-quickstart 0 'all give the same result, with exit status 0' "$command" run --seeds=4 --shadow=calls --strict -- "$quickstart"
    said seeds-quickstart-next "next, if the result is wrong: breakgraph run --debug=forward -- $quickstart"
    expect seeds-attached 0 'all give the same result' "$command" run --attach --seeds=2 -- "$quickstart"
    said seeds-attached-next "next, if the result is wrong: breakgraph check --attach -- $quickstart"
    expect seeds-crash 139 'with exit status 139$' "$command" run --seeds=2 -- sh -c "$quickstart; kill -SEGV \$\$"
    said seeds-crash-next "next: breakgraph step -- sh -c '$quickstart; kill -SEGV \$\$'"
    expect seeds-hang 8 'with exit status 8$' "$command" run --seeds=2 --timeout=5 -- sh -c "$quickstart; sleep 600"
    ! deep || said seeds-hang-next "next: breakgraph step --timeout=5 -- sh -c '$quickstart; sleep 600'"
    expect seeds-strict-not-linked 4 'does not use libbreakgraph' "$command" run --seeds=2 --shadow --strict -- true
    expect seeds-strict-not-compared 14 'because of --strict' "$command" run --seeds=2 --shadow --strict -- sh -c \
        'echo "{\"breakgraph\": \"0.1.0\", \"report_version\": 2, \"process\": {\"pid\": 1, \"device\": \"host\", \"graphs\": 1, \"replays\": 1, \"ended\": true}}" >"$BG_REPORT/process-1.json"'
    expect seeds-linked 12 '2 results' "$command" run --seeds=2 -- sh -c "$quickstart; exit \$HOSTCUDA_SEED"
    said seeds-linked-next "next, if that finds nothing: breakgraph check --attach --what=orders -e HOSTCUDA_SEED=1 -- sh -c '$quickstart; exit \$HOSTCUDA_SEED'"
    expect seeds-gpu 2 "runs on a GPU: --seeds selects orders of the host device" "$command" run --seeds=2 -- sh -c \
        'echo "{\"breakgraph\": \"0.1.0\", \"report_version\": 2, \"process\": {\"pid\": 1, \"device\": \"cuda\"}}" >"$BG_REPORT/process-1.json"'
    for value in 0 -1 x 1x; do expect "seeds-bad-$value" 2 'whole numbers from 1 to' "$command" run "--seeds=$value" -- true; done
    expect seeds-reports 2 '^breakgraph run: --reports and --seeds exclude each other' "$command" run --seeds=2 --reports="$work" -- true
else
    expect seeds 2 'orders of the host device, and this breakgraph is built for' "$command" run --seeds=2 -- true
fi

# ---- what tools looked at ----

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    skip tools "there is no GPU"
    exit $bad
fi
expect shadow-clean 0 '^shadow: 2 replays of 1 graph compared with the eager pass, call by call: nothing differs$' "$command" run --shadow=calls -- "$quickstart"
said shadow-clean-next "next, if the result is wrong: breakgraph check -- $quickstart"
expect shadow-outputs 0 '^shadow: 2 replays of 1 graph compared with the eager pass: nothing differs$' "$command" run --shadow --strict -- "$quickstart"
expect shadow-not-linked 0 "does not use libbreakgraph" "$command" run --shadow -- true
expect strict-not-linked 4 "does not use libbreakgraph" "$command" run --shadow --strict -- true
expect strict-status 7 '' "$command" run --shadow --strict -- sh -c "'$quickstart'; exit 7"
expect killed-not-known 0 '^shadow: the program did not end by exit, so that what was compared is not known$' "$command" run --shadow -- \
    sh -c "'$quickstart'; sed -i 's/\"ended\": true/\"ended\": false/' \$BG_REPORT/process-*"
# One process of several, and all that was compared in a program that ends well, is no all-clear.
cat >"$work/told.sh" <<'SH'
process() { echo "{\"breakgraph\": \"0.1.0\", \"report_version\": 2, \"process\": {\"pid\": $1, \"device\": \"host\", \"graphs\": 1, \"replays\": 2, $2}}" >"$BG_REPORT/process-$1.json"; }
shadow() { echo "\"shadow\": {\"graphs\": $1, \"without_pass\": $2, \"compared\": $3, \"uncompared\": $4}"; }
SH
told() { echo ". '$work/told.sh'; $1"; }
unended=$(told 'process 1 "\"ended\": true, $(shadow 1 0 2 0)"; process 2 "\"ended\": false"')
expect strict-all-compared 0 'nothing differs$' "$command" run --shadow --strict -- sh -c "$(told 'process 1 "\"ended\": true, $(shadow 1 0 2 0)"')"
expect strict-nothing-compared 14 '^breakgraph run: exit status 14, because of --strict: ' "$command" run --shadow --strict -- sh -c "$(told 'process 1 "\"ended\": true, $(shadow 0 1 0 0)"')"
expect strict-uncompared 14 '; 1 replay could not be compared$' "$command" run --shadow --strict -- sh -c "$(told 'process 1 "\"ended\": true, $(shadow 1 0 1 1)"')"
expect strict-not-known 14 'what was compared is not known$' "$command" run --shadow --strict -- sh -c "$(told 'process 1 "\"ended\": false"')"
expect one-unended 14 '^shadow: 2 replays of 1 graph .*: nothing differs; 1 process did not end by exit, so that what was compared there is not known$' \
    "$command" run --shadow --strict -- sh -c "$unended"
expect shadow-crash 139 '^shadow: the program did not end by exit' "$command" run --shadow -- sh -c "$(told 'process 1 "\"ended\": false"; kill -SEGV $$')"
for mode in step forward; do
    expect shadow-and-$mode 2 "^breakgraph run: --debug=$mode .* and --shadow .* exclude each other" "$command" run --shadow --debug=$mode -- "$quickstart"
done
expect shadow-and-ops 0 '^shadow: 2 replays ' "$command" run --shadow --debug=ops -- "$quickstart"
expect without-pass 0 '^shadow: 0 replays of 0 graphs .*: nothing was compared; 1 graph not compared, captured without a forward function' "$command" run --shadow -- \
    sh -c 'echo "{\"breakgraph\": \"0.1.0\", \"report_version\": 2, \"process\": {\"pid\": 1, \"device\": \"host\", \"graphs\": 1, \"replays\": 1, \"ended\": true,
        \"shadow\": {\"graphs\": 0, \"without_pass\": 1, \"compared\": 0, \"uncompared\": 0}}}" >"$BG_REPORT/process-1.json"'
expect forward 0 '^forward: 2 replays of 1 graph ran the pass eagerly, without a graph: no findings$' "$command" run --debug=forward -- "$quickstart"
grep -qxF "next, if the result is now right (the capture is at fault): breakgraph run --shadow=calls -- $quickstart" "$work/log" &&
    pass forward-right || fail forward-right "it does not say what is next where the result is right"
said forward-wrong "next, if it is still wrong (the model, or what the program does around the pass): breakgraph check -- $quickstart"
expect forward-runner 0 "^next, if it is still wrong .*padding.*: breakgraph run -e BG_RUNNER_MODE=none -- $OUT/examples/runner/batches" "$command" run --debug=forward -- "$OUT/examples/runner/batches"
expect shadow-clean-fails 3 '^shadow: .*nothing differs$' "$command" run --shadow -- sh -c "$quickstart; exit 3"
said shadow-clean-fails-next "next: breakgraph check -- sh -c '$quickstart; exit 3'"
expect ranks 0 '^shadow: 4 replays of 2 graphs compared with the eager pass: nothing differs$' "$command" run --ranks=2 --oversubscribe --shadow --strict -- "$quickstart"
said ranks-next "next, if the result is wrong: breakgraph check --ranks=2 --oversubscribe -- $quickstart"
golden run-check 0 sh -c "'$command' run --strict --check=graph,replay,recapture,poison -- '$quickstart' 2>&1 >/dev/null"
golden run-check-not 14 "$command" run --strict --check=graph,poison -- sh -c "$(told 'process 1 "\"ended\": true, \"checks\": {\"graph\": {\"graphs\": 1, \"calls\": 3, \"nodes\": 2}}, \"not_checked\": [{\"check\": \"poison\", \"graph\": \"g\", \"why\": \"it is not launched\"}]"')"
expect run-check-nothing 14 '^check recapture: nothing was looked at$' "$command" run --strict --check=recapture -- sh -c "$(told 'process 1 "\"ended\": true"')"
expect run-check-loose 0 '^not looked at: recapture: the program made no capture' "$command" run --check=recapture -- sh -c "$(told 'process 1 "\"ended\": true"')"
expect run-check-not-known 14 '^not known: how many replays were compared: the program did not end by exit$' "$command" run --strict --check=replay -- sh -c "$(told 'process 1 "\"ended\": false"')"

faults=$OUT/tests/cli/llama_faults
planted=(-- "$faults" --plant-faults counter:3 --tokens 2)
expect shadow-finds 0 '^shadow: .* compared with the eager pass, call by call: [1-9][0-9]* findings?' "$command" run --shadow=calls "${planted[@]}"
expect shadow-finds-no-cause 0 '^fault \[mismatch-origin\] ' "$command" run --shadow=calls -- "$faults" --plant-faults branch:3 --tokens 2
said shadow-finds-no-cause-next "next: breakgraph check -- $faults --plant-faults branch:3 --tokens 2"
expect strict 1 '^breakgraph run: exit status 1, because of --strict: the program ended with 0, with [1-9]' "$command" run --shadow=calls --strict "${planted[@]}"
cat >"$work/races.sh" <<'SH'
head='"breakgraph": "0.1.0", "report_version": 2'
echo "{$head, \"process\": {\"pid\": 1, \"device\": \"host\", \"graphs\": 1, \"replays\": 1, \"ended\": true}}" >"$BG_REPORT/process-1.json"
echo "{$head, \"tool\": \"shadow\", \"findings\": [{\"kind\": \"race\", \"severity\": \"warning\", \"message\": \"m\"}]}" >"$BG_REPORT/report-1-1.json"
SH
expect race 0 '^check graph: 1 finding$' "$command" run --check=graph -- bash "$work/races.sh"
said race-next "next, if that is repaired: breakgraph $([ "$DEVICE" = host ] && echo 'run --seeds=20' || echo 'check --what=graph') -- bash $work/races.sh"
# What no op call has done is work outside them, which check looks at.
sed -e 's/race/mismatch/' "$work/races.sh" >"$work/outside.sh"
expect outside 0 '^shadow: ' "$command" run --shadow=calls -- bash "$work/outside.sh"
said outside-next "next: breakgraph check -- bash $work/outside.sh"
expect outputs 0 'shadow' "$command" run --shadow --timeout=50 -- bash "$work/outside.sh"
said outputs-next "next: breakgraph run --shadow=calls --timeout=50 -- bash $work/outside.sh"
mkdir "$work/reports"
echo '{"breakgraph": "0.1.0", "report_version": 2, "process": {"pid": 1, "device": "host", "graphs": 5, "replays": 5, "ended": true}}' >"$work/reports/process-1.json"
sleep 0.02
expect reports-of-this-run 0 '^forward: 2 replays of 1 graph ' "$command" run --debug=forward --reports="$work/reports" -- "$quickstart"
[ "$(ls "$work/reports" | grep -c process)" = 2 ] && pass reports-kept || fail reports-kept "not in the named directory: $(ls "$work/reports")"
if [ "$DEVICE" = host ]; then
    expect strict-seeds 1 '^2 seeds: all give the same' "$command" run --seeds=2 --shadow=calls --strict "${planted[@]}"
fi

# ---- report says what it wrote ----

cd "$work" || exit 1
expect report-wrote 0 '^breakgraph report: wrote page.html: 0 faults, 0 warnings, 0 notes$' "$here/$command" report --html=page.html --trace=trace.json -- "$here/$quickstart"
grep -q '^breakgraph report: wrote trace.json: a timeline of one replay$' log && pass report-wrote-trace || fail report-wrote-trace "it does not say so"
mkdir dots
expect report-wrote-dot 0 '^breakgraph report: wrote dots: it holds 2 segments as DOT$' "$here/$command" report --dot=dots -- "$here/$quickstart"
expect report-wrote-nothing 0 '^0$' sh -c "'$here/$command' report --text -- '$here/$quickstart' 2>&1 >/dev/null | grep -c wrote; true"
exit $bad
