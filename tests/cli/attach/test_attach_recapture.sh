#!/bin/bash
# check --attach --what=recapture: a program that knows nothing of breakgraph runs twice, and what its graphs hold is compared.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

breakgraph=$OUT/breakgraph
in_depth=attach-recapture-hang # it waits for a time limit
# recapture ARG...: without the command that is proposed next.
recapture() { "$breakgraph" check --attach --what=recapture "$@" 2>&1; }

# ---- the command line ----

refused() { expect "attach-recapture-$1" 2 "$2" "$breakgraph" check "${@:3}" -- true; }
refused no-attach 'vary needs --attach and --what=recapture, which runs the program twice' --what=recapture --vary=A=1,2
refused no-recapture 'vary needs --attach and --what=recapture' --attach --vary=A=1,2
refused twice 'vary is given twice: .*; vary one at a time' --attach --what=recapture --vary=A=1,2 --vary=B=1,2
for wrong in A,B=1,2 A A= A=1 =1,2 A=1,2,3 ,; do
    refused "wrong-$wrong" "vary=$wrong: write --vary=NAME=A,B" --attach --what=recapture --vary=$wrong
done
refused equal 'vary=A=1,1: the two values are the same' --attach --what=recapture --vary=A=1,1
refused own 'vary=BG_CHECK=off,replay: BG_CHECK is not a variable of the program' --attach --what=recapture --vary=BG_CHECK=off,replay
refused own-loader 'LD_PRELOAD is not a variable of the program' --attach --what=recapture --vary=LD_PRELOAD=a,b

if [ "$DEVICE" != host ]; then
    skip attach-recapture "the record of a GPU has its own (make gpu-check PART=attach)"
    exit $bad
fi
if ! build_program frozen; then
    fail attach-recapture "tests/cli/attach/reruns/frozen.c does not build"
    exit $bad
fi

# ---- what graphs hold ----

# found CASE VARY PATTERN [COUNT]: the findings match, as many as that, and with the same input the twin's graphs are equal.
found()
{
    expect "attach-recapture-$1" 1 "^warning $3" recapture "--vary=$2" -- "$work/frozen" "$1"
    grep -Eq "^check recapture: ${4:-1} findings?(;|$)" "$work/log" || fail "attach-recapture-$1" "not ${4:-1} findings"
    expect "attach-recapture-$1-correct" 0 '^check recapture: 0 findings' recapture "--vary=$2" -- "$work/frozen" "$1" correct
}
half='0.5 .as integer 1056964608. with SCALE=0.5, and 0.25 .as integer 1048576000. with SCALE=0.25; each replay uses the value of the capture$'
found scalar SCALE=0.5,0.25 "\\[frozen-value\\] scale#0 at launch_scale\\+.* in frozen: kernel parameter 1 is $half"
found structs SCALE=0.5,0.25 "\\[frozen-value\\] blend#0 at structs\\+.*: kernel parameter 1, offset 4, is $half"
found pointer REQUEST=0,1 '\[unstable-pointer\] add#0 at pointer\+.*: kernel parameter 1 points to allocation #0 \(4096 bytes\) at make_buffer\+.* with REQUEST=0, and to allocation #(0 .*, for pointer\+|1 ).* with REQUEST=1; each replay uses the memory of the capture$'
found variable OTHER=0,1 '\[unstable-pointer\] add#0 at variable\+.*: kernel parameter 0 points to first_variable in frozen with OTHER=0, and to second_variable in frozen with OTHER=1; each replay uses the memory of the capture$'
found flow TWICE=0,1 '\[frozen-control-flow\] scale#0 at launch_scale\+.*: the graph has 1 node with TWICE=0, and 2 with TWICE=1; first difference: there is no node 1 with TWICE=0, and node 1 is scale#0 at launch_scale\+.* with TWICE=1; a replay repeats'
found order ORDER=0,1 '\[frozen-control-flow\]: the nodes of the graph are the same with ORDER=0 and with ORDER=1, but wait for others; a replay repeats'
found child ORDER=0,1 '\[frozen-control-flow\]: the nodes of the graph are the same with ORDER=0 and with ORDER=1, but wait for others; a replay repeats'
found many SCALE=0.5,0.25 "\\[frozen-value\\] scale#0, scale#1, scale#2, scale#3 and 6 more at launch_scale\\+.*: kernel parameter 1 is $half"
# Rows that lie in as many bytes, but are others.
found fill OTHER=0,1 "\\[frozen-value\\] memset#0 at rows\\+.*: the node's pitch is 64 with OTHER=0, and 32 with OTHER=1; each replay uses the value of the capture$" 2
found copy OTHER=0,1 "\\[frozen-value\\] memcpy#0 at rows\\+.*: the number of rows is 3 with OTHER=0, and 5 with OTHER=1; each replay uses the value of the capture$" 2
found function OTHER=0,1 '\[frozen-control-flow\] .*: the graph has other nodes with OTHER=0 than with OTHER=1; first difference: node 0 is host function#0 \(first_function in frozen\) at function\+.* with OTHER=0, and node 0 is host function#0 \(second_function in frozen\) at function\+.* with OTHER=1; a replay repeats'
found argument OTHER=0,1 "\\[frozen-value\\] host function#0 at function\\+.*: the function's argument is 3 with OTHER=0, and 6 with OTHER=1; each replay uses the value of the capture$"
found cluster OTHER=0,1 '\[frozen-value\] add#0 at blocks\+.*: clusterDim.x is 1 with OTHER=0, and 2 with OTHER=1; each replay uses the value of the capture$'
found cooperative OTHER=0,1 '\[frozen-value\] add#0 at blocks\+.*: cooperative launch is 0 with OTHER=0, and 1 with OTHER=1; each replay uses the value of the capture$'
found event OTHER=0,1 "\\[frozen-value\\] event record#0.*: the node's event is event #2 at event\\+.* in frozen with OTHER=0, and event #1 at .* with OTHER=1; each replay uses the event of the capture$"

# An empty struct is a byte that nobody has set, too: another one in each run is a note.
export RUNS=$work/runs
found byte BYTE=3,5 '\[frozen-value\] fill#0 at byte\+.*: kernel parameter 1 is 0x3 with BYTE=3, and 0x5 with BYTE=5; each replay uses the value of the capture, unless that is padding$'
grep -q '^check recapture: 0 findings; 1 note$' "$work/log" || fail attach-recapture-byte-correct "no note"

# Nothing differs: the program copies its input into device memory, or nothing of it changes.
expect attach-recapture-equal 0 '^equal: all that was compared, with SCALE=0.5 and with SCALE=0.25. That is right if' recapture \
    --vary=SCALE=0.5,0.25 -- "$work/frozen" scalar correct
grep -q '^looked at: 1 graph of two runs, 1 node, 15 values compared$' "$work/log" || fail attach-recapture-equal "what it looked at"
expect attach-recapture-alike 0 '^equal: all that was compared. To see what depends on an input' recapture -- "$work/frozen" chance correct
for pointers in pointer flow many; do # addresses are others in each run
    expect "attach-recapture-alike-$pointers" 0 '^check recapture: 0 findings$' recapture -- "$work/frozen" $pointers
done
# Padding differs in each run.
expect attach-recapture-padding 0 '^check recapture: 0 findings; 1 note$' recapture -- "$work/frozen" structs
grep -q '^note \[frozen-value\] blend#0, blend#0' "$work/log" && fail attach-recapture-padding "one node is named twice"
# What the program sets after the instantiation is not frozen.
expect attach-recapture-set 0 '^not frozen: 1 node, whose parameters the program sets after the instantiation$' recapture \
    --vary=SCALE=0.5,0.25 -- "$work/frozen" updated
expect attach-recapture-updated 0 '^not frozen: 2 nodes, whose parameters the program sets' recapture --vary=SCALE=0.5,0.25 -- "$work/frozen" updated correct

# Nothing is varied, and yet it differs; where something is varied, that is not said to be the cause.
expect attach-recapture-chance 1 '^warning \[frozen-value\] scale#0 .*in the first run, and .* in the second run, though nothing was varied: a seed, a time or a counter' \
    recapture -- "$work/frozen" chance
expect attach-recapture-chance-varied 1 '^warning .* with X=1, and .* with X=2, and differs between two runs that are alike, too: a seed' \
    recapture --vary=X=1,2 -- "$work/frozen" chance

# ---- what cannot be compared ----

# unpaired NAME PATTERN VARY CASE: no graph has a certain pair.
unpaired()
{
    expect "attach-recapture-$1" 14 "^not looked at: recapture of $2" recapture "--vary=$3" -- "$work/frozen" "$4"
    grep -q "recapture did not cover every graph of" "$work/log" || fail "attach-recapture-$1" "the reason is missing"
}
unpaired some 'graph#0, graph#1, graph#2: instantiate\+.* instantiates 2 with SIZES=2, and 3 with SIZES=3: which is which is not known' SIZES=2,3 sizes
unpaired first 'graph#0: instantiate\+.* instantiates 1 with ODD=graph, and 0 with ODD=none$' ODD=graph,none odd
unpaired second 'graph#0: instantiate\+.* instantiates 0 with ODD=none, and 1 with ODD=graph$' ODD=none,graph odd
expect attach-recapture-none 5 'captures no graph in this run' recapture -- "$work/frozen" odd
# ended CASE STATUS RUN VALUES
ended() { expect "attach-recapture-$1" "$2" "the $3 run, with ODD=$1, failed: the graphs of two runs are not compared" recapture "--timeout=${5:-60}" "--vary=ODD=$4" -- "$work/frozen" odd; }
ended crash 7 first crash,graph
ended crash 7 second graph,crash
ended hang 8 second graph,hang 5
expect attach-recapture-fail 1 'the second run, with ODD=fail, ended with status 5' recapture --vary=ODD=graph,fail -- "$work/frozen" odd
# A program that finds its own results wrong is compared, too.
expect attach-recapture-wrong 1 '^warning \[frozen-value\] scale#0 ' recapture --vary=SCALE=0.5,0.25 -- sh -c '"$0" scalar; exit 3' "$work/frozen"
expect attach-recapture-wrong-equal 1 'the first run, with SCALE=0.5, ended with status 3' recapture --vary=SCALE=0.5,0.25 -- \
    sh -c '"$0" scalar correct; [ $SCALE = 0.25 ] || exit 3' "$work/frozen"
grep -q "no findings of recapture, but 'sh' ended with status 3" "$work/log" || fail attach-recapture-wrong-equal "the reason is missing"
# Without --vary both runs are alike, and have no other name; and what is shown is what the run wrote that ended so.
expect attach-recapture-wrong-alike 1 '^breakgraph check: the second run ended with status 3$' recapture -- sh -c '"$0" chance correct; exit 3' "$work/frozen"
expect attach-recapture-wrong-first 1 '^  first breaks$' recapture --vary=SCALE=0.5,0.25 -- \
    sh -c '"$0" scalar correct; [ $SCALE = 0.5 ] || { echo second is fine >&2; exit 0; }; echo first breaks >&2; exit 3' "$work/frozen"
grep -q '^  second is fine' "$work/log" && fail attach-recapture-wrong-first "the errors of another run"
expect attach-recapture-wrong-second 1 '^  second breaks$' recapture --vary=SCALE=0.5,0.25 -- \
    sh -c '"$0" scalar; [ $SCALE = 0.25 ] || { echo first is fine >&2; exit 0; }; echo second breaks >&2; exit 3' "$work/frozen"
grep -q '^  first is fine' "$work/log" && fail attach-recapture-wrong-second "the errors of another run"
expect attach-recapture-wrong-third 1 '^  third breaks$' recapture --vary=SCALE=0.5,0.25 -- \
    sh -c '"$0" scalar; echo >>"$1"; [ $(wc -l <"$1") -lt 3 ] || { echo third breaks >&2; kill -SEGV $$; }' "$work/frozen" "$work/thirds"
# A process that calls exec is the same one: its file is there already. Where none can be made, the graphs are named.
expect attach-recapture-exec 1 '^warning \[frozen-value\] scale#0 ' recapture --vary=SCALE=0.5,0.25 -- \
    sh -c ': >"$BG_REPORT/values-$$.jsonl"; exec "$0" scalar' "$work/frozen"
expect attach-recapture-unwritten 14 '^not looked at: recapture of graph#0: its values could not be written: File exists$' recapture -- \
    sh -c 'for i in "" $(seq 99); do : >"$BG_REPORT/values-$$${i:+-$i}.jsonl"; done; exec "$0" scalar' "$work/frozen"
# Workers that start in another order are the same ones; and what all of them hold is found.
workers='if [ $RUN = 1 ]; then "$0" scalar; SCALE=2 "$0" scalar; else SCALE=2 "$0" scalar; "$0" scalar; fi'
expect attach-recapture-workers 0 '^looked at: 2 graphs of two runs, 4 nodes, ' recapture --vary=RUN=1,2 -- sh -c "$workers" "$work/frozen"
expect attach-recapture-workers-found 1 '^warning .* 3.5 .* with RUN=1, and 4.5 ' recapture --vary=RUN=1,2 -- \
    sh -c "$workers; SCALE=\$((RUN + 2)).5 \"\$0\" scalar" "$work/frozen"
grep -q '^check recapture: 1 finding$' "$work/log" || fail attach-recapture-workers-found "not one finding"

# Threads that capture side by side come in another order in each run. Memory that each of them makes is its own.
build_program threads || fail attach-recapture-threads "tests/cli/attach/reruns/threads.c does not build"
threads() { local i; for i in 1 2 3; do recapture "$@" || return; done; }
for threads in own given tasks; do
    expect "attach-recapture-threads-$threads" 0 '^check recapture: 0 findings(; [0-9]+ notes?)?$' threads -- "$work/threads" $threads
    expect "attach-recapture-threads-$threads-value" 1 'is [0-9.]*5 .*; several threads make such graphs, and the two with the most values in common were compared$' \
        recapture --vary=SCALE=0.5,0.25 -- "$work/threads" $threads
done
expect attach-recapture-threads-own-other 1 '^warning \[unstable-pointer\] .*, for own\+.* with OTHER=0, and to allocation #0 .*, for own\+.* with OTHER=1' \
    recapture --vary=OTHER=0,1 -- "$work/threads" own
expect attach-recapture-threads-given-other 1 '^check recapture: 1 finding$' recapture --vary=OTHER=0,1 -- "$work/threads" given

expect attach-recapture-json 1 '"checks": \{"recapture": \{"graphs": 1, "nodes": 2, "values": 26, "updated": 0\}\}|"kind":	*"frozen-value"' recapture \
    --json --vary=SCALE=0.5,0.25 -- "$work/frozen" scalar
expect attach-recapture-ranks 1 '^warning \[frozen-value\] scale#0 ' recapture --ranks=2 --vary=SCALE=0.5,0.25 -- "$work/frozen" scalar
grep -q '^check recapture: 1 finding$' "$work/log" || fail attach-recapture-ranks "not one finding"
expect attach-recapture-beside 1 '^check replay, recapture: 1 finding$' recapture --what=replay --vary=SCALE=0.5,0.25 -- \
    sh -c ': "${SCALE:?}"; exec "$0" scalar' "$work/frozen" # the other checks give it the first value
grep -q '^looked at: 1 graph, 2 nodes; 1 replay compared$' "$work/log" || fail attach-recapture-beside "what replay looked at"

# ---- values that a program of Python varies itself ----

if ! command -v python3 >/dev/null; then
    skip attach-recapture-python "there is no python3"
    exit $bad
fi
export LD_LIBRARY_PATH=$PWD/$OUT${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
expect attach-recapture-python 1 "^warning \\[frozen-value\\] memset#0 at .*vary.py:[0-9]+: the node's value is 3 with byte=3, and 5 with byte=5; each" \
    recapture -- python3 tests/cli/attach/reruns/vary.py
expect attach-recapture-python-constant 0 '^equal: all that was compared, with byte=3 and with byte=5' recapture -- python3 tests/cli/attach/reruns/vary.py constant
expect attach-recapture-python-first 0 '^3$' env PYTHONPATH=python python3 -c 'import breakgraph; print(breakgraph.vary("byte", 3, 5))'
# It never changes the program: where nothing can be written, or the value cannot be printed, or is a tensor.
vary() { env PYTHONPATH=python BG_ATTACH_RUN=2 BG_REPORT="$1" python3 -c "import breakgraph
class Odd:
    def __repr__(self): raise ValueError
class Tensor(Odd):
    def __dlpack__(self): raise ValueError
$2
print('returned')"; }
mkdir "$work/varied"
expect attach-recapture-python-nowhere 0 '^returned$' vary "$work/nowhere" 'assert breakgraph.vary("byte", 3, 5) == 5'
expect attach-recapture-python-full 0 '^returned$' vary "$work/varied" 'import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
before = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
assert breakgraph.vary("byte", 3, 5) == 5
resource.setrlimit(resource.RLIMIT_FSIZE, before)'
expect attach-recapture-python-odd 0 '^returned$' vary "$work/varied" 'breakgraph.vary("odd", 3, Odd())'
expect attach-recapture-python-tensor 0 '^returned$' vary "$work/varied" 'breakgraph.vary("tensor", Tensor(), Tensor())'
grep -q '"the second Tensor"' "$work/varied"/*.jsonl || fail attach-recapture-python-tensor "what was varied is not written"
exit $bad
