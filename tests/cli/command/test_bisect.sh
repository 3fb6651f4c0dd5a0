#!/bin/bash
# breakgraph bisect of a program that links the installed library alone, and of stand-ins that write what it would.
. "$(dirname "$0")/../lib.sh"

build_faulty bisect || exit $bad
cd "$work" || exit 1
# What waits for a time limit, and more of the same.
in_depth='(first|last)-of-1000|one-of-(1|2|8|100)|long-list|hang-in-.*|(interrupt|resume)-(TERM|HUP|first).*|kept-no-verdict|page-of-a#0|report-differs-debug-step'
export FAULTY_STARTS=$work/starts

line_of() { grep -n "/\\* $1 \\*/" "$source" | cut -d: -f1; }
bisect() { rm -f starts; "$command" bisect "$@"; }
log2() { local n=0; while [ $((1 << n)) -lt "$1" ]; do n=$((n + 1)); done; echo $n; }

# found NAME CALLS MOST "CULPRIT SITE..." ARGUMENT...: just these, in so many starts at most.
found()
{
    local name=$1 most=$3 call site status culprits
    ! is_left_out "$name" || return 0
    set -- "$2" "$4" "${@:5}"
    bisect -- ./faulty wrong "$1" "${@:3}" >log 2>&1
    status=$?
    culprits=$(sed -n 's/^culprit \([^ ]*\) .*faulty.c:\([0-9]*\)$/\1 \2/p' log | tr '\n' ' ')
    if [ $status -ne 1 ]; then
        fail "$name" "exit status $status, expected 1"
    elif [ "${culprits% }" != "$2" ]; then
        fail "$name" "culprits '$culprits', expected '$2'"
    elif ! grep -q '^confirmed' log; then
        fail "$name" "not confirmed"
    elif [ "$(wc -l <starts)" -gt "$most" ]; then
        fail "$name" "$(wc -l <starts) starts, at most $most"
    elif [ -e .breakgraph-bisect.json ]; then
        fail "$name" "the state is still there"
    else
        pass "$name"
    fi
}

step=$(line_of step) twist=$(line_of twist) block=$(line_of block) inner=$(line_of inner)
for n in 1 2 8 20 100; do found "one-of-$n" $n $((2 * $(log2 $n) + 14)) "step#0 $step" 0; done
most=$((2 * $(log2 1000) + 10)) # of starts; so many names go through a file
found first-of-1000 1000 $most "step#0 $step" 0
found middle-of-1000 1000 $most "step#250 $step" 500
found last-of-1000 1000 $most "block#249 $block" 999
found one-last 98 28 "twist#24 $twist" 97
found two 20 $((2 * 5 + 14)) "twist#1 $twist step#6 $step" 5 12
found three 64 42 "step#0 $step twist#8 $twist step#30 $step" 0 33 60
found inner 20 24 "block#0/step#0 $inner" 1003
found outer 20 24 "block#1 $block" 7
found inner-and-step 40 30 "block#2/step#0 $inner twist#7 $twist" 1011 29

bisect -- ./faulty two 8 5 >log 2>&1
[ "$(sed -n '1s/ at .*//p;2s/,.*//p' log | tr '\n' ' ')" = 'culprit twist#1 (op twist) 1 of 10 captured calls ' ] && pass two-graphs || fail two-graphs "another culprit"

# ---- the lines that it gives do what they say ----

bisect -- ./faulty wrong 20 5 12 >log
for side in good bad; do
    eval "$(sed -n "s/^$side: *//p" log)" >/dev/null
    status=$?
    [ $status -eq $([ $side = bad ] && echo 1 || echo 0) ] && pass "line-$side" || fail "line-$side" "exit status $status"
done

# ---- other ways to judge, and what else may come out ----

cd - >/dev/null || exit 1
in_work() { (cd "$work" && rm -f starts && "$@"); }
golden bisect-two 1 in_work "$command" bisect -- ./faulty wrong 20 5 12
golden bisect-json 1 in_work "$command" bisect --json -- ./faulty wrong 4 2
expect no-difference 0 "^'./faulty' was good in both trials as it is: there is no fault to search for" in_work "$command" bisect -- ./faulty wrong 8
next=$([ "$DEVICE" = host ] && echo 'run --seeds=20' || echo 'check --what=graph')
grep -qx "next: breakgraph $next -- ./faulty wrong 8" "$work/log" && pass no-difference-next || fail no-difference-next "another next command than $next"
golden bisect-always 13 in_work "$command" bisect -- ./faulty always 8
golden bisect-outside 13 in_work "$command" bisect -- ./faulty outside 8
golden bisect-flaky 12 in_work "$command" bisect -- ./faulty flaky 8
golden bisect-crash 7 in_work "$command" bisect -- ./faulty crash 8
golden bisect-not-linked 4 in_work "$command" bisect -- true
golden bisect-no-capture 5 in_work "$command" bisect -- ./faulty plain 8
golden bisect-no-replay 6 in_work "$command" bisect -- ./faulty unreplayed 8
golden bisect-silent 9 in_work "$command" bisect --check='grep -q 11' -- ./faulty silent 8
golden bisect-only-near 11 in_work "$command" bisect --only='twixt,strep#1' -- ./faulty wrong 8 1
golden bisect-missing 3 in_work "$command" bisect -- /nowhere
expect says-what-program-says 4 '^  usage: this' in_work "$command" bisect -- sh -c 'echo usage: this >&2; exit 2'
expect check 1 '^culprit step#1' in_work "$command" bisect --check='grep -q "row: 11"' -- ./faulty wrong 8 2
expect check-file 1 '^culprit step#1' in_work "$command" bisect --check='grep -q "row: 11" "$BREAKGRAPH_OUTPUT"' -- ./faulty wrong 8 2
expect check-missing 3 "the check '/nowhere' cannot be started" in_work "$command" bisect --check=/nowhere -- ./faulty wrong 8 2
expect minus-one 1 '^culprit step#1' in_work "$command" bisect -- sh -c './faulty wrong 8 2 || exit 255'
expect check-broken 13 '^  .*[sS]yntax error' in_work "$command" bisect --check='(((' -- ./faulty wrong 8 2
expect check-minus-one 1 '^culprit step#1' in_work "$command" bisect --check='grep -q "row: 11" || exit 255' -- ./faulty wrong 8 2
expect check-crash 7 "^breakgraph bisect: signal 11 .* ended the check 'kill -SEGV" in_work "$command" bisect --check='kill -SEGV $$' -- ./faulty wrong 8 2
expect skips 14 '.sh., run as it is, cannot be judged [(]status 125[)]' in_work "$command" bisect -- sh -c './faulty wrong 8 2; exit 125'
expect check-skips-json 14 '"result":[[:space:]]*"cannot be judged"' in_work "$command" bisect --json --check='exit 125' -- ./faulty wrong 8 2
expect check-skips 14 'cannot be judged' in_work "$command" bisect --check='exit 125' -- ./faulty wrong 8 2
expect shadow 1 '^culprit step#1' in_work "$command" bisect --shadow -- ./faulty wrong 8 2
expect shadow-no-difference 0 'there is no fault to search for' in_work "$command" bisect --shadow -- ./faulty wrong 8
expect shadow-frozen 13 'the fault remains with all [0-9]+ calls eager: no captured call is to blame' in_work "$command" bisect --shadow -- ./faulty frozen 8
expect shadow-but-fails 0 "no replay differs, but 'sh' ended with status 3: --shadow ignores" in_work "$command" bisect --shadow -- sh -c './faulty wrong 8; exit 3'
expect shadow-and-check 2 'exclude each other' in_work "$command" bisect --shadow --check=x -- ./faulty wrong 8
expect bad-tolerance 2 "'--tolerance=garbage': allowed are items separated by ';'" in_work "$command" bisect --shadow --tolerance=garbage -- ./faulty wrong 8 2
expect only 1 '^1 of 2 captured calls' in_work "$command" bisect '--only=twist' -- ./faulty wrong 8 1
expect only-not-culprit 13 'remains with all 2 calls that match --only eager' in_work "$command" bisect --only=twist -- ./faulty wrong 8 2
expect only-path 1 '^culprit block#0/step#0' in_work "$command" bisect '--only=block#*/st*' -- ./faulty wrong 8 1003
expect only-bad 2 'allowed are names of ops' in_work "$command" bisect '--only=rope##3' -- ./faulty wrong 8
expect only-nothing 2 "'--only=' needs a value" in_work "$command" bisect --only= -- ./faulty wrong 8
expect eager-already 1 "^good: BG_EAGER_OPS='step#0,step#1'" in_work env BG_EAGER_OPS='step#0' "$command" bisect -- ./faulty wrong 8 0 2
expect not-breakable 2 'BG_BREAKABLE=0 captures' in_work env BG_BREAKABLE=0 "$command" bisect -- ./faulty wrong 8 2
for debug in forward ops; do
    expect debug-$debug 2 "BG_DEBUG=$debug makes all ops eager" in_work env BG_DEBUG=$debug "$command" bisect -- ./faulty wrong 8 2
done
expect unjudged 14 'not confirmed: good with step#1 at .* eager; with only this call captured, the program crashes' in_work "$command" bisect -- \
    sh -c 'case $BG_EAGER_OPS in *,step#1,*) ;; *block#1*) kill -SEGV $$ ;; esac; ./faulty wrong 8 2'
echo 'step#0' >"$work/eager"
expect eager-from-file 1 "^good: BG_EAGER_OPS='step#0,step#1'" in_work env BG_EAGER_OPS="@$work/eager" "$command" bisect -- ./faulty wrong 8 0 2
printf 'step#0\ntwist#0\n' >"$work/eager"
expect eager-from-lines 1 "^good: BG_EAGER_OPS='step#0,twist#0,step#1'" in_work env BG_EAGER_OPS="@$work/eager" "$command" bisect -- ./faulty wrong 8 0 1 2
expect long-list 1 '^culprit step#898 .* at' in_work "$command" bisect -- ./faulty wrong 1800 1796
expect page 1 '^culprit' in_work "$command" bisect --html=page.html -- ./faulty wrong 8 2
expect page-of-nothing 0 'nothing.html is not written: there is no culprit' in_work "$command" bisect --html=nothing.html -- ./faulty wrong 8
grep -q 'step#1' "$work/page.html" && pass page-names || fail page-names "no culprit on the page"
expect count 1 '^culprit step#1' in_work "$command" bisect --count=2 -- ./faulty wrong 4 2
expect count-any-bad 13 'without any graph' in_work "$command" bisect --count=3 -- ./faulty flaky 4
expect bad-count 2 'whole numbers from 1' in_work "$command" bisect --count=0 -- ./faulty wrong 4
expect no-progress-in-pipe 1 '^0$' in_work sh -c "'$command' bisect -- ./faulty wrong 4 2 2>&1 >/dev/null | wc -c; exit 1"

ln -s faulty "$work/faulty"$'\377'
if command -v iconv >/dev/null; then
    expect json-bytes 0 '"sentence":.*was good in both trials as it is' in_work sh -c "'$command' bisect --json -- './faulty"$'\377'"' wrong 8 | iconv -f UTF-8 -t UTF-8"
    expect json-bytes-lines 0 '"good":.*faulty' in_work sh -c "'$command' bisect --json -- './faulty"$'\377'"' wrong 8 2 | iconv -f UTF-8 -t UTF-8"
else
    for name in json-bytes json-bytes-lines; do skip $name "iconv is not installed"; done
fi
expect report 1 'fault \[mismatch-origin\] step#1 at .*faulty.c' in_work "$command" report -- ./faulty wrong 8 2
expect report-read-again 1 'mismatch-origin' in_work sh -c "'$command' report --json=all.json -- ./faulty wrong 8 2; exec '$command' report all.json"
expect report-node-times 0 'node_us' cat "$work/all.json"
expect step-finds-nothing 1 'ended with status 1' in_work "$command" step -- ./faulty wrong 8 2
expect check-finds-nothing 1 'no findings of replay, but' in_work "$command" check --what=replay -- ./faulty wrong 8 2
if command -v script >/dev/null; then
    expect progress-on-terminal 1 'trial 7 of about 17: search' in_work script -qec "'$command' bisect -- ./faulty wrong 8 2" /dev/null
    expect color-on-terminal 1 $'\e''[[]31mculprit' in_work script -qec "'$command' bisect -- ./faulty wrong 8 2" /dev/null
    expect no-color 1 $'\e''[[]Kculprit' in_work env NO_COLOR=1 script -qec "'$command' bisect -- ./faulty wrong 8 2" /dev/null
else
    for name in progress-on-terminal color-on-terminal no-color; do skip $name "script (util-linux) is not installed"; done
fi

# ---- calls of several graphs: in order of the pass, those inside a call behind it ----

# A stand-in for a program: the graphs have the calls in its arguments, one graph each; CULPRITS must all be eager.
cat >"$work/graphs.sh" <<'SH'
head='"breakgraph": "0.1.0", "report_version": 2'
echo "{$head, \"process\": {\"pid\": 1, \"device\": \"host\", \"graphs\": $#, \"replays\": 1, \"ended\": true}}" >"$BG_REPORT/process-1.json"
graph=0
for names; do
    graph=$((graph + 1)) calls=
    for name in $names; do
        eager=false
        case $name in *!) eager=true name=${name%!} ;; esac
        calls="$calls${calls:+, }{\"name\": \"$name\", \"op\": \"${name%#*}\", \"file\": \"m.c\", \"line\": 1, \"eager\": $eager}"
    done
    echo "{$head, \"tool\": \"capture\", \"findings\": [], \"outline\": {\"calls\": [$calls]}}" >"$BG_REPORT/graph-1-$graph.json"
done
[ "${BG_DEBUG:-}" != forward ] || exit 0
list=${BG_EAGER_OPS:-}
case $list in @*) list=$(cat "${list#@}") ;; esac
echo "$list" >>lists
for name in $CULPRITS; do
    case ",$list," in *",$name,"*) ;; *) exit 1 ;; esac
done
SH
graphs() # NAME, ALL, CULPRITS, GRAPH...: these calls in this order are tried all at once, and the culprits found
{
    local name=$1 all=$2 culprits=$3
    shift 3
    rm -f "$work/lists"
    expect "$name" 1 "^good: BG_EAGER_OPS='$culprits'" in_work env CULPRITS="${culprits//,/ }" "$command" bisect -- bash graphs.sh "$@"
    [ "$(sed -n 4p "$work/lists")" = "$all" ] && pass "$name-order" || fail "$name-order" "all are $(sed -n 4p "$work/lists"), expected $all"
}
graphs one-graph 'a#0,b#0,b#0/c#0,d#0' 'd#0' 'a#0 b#0 b#0/c#0 d#0'
graphs no-eager-calls 'a#0,d#0' 'a#0' 'a#0 b#0! d#0'
graphs inside-elsewhere 'a#0,b#0,b#0/c#0,d#0' 'b#0' 'a#0 b#0 d#0' 'a#0 b#0 b#0/c#0 d#0'
graphs between 'a#0,a#0/x#0,a#0/y#0,b#0,d#0' 'a#0,d#0' 'a#0 a#0/x#0 a#0/y#0 d#0' 'a#0 a#0/x#0 b#0 d#0'
graphs other-graph 'a#0,b#0,e#0' 'b#0,e#0' 'a#0 b#0' 'e#0'
# The page draws the graph that has the culprit, which need not be the first.
for one in "e#0 2" "b#0 1" "a#0 1"; do
    ! is_left_out "page-of-${one% *}" || continue
    expect "page-of-${one% *}" 1 '^culprit' in_work env CULPRITS="${one% *}" "$command" bisect --html=graphs.html -- bash graphs.sh 'a#0 b#0' 'c#0 e#0' 'f#0'
    wanted=$([ "${one#* }" = 1 ] && echo a#0 || echo c#0)
    # The page has the names of the outline's calls as places in its list of texts.
    place=$(sed -n 's/.*"calls":{"texts":{"name":\[\([0-9]*\).*/\1/p' "$work/graphs.html")
    first=$(sed -n 's/^"strings":\["//p' "$work/graphs.html" | sed 's/","/\n/g' | sed -n "$((place + 1))p")
    [ "$first" = "$wanted" ] && pass "page-of-${one% *}-graph" ||
        fail "page-of-${one% *}-graph" "it draws another graph"
done

# ---- culprits are confirmed by repeats; a fault of order has none ----

nobody() { grep -q '^culprit' "$work/log" && fail "$1-nobody" "it names a culprit" || pass "$1-nobody"; }
serial='case $BG_DEBUG,$HOSTCUDA_SEED in step,* | *,0) exec ./faulty wrong 8 ;; *) exec ./faulty wrong 8 2 ;; esac'
expect order 12 'So a wait is missing; no op call is to blame' in_work "$command" bisect -- sh -c "$serial"
nobody order
grep -qF 'next: breakgraph check --what=graph -- sh -c' "$work/log" && pass order-next || fail order-next "it does not point to the check"
expect order-json 12 '"result":[[:space:]]*"order"' in_work "$command" bisect --json -- sh -c "$serial"
if [ "$DEVICE" = host ]; then
    expect order-shadow 12 'HOSTCUDA_SEED=0.*a wait is missing' in_work env HOSTCUDA_SEED=3 "$command" bisect --shadow -- sh -c "$serial"
    nobody order-shadow
    expect order-seed 1 '^next: breakgraph check -e HOSTCUDA_SEED=3 -- ./faulty wrong 8 2$' in_work env HOSTCUDA_SEED=3 "$command" bisect -- ./faulty wrong 8 2
fi
# Bad unless one of two is eager: neither is the culprit alone.
cat >"$work/pair.sh" <<'SH'
. ./graphs.sh
case ",$list," in *,a#0,* | *,b#0,*) exit 0 ;; *) exit 1 ;; esac
SH
expect pair 1 'not confirmed: good with [ab]#0 at m.c:1 eager, but good with only this call captured, too' in_work "$command" bisect -- bash pair.sh 'a#0 b#0 c#0'
nobody pair
# Bad, but for every other trial of the confirmation.
cat >"$work/varies.sh" <<'SH'
. ./graphs.sh
[ "$list" != 'b#0,c#0,d#0' ] || { echo >>varied; [ $(($(wc -l <varied) % 2)) = 1 ]; exit; }
case ",$list," in *,a#0,*) exit 0 ;; *) exit 1 ;; esac
SH
expect varies 12 'not confirmed: bad in [12] of 3 trials with only a#0 at m.c:1 captured' in_work "$command" bisect -- bash varies.sh 'a#0 b#0 c#0 d#0'
nobody varies
expect confirms 1 'captured, the program is bad in 3 of 3 trials, and with only this call eager it is good' in_work "$command" bisect -- ./faulty wrong 8 2

# ---- the same program's report: what differs, with all that is equal ----

expect report-differs 1 'mismatch-origin\] step#1 ' in_work "$command" report --text --html=report.html -- ./faulty wrong 8 2

expect report-trace 0 '^traceEvents$' in_work sh -c "'$command' report --trace=trace.json -- sh -c 'cd / && exec \"$work/faulty\" wrong 8' && \
    grep -o traceEvents trace.json"
expect report-trace-output 0 '^[{]"traceEvents' in_work sh -c "'$command' report --trace=- -- ./faulty wrong 8 | head -n 1"
expect report-trace-output-of-ranks 2 'of its own' in_work "$command" report --trace=- --ranks=2 --oversubscribe -- ./faulty wrong 8
expect report-trace-full 1 '/dev/full cannot be written' in_work "$command" report --trace=/dev/full -- ./faulty wrong 8
expect report-crash 7 '^fault \[mismatch-origin\] step#1 ' in_work "$command" report -- ./faulty crash 8 2
expect report-failed 1 "no findings, but 'sh' ended with status 3" in_work "$command" report -- sh -c './faulty wrong 8; exit 3'
# Links are written through, and stay links.
linked() # NAME STATUS LINK ARGUMENT...
{
    local name=$1 status=$2 link=$3
    rm -f "$work/real" "$work/$link"
    ln -s real "$work/$link"
    expect "$name" "$status" '' in_work "$command" "${@:4}"
    [ -L "$work/$link" ] && [ -s "$work/real" ] && pass "$name-through" || fail "$name-through" "the link is gone, or leads to nothing"
}
linked report-link 1 page report --text --html=page -- ./faulty wrong 8 2
linked trace-link 1 trace report --text --trace=trace -- ./faulty wrong 8 2
linked state-link 1 state bisect --state=state -- ./faulty wrong 8 2
mkfifo "$work/pipe"
for flag in html trace; do
    timeout 120 cat "$work/pipe" >"$work/through" &
    expect report-pipe-$flag 0 '' in_work sh -c "'$command' report --$flag=pipe -- ./faulty wrong 8 && echo"
    [ -p "$work/pipe" ] || fail report-pipe-$flag-left "a file has taken its place"
    wait $!
    [ -s "$work/through" ] && pass report-pipe-$flag-through || fail report-pipe-$flag-through "nothing came through"
done
for debug in forward step; do
    expect report-differs-debug-$debug 1 'mismatch-origin\] step#1 ' in_work env BG_DEBUG=$debug "$command" report -- ./faulty wrong 8 2
done
expect check-debug-forward 1 'ended with status 1' in_work env BG_DEBUG=forward "$command" check -- ./faulty wrong 8 2
expect check-failed 1 "^breakgraph check: no findings of graph,replay, but 'sh' ended with status 3" in_work "$command" check -- sh -c './faulty wrong 8; echo why >&2; exit 3'
grep -q '^looked at: .* captured again' "$work/log" && pass check-failed-goes-on || fail check-failed-goes-on "the second start was left out"
grep -q '^  why$' "$work/log" && pass check-failed-shows || fail check-failed-shows "its errors are not shown"

# ---- hangs: all that was started is ended ----

ended() # NAME: no process of those that were started is alive
{
    local pid alive=
    ! is_left_out "$1" || return 0
    for pid in $(cat "$work/starts"); do
        ! grep -q '^State:.[^ZX]' "/proc/$pid/status" 2>/dev/null || alive="$alive $pid"
    done
    [ -z "$alive" ] && pass "$1" || fail "$1" "still alive:$alive"
}
golden bisect-hang 8 in_work "$command" bisect --timeout=0.5 -- ./faulty hang 8
ended hang-ended
expect hang-in-a-shell 8 'ran longer' in_work "$command" bisect --timeout=0.5 -- sh -c './faulty hang 8; true'
ended hang-in-a-shell-ended
expect leaves-a-process 1 '^culprit step#1' in_work "$command" bisect -- \
    sh -c '(echo $(exec sh -c "echo \$PPID") >>starts; exec sleep 60) & ./faulty wrong 8 2'
ended leaves-a-process-ended
for flag in --timeout=0.5 '--json --timeout=0.5'; do
    # shellcheck disable=SC2086
    expect "hang-in-step $flag" 8 'ran longer' in_work "$command" step $flag -- sh -c './faulty hang 8; true'
    ended "hang-in-step $flag-ended"
done
# A set that hangs tells nothing; the search goes on around it.
expect hang-in-search 1 '^culprit step#7 ' in_work env FAULTY_HANG=7 "$command" bisect --timeout=10 -- ./faulty wrong 16 14

# ---- interrupted, and gone on from there ----

# interrupt NAME SIGNAL START: bisect gets the signal while that start hangs.
interrupt()
{
    local name=$1 signal=$2 start=$3 pid
    cd "$work" || exit 1
    rm -f starts
    FAULTY_HANG=$start "$command" bisect -- ./faulty wrong 32 9 >log 2>&1 </dev/null &
    pid=$!
    await started "$start"
    kill -"$signal" $pid
    wait $pid
    status=$?
    cd - >/dev/null || exit 1
    if [ $status -ne 130 ]; then
        fail "$name" "exit status $status, expected 130"
    elif ! grep -q "interrupted after $((start - 1)) trials" "$work/log"; then
        fail "$name" "it does not say so"
    elif [ ! -e "$work/.breakgraph-bisect.json" ]; then
        fail "$name" "there is no state"
    else
        pass "$name"
    fi
    ended "$name-ended"
}
started() { [ "$(cat starts 2>/dev/null | wc -l)" -ge "$1" ]; }
in_work "$command" bisect -- ./faulty wrong 32 9 >"$work/straight" 2>&1
straight=$(wc -l <"$work/starts")
for signal in $(sized INT 'INT TERM HUP'); do
    interrupt interrupt-$signal $signal 8
    cp "$work/.breakgraph-bisect.json" "$work/kept.json"
    expect resume-$signal 1 '^culprit twist#2 ' in_work "$command" bisect -- ./faulty wrong 32 9
    again=$(wc -l <"$work/starts")
    [ "$again" -eq $((straight - 7)) ] && pass resume-$signal-starts || fail resume-$signal-starts "$again starts after 7 of $straight"
    sed -E 's/[0-9.]+ s$//' "$work/log" | diff - <(sed -E 's/[0-9.]+ s$//' "$work/straight") >"$work/difference" &&
        pass resume-$signal-same || fail resume-$signal-same "another result than without the interruption"
done
! deep || interrupt interrupt-first INT 1
expect resume-first 1 '^culprit twist#2 ' in_work "$command" bisect -- ./faulty wrong 32 9

# What is no result keeps the verdicts, too: gone on from there without what was in the way.
stays() # NAME: there are verdicts, and with nothing in the way the same command has a result
{
    [ -e "$work/.breakgraph-bisect.json" ] && pass "$1-kept" || fail "$1-kept" "there is no state"
    rm -f "$work/away"
    expect "$1-goes-on" 1 '^culprit step#1 ' in_work "$command" bisect --timeout=60 -- sh away.sh
    [ ! -e "$work/.breakgraph-bisect.json" ] && pass "$1-removed" || fail "$1-removed" "the state is still there"
}
cat >"$work/away.sh" <<'SH'
echo $$ >>starts
if [ -e away ] && [ "$(wc -l <starts)" -gt 2 ]; then eval "$(cat away)"; fi
exec ./faulty wrong 8 2
SH
in_the_way() { echo "$1" >"$work/away"; FAULTY_STARTS= in_work "$command" bisect --timeout=60 -- sh away.sh; }
unset FAULTY_STARTS
expect kept-crash 7 '^breakgraph bisect: 3 trials are kept; the same command continues from there [(][.]breakgraph-bisect.json' in_the_way 'kill -SEGV $$'
stays kept-crash
expect kept-not-linked 10 '2 trials are kept' in_the_way 'echo "{" >$BG_REPORT/process-1.json; exit'
stays kept-not-linked
export FAULTY_STARTS=$work/starts
expect kept-no-verdict 8 'ran longer' in_work "$command" bisect --timeout=0.5 -- ./faulty hang 8
! deep || { [ ! -e "$work/.breakgraph-bisect.json" ] && pass kept-nothing; } || fail kept-nothing "a state without a verdict"

# ---- state files that are not this command's ----

# refused NAME PATTERN ARGUMENT...: exit status 10, and the file is as it was.
refused()
{
    local name=$1
    cp "$work/state.json" "$work/copy.json"
    expect "$name" 10 "$2" in_work "$command" bisect --state=state.json "${@:3}"
    cmp -s "$work/state.json" "$work/copy.json" && pass "$name-left" || fail "$name-left" "the file was changed"
}
cp "$work/kept.json" "$work/state.json"
refused state-of-another-program 'belongs to another command' -- ./faulty wrong 32 10
refused state-of-other-options 'belongs to another command' --count=2 -- ./faulty wrong 32 9
export BG_CHECK=replay
refused state-of-other-environment 'belongs to another command' -- ./faulty wrong 32 9
unset BG_CHECK
sed 's/"breakgraph_bisect":[[:space:]]*2/"breakgraph_bisect": 1/' "$work/kept.json" >"$work/state.json"
refused state-old 'has version 1' -- ./faulty wrong 32 9
head -c 300 "$work/kept.json" >"$work/state.json"
refused state-cut 'is not the state of a bisect' -- ./faulty wrong 32 9
refused state-cut-fresh 'is not the state of a bisect' --fresh -- ./faulty wrong 32 9
echo '{"name": "package", "version": 1}' >"$work/state.json"
refused state-foreign 'is not the state of a bisect' --fresh -- ./faulty wrong 32 9
sed 's/"verdict":[[:space:]]*"bad"/"verdict": "ugly"/' "$work/kept.json" >"$work/state.json"
refused state-damaged 'is damaged' -- ./faulty wrong 32 9
sed '0,/"eager":[[:space:]]*\[\]/s//"eager": [64]/' "$work/kept.json" >"$work/state.json"
refused state-no-such-call 'is damaged' -- ./faulty wrong 32 9
sed 's/"name":[[:space:]]*"step#0"/"name": "@step#0"/' "$work/kept.json" >"$work/state.json"
refused state-no-name 'is damaged' -- ./faulty wrong 32 9
{ cat "$work/kept.json" && echo '{}'; } >"$work/state.json"
refused state-and-more 'is not the state of a bisect' -- ./faulty wrong 32 9
expect state-output 2 'is not one' in_work "$command" bisect --state=- -- ./faulty wrong 8 2
expect state-nowhere 10 'cannot be written' in_work "$command" bisect --state=/nowhere/state.json -- ./faulty wrong 8 2
expect state-directory 10 ' cannot be read: it is a directory, not a file; name a regular file; give another one with --state=FILE' in_work "$command" bisect --state="$work" -- ./faulty wrong 8 2
cp "$work/kept.json" "$work/state.json"
touch "$work/faulty"
refused state-of-older-program 'to an earlier build of the program' -- ./faulty wrong 32 9
expect state-fresh 1 '^culprit step#5 ' in_work "$command" bisect --state=state.json --fresh -- ./faulty wrong 32 10
[ "$(wc -l <"$work/starts")" -gt 8 ] && pass state-fresh-starts || fail state-fresh-starts "it did not start over"
expect state-known 1 '^culprit step#5 ' in_work "$command" bisect --state=state.json -- ./faulty wrong 32 10
[ ! -e "$work/starts" ] && pass state-known-starts || fail state-known-starts "started again, with all verdicts known"

# ---- nothing is left behind ----

mkdir "$work/place"
expect relative-place 1 '^culprit step#1' in_work env TMPDIR=place "$command" bisect -- sh -c 'cd / && exec "$0" wrong 8 2' "$work/faulty"
TMPDIR=$work/place in_work "$command" bisect -- ./faulty wrong 8 2 >"$work/log" 2>&1
[ -z "$(ls -A "$work/place")" ] && pass no-rest || fail no-rest "left in TMPDIR: $(ls -A "$work/place")"
exit $bad
