#!/bin/bash
# The command breakgraph but for bisect, and the flags of the examples.
# needs: tools/variables
. "$(dirname "$0")/../lib.sh"
command=$OUT/breakgraph
quickstart=$OUT/examples/quickstart

golden help 0 "$command" help
for page in doctor run check step bisect report; do
    golden "help-$page" 0 "$command" help $page
    cmp -s <("$command" help $page) <("$command" $page --help) && pass "$page--help" || fail "$page--help" "another page than help $page"
done
expect help-unknown 2 "help: unknown command 'bisekt' .did you mean bisect.." "$command" help bisekt
expect version 0 "^breakgraph [0-9]+\\.[0-9]+\\.[0-9]+ \\($DEVICE\\)" "$command" version
expect help-full 1 'standard output cannot be written' sh -c "'$command' help >/dev/full"
golden help-short 2 "$command"
[ "$(wc -l <"$work/found")" -le 25 ] && pass help-short-lines || fail help-short-lines "more than 25 lines"
# says_alone NAME SENTENCE COMMAND...: exit status 2, and the whole output is the one sentence, under 200 characters.
says_alone()
{
    local name=$1 sentence="breakgraph$2"
    shift 2
    expect "$name" 2 '' "$@"
    [ "$(cat "$work/log")" = "$sentence" ] && [ ${#sentence} -lt 200 ] && pass "$name-says" || fail "$name-says" "expected: $sentence"
}
of_command() { says_alone "$1" ": unknown command '$2'${3:+ (did you mean $3?)}; 'breakgraph help' lists the commands" "$command" "$2"; }
of_command unknown-command bisekt bisect
of_command unknown-command-swapped chekc check
of_command unknown-command-case CHECK check
of_command unknown-command-begun ver version
of_command unknown-command-nonsense frobnicate
of_command unknown-command-empty ''
says_alone unknown-flag ": unknown flag '--verbose'; 'breakgraph help' lists the commands" "$command" --verbose
says_alone unknown-flag-near ": unknown flag '--versoin' (did you mean --version?); 'breakgraph help' lists the commands" "$command" --versoin
of_flag() { says_alone "$1" " run: unknown flag '$2'${3:+ (did you mean $3?)}; 'breakgraph help run' lists the flags" "$command" run "$2" -- true; }
of_flag run-unknown-flag --fast
of_flag run-near-flag --shado --shadow
of_flag run-near-flag-value --sahdow=calls --shadow
of_flag run-near-flag-dash -shadow --shadow
of_flag run-near-flag-underscore --eager_ops=rope --eager-ops
of_flag run-near-flag-begun --over --oversubscribe
of_flag run-near-help --hepl --help
for flag in - --- -x --=3 --zz; do of_flag "run-no-flag$flag" "$flag"; done
says_alone run-near-value " run: '--debug=opps': allowed are off, forward, ops, sync, step (did you mean ops?)" "$command" run --debug=opps -- true
says_alone check-near-value " check: '--what=pioson': allowed are all, graph, replay, recapture, poison, padding, orders, inputs (did you mean poison?)" "$command" check --what=pioson -- true
says_alone run-near-choice " run: '-e BG_CHECK=graph,repaly': allowed are off, or some of graph, replay, recapture, poison, orders, padding, inputs with commas between (did you mean replay?)" \
    "$command" run -e BG_CHECK=graph,repaly -- true
says_alone run-near-variable " run: '-e BG_DEBGU=ops': there is no variable BG_DEBGU (did you mean BG_DEBUG?); 'breakgraph --help' lists them" \
    "$command" run -e BG_DEBGU=ops -- true
for name in BG_ BG_FOO BG_RUNNER_XYZ HOSTCUDA_ABCD; do
    says_alone "run-far-$name" " run: '-e $name=1': there is no variable $name; 'breakgraph --help' lists them" "$command" run -e "$name=1" -- true
done
says_alone run-no-variable " run: '-e BG_NONSENSE_X=1': there is no variable BG_NONSENSE_X; 'breakgraph --help' lists them" \
    "$command" run -e BG_NONSENSE_X=1 -- true
expect doctor-argument 2 "unknown argument 'x'" "$command" doctor x

# ---- help and manual name what the tables have ----

flags=$(sed -nE 's/^ *\{"--([a-z-]+)",.*/\1/p' debug/cli/*/*.c | sort -u)
commands=$(sed -nE 's/^ *\.name = "([a-z]+)",$/\1/p' debug/cli/*.c debug/cli/*/*.c)
named() # NAME, text in a file, lead of a flag
{
    local word missing=
    for word in $flags; do grep -Eq -e "$3$word([^a-z-]|\$)" "$2" || missing="$missing --$word"; done
    for word in $commands; do grep -Eqw -e "$word" "$2" || missing="$missing $word"; done
    [ -z "$missing" ] && pass "$1" || fail "$1" "does not name$missing"
}
[ "$(wc -w <<<"$flags")" -gt 20 ] && [ "$(wc -w <<<"$commands")" -ge 8 ] && pass tables || fail tables "not read: $flags $commands"
for page in $commands; do "$command" help "$page"; done >"$work/help"
named help-names-all "$work/help" --
sed 's/\\-/-/g' packaging/breakgraph.1 >"$work/manual"
named manual-names-all "$work/manual" --

# ---- the table of variables: every page is what it writes, every name that the sources read is in it ----

for page in docs/environment.md packaging/breakgraph.1 packaging/completions/*; do
    "$OUT/tools/variables" <"$page" | diff "$page" - >"$work/log" && pass "variables-in-${page##*/}" || fail "variables-in-${page##*/}" "make docs writes something else"
done
"$command" help | sed -nE 's/^  ((BG|HOSTCUDA)_[A-Z_]+)=.*/\1/p' | sort >"$work/variables"
{
    grep -rhoE --include='*.[ch]' --exclude=variables.c '"(BG|HOSTCUDA)_[A-Z_]+[A-Z]"' src hostcuda debug | tr -d '"' | grep -v '_INIT$'
    sed -nE 's/^ *KEY\([a-z_]+, ([A-Z_]+),.*/BG_RUNNER_\1/p' src/runner/config_text.c
} | sort -u >"$work/named"
[ "$(wc -l <"$work/named")" -gt 30 ] && diff "$work/variables" "$work/named" >"$work/log" && pass variables-read || fail variables-read "the table (<) has other names than the sources read (>)"
grep -rhoE 'getenv\("HOSTCUDA_[A-Z_]+"' hostcuda/src | sed 's/.*"\(.*\)"/\1/' | sort | diff <(grep ^HOSTCUDA "$work/variables") - >"$work/log" && pass variables-host || fail variables-host "the table (<) has other names than the host device reads (>)"
# The host device takes what the table allows, and refuses what it forbids.
taken() # NAME ALLOWED... : of a program on the host device, as the command says
{
    local name=$1 value
    shift
    for value in "$@"; do
        expect "host-takes-$name=$value" 0 '' env "$name=$value" sh -c '"$0" >/dev/null; [ $? != 2 ] && echo' "$OUT/examples/hostcuda/missing_join"
        expect "run-takes-$name=$value" 0 '' "$command" run -e "$name=$value" -- echo
    done
}
refused() # NAME FORBIDDEN...
{
    local name=$1 value
    shift
    for value in "$@"; do
        expect "host-refuses-$name=$value" 2 "^hostcuda: .*" env "$name=$value" "$OUT/examples/hostcuda/missing_join"
        expect "run-refuses-$name=$value" 2 "'-e $name=.*': allowed are" "$command" run -e "$name=$value" -- echo
    done
}
if [ "$DEVICE" = host ]; then
    taken HOSTCUDA_DEVICES 1 64
    refused HOSTCUDA_DEVICES 0 65 two
    taken HOSTCUDA_SEED 0 18446744073709551606
    refused HOSTCUDA_SEED 18446744073709551607 -1
    taken HOSTCUDA_MEMORY poison poison,fence,reuse never
    refused HOSTCUDA_MEMORY loud reuse,never
    taken HOSTCUDA_FAIL cudaMalloc@900=2 '*@900~cudaErrorIllegalAddress' cudaGetDeviceCount@1=cudaErrorInitializationError
    refused HOSTCUDA_FAIL cudaMalloc cudaMalloc@1=loud nowhere@1=2
    # Read when a rank first waits.
    if [ -e "$OUT/libbreakgraph_nccl.a" ]; then
        wait_for() { env HOSTCUDA_NCCL_TIMEOUT="$1" "$command" run --ranks=2 -- "$OUT/examples/llama/llama" --tokens 1; }
        expect host-refuses-wait 0 'HOSTCUDA_NCCL_TIMEOUT is "0"; allowed are' wait_for 0
        expect host-refuses-long-wait 0 'HOSTCUDA_NCCL_TIMEOUT is "1000001"; allowed are' wait_for 1000001
        wait_for 1000000 2>&1 | grep -q 'NCCL_TIMEOUT is' && fail host-takes-wait "1000000 is refused" || pass host-takes-wait
    else
        skip host-refuses-wait "built without NCCL"
    fi
else
    skip variables-values "the host device's variables are for DEVICE=host"
fi
for status in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 130; do grep -q "^.fB$status.fR\$" packaging/breakgraph.1 || fail "manual-status-$status" "not in the manual"; done
if man --version 2>/dev/null | grep -q '^man '; then
    expect manual-renders 0 'EXIT STATUS' env LC_ALL=C MANWIDTH=100 man --warnings -l packaging/breakgraph.1
else
    skip manual-renders "man is not installed, or a placeholder for it"
fi
# ---- completions offer what help names ----

for shell in bash zsh fish; do
    file=packaging/completions/$([ $shell = zsh ] && echo _breakgraph || echo breakgraph.$shell)
    if [ $shell = bash ] || command -v $shell >/dev/null; then
        expect "completion-$shell-parses" 0 '' sh -c "$shell -n '$file' && echo"
    else
        skip "completion-$shell-parses" "$shell is not installed"
    fi
done
complete_bash() # WORD...: what comes for the last of them
(
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
    compopt() { :; }
    . packaging/completions/breakgraph.bash && _breakgraph && echo "${COMPREPLY[*]}"
)
# Each prints a line for each command, and for each flag: COMMAND FLAG, with "=" where it takes a value, and the values where they are listed.
offered_by_help()
{
    local name
    for name in $("$command" help | sed -nE '2,/^.breakgraph help/s/^  ([a-z]+) .*/\1/p'); do
        echo "$name"
        "$command" help "$name" | sed -nE -e 's/^  (--[a-z-]+)\[?=([a-z0-9_]+\|[a-z0-9_|]+)\]?( .*)?$/\1= \2/p;t' \
            -e 's/^  (--[a-z-]+)\[?=.*/\1=/p;t' -e 's/^  (--[a-z-]+)( .*)?$/\1/p' | sed -e "s/^/$name /" -e 's/|/ /g'
    done
}
offered_by_bash()
{
    local name flag
    for name in $(complete_bash breakgraph ''); do
        [ "${name#--}" = "$name" ] && echo "$name" || continue
        for flag in $(complete_bash breakgraph "$name" --); do
            case $flag in
            -- | --help) ;;
            *=) echo "$name $flag $(complete_bash breakgraph "$name" "${flag%=}" = '')" ;;
            *) echo "$name $flag" ;;
            esac
        done
    done | sed 's/ $//'
}
offered_by_zsh()
{
    sed -nE -e "s/^ +'([a-z]+):.*/\1/p;t" -e '/^ +[a-z]+\) _arguments/{s/^ +([a-z]+)\).*/\1/;h;d}' -e "/^ +'--help/d" -e "/^ +'--/{G
        s/^ +'(--[a-z-]+=?)\[[^]]*\](:value:\(([^)]*)\))?.*\n(.*)/\4 \1 \3/
        s/ \$//;p}" packaging/completions/_breakgraph
}
offered_by_fish()
{
    sed -nE -e 's/^complete -c breakgraph -n __fish_use_subcommand -x -a ([a-z]+) .*/\1/p;t' \
        -e "s/^complete -c breakgraph -n '__fish_seen_subcommand_from ([a-z]+)' -l ([a-z-]+)/\1 --\2/;T;s/ -d '[^']*'\$//" \
        -e "s/ -x -a '([^']*)'\$/= \1/;s/ -r\$/=/;p" packaging/completions/breakgraph.fish
}
offered_by_help | sort >"$work/offered"
for flag in $flags; do grep -Eq -e "^[a-z]+ --$flag(=|\$)" "$work/offered" || fail offered "--$flag is not read from help"; done
for shell in bash zsh fish; do
    "offered_by_$shell" | sort | diff "$work/offered" - >"$work/log" && pass "completion-$shell" || fail "completion-$shell" "offers something else than help names"
done
completes() # NAME, expected, words...
{
    local found
    found=$(complete_bash "${@:3}")
    [ "$found" = "$2" ] && pass "$1" || fail "$1" "completes to '$found', expected '$2'"
}
completes complete-command 'bisect' breakgraph bi
completes complete-flag '--tolerance= --timeout=' breakgraph bisect --t
completes complete-value 'poison' breakgraph check --what = po
completes complete-variable 'BG_DEBUG= BG_DOT=' breakgraph check -e BG_D
completes complete-variable-value 'sync step' breakgraph step -e BG_DEBUG = s
completes complete-program '' breakgraph run -- l

# ---- doctor ----

if [ "$DEVICE" = host ] || "$BUILD/find_gpu" >/dev/null 2>&1; then
    expect doctor 0 '✓ device 0' "$command" doctor
    expect doctor-memory 0 '✓ memory nodes, device 0' "$command" doctor
    expect doctor-variable 0 '✓ BG_DEBUG +ops' env BG_DEBUG=ops "$command" doctor
    expect doctor-json 0 '"healthy":[[:space:]]*true' "$command" doctor --json
else
    expect doctor 1 '✗ device +none' "$command" doctor
fi
expect doctor-bad-debug 1 '✗ BG_DEBUG +"loud"; allowed: off, forward, ops, sync, step' env BG_DEBUG=loud "$command" doctor
expect doctor-bad-flag 1 '✗ BG_BREAKABLE +"yes"; allowed: 0, 1' env BG_BREAKABLE=yes "$command" doctor
expect doctor-bad-pattern 1 '✗ BG_EAGER_OPS +"rope##3"; allowed: names of ops' env 'BG_EAGER_OPS=rope##3' "$command" doctor
expect doctor-no-place 1 '✗ temporary files +cannot be written' env TMPDIR=/nowhere "$command" doctor
expect doctor-bad-json 1 '"healthy":[[:space:]]*false' env BG_DEBUG=loud "$command" doctor --json
expect doctor-no-profiler 0 '– NVTX +.*nowhere' sh -c "NVTX_INJECTION64_PATH=/nowhere '$command' doctor || [ '$DEVICE' = cuda ]"
if [ "$DEVICE" = host ]; then
    mkdir "$work/fake" && echo 'int no_driver;' | $CC -shared -fPIC -x c -o "$work/fake/libcuda.so.1" -
    expect doctor-no-gpu 0 'GPU +none: libcuda.so.1 is not a CUDA driver' env LD_LIBRARY_PATH="$work/fake" "$command" doctor
    expect doctor-memory-fails 0 '– stream memory, device 0 +cudaMallocAsync: cudaErrorMemoryAllocation' \
        env HOSTCUDA_FAIL=cudaMallocAsync@1=2 "$command" doctor
    expect doctor-virtual-fails 1 '✗ virtual memory, device 0 +.*cudaErrorMemoryAllocation' env HOSTCUDA_FAIL=cuMemMap@1=2 "$command" doctor
fi

# ---- run ----

expect run 0 '^ops,rope#3,0,1$' "$command" run --debug=ops '--eager-ops=rope#3' -e BG_BREAKABLE=0 -e BG_NVTX=1 -- \
    sh -c 'echo "$BG_DEBUG,$BG_EAGER_OPS,$BG_BREAKABLE,$BG_NVTX"'
expect run-optional-value 0 '^1,calls$' sh -c "a=\$('$command' run --shadow -- sh -c 'echo \$BG_SHADOW') && \
    b=\$('$command' run --shadow=calls -- sh -c 'echo \$BG_SHADOW') && echo \$a,\$b"
expect run-runner 0 '^full,7$' "$command" run -e BG_RUNNER_MODE=full -e BG_RUNNER_MAX_TOKENS=7 -- \
    sh -c 'echo "$BG_RUNNER_MODE,$BG_RUNNER_MAX_TOKENS"'
if [ "$DEVICE" = host ]; then
    expect run-host 0 '^7,poison$' "$command" run -e HOSTCUDA_SEED=7 -e HOSTCUDA_MEMORY=poison -- sh -c 'echo "$HOSTCUDA_SEED,$HOSTCUDA_MEMORY"'
else
    expect run-host 2 'is for the host device' "$command" run -e HOSTCUDA_SEED=7 -- true
fi
expect run-status 7 '' "$command" run -- sh -c 'echo; exit 7'
expect run-set 0 '^1,a=b,$' "$command" run -e BG_NVTX=0 -e BG_NVTX=1 -e OTHER=a=b -e EMPTY= -- sh -c 'echo "$BG_NVTX,$OTHER,$EMPTY"'
expect run-set-order 0 '^off sync$' sh -c "echo \$('$command' run --debug=ops -e BG_DEBUG=off -- sh -c 'echo \$BG_DEBUG') \
    \$('$command' run -e BG_DEBUG=off --debug=sync -- sh -c 'echo \$BG_DEBUG')"
for name in BG_DEBUG =x ''; do expect "run-set-nothing-$name" 2 "'-e $name' sets nothing; write -e NAME=VALUE" "$command" run -e "$name" -- true; done
expect run-set-end 2 "'-e' sets nothing" "$command" run -e
expect run-set-joined 2 "'-e=X5': write -e NAME=VALUE" "$command" run -e=X5 -- true
expect run-set-unknown-host 2 "did you mean HOSTCUDA_SEED[?]" "$command" run -e HOSTCUDA_SEEDS=1 -- true
expect run-set-bad 2 "'-e BG_CHECK=all': allowed are off, or some of graph, replay, recapture, poison" "$command" run -e BG_CHECK=all -- true
expect check-set 4 '^  7$' "$command" check -e SEED=7 -- sh -c 'echo $SEED >&2; exit 1'
expect step-set 4 '^7$' "$command" step -e SEED=7 -- sh -c 'echo $SEED'
expect report-set 4 '^  7$' "$command" report -e SEED=7 -- sh -c 'echo $SEED >&2; exit 1'
expect bisect-set 0 '^7$' sh -c "cd '$work' && '$(readlink -f "$command")' bisect -e SEED=7 -- sh -c 'echo \$SEED >$work/seed'; cat '$work/seed'"
if [ "$DEVICE" = host ] || "$BUILD/find_gpu" >/dev/null 2>&1; then
    expect bisect-set-kept 0 'there is no fault to search for' "$command" bisect --state="$work/state.json" -e SEED=7 -- "$quickstart"
    expect bisect-set-same 0 'there is no fault to search for' "$command" bisect --state="$work/state.json" -e SEED=7 -- "$quickstart"
    expect bisect-set-other 10 'another' "$command" bisect --state="$work/state.json" -e SEED=8 -- "$quickstart"
else
    for name in kept same other; do skip "bisect-set-$name" "there is no GPU"; done
fi
expect bisect-set-bad 2 "allowed are 0, 1" "$command" bisect -e BG_NVTX=2 -- true
expect doctor-set 2 "unknown flag '-e'" "$command" doctor -e BG_NVTX=1
expect doctor-unknown-variable 0 '– BG_DEBGU +there is no such variable .did you mean BG_DEBUG[?]' sh -c "BG_DEBGU=1 '$command' doctor || [ '$DEVICE' = cuda ]"
expect doctor-secret 0 "BG_RANKS_TOKEN +set; its value is a secret" sh -c "BG_RANKS_TOKEN=hidden '$command' doctor >'$work/told' || [ '$DEVICE' = cuda ]; cat '$work/told'; ! grep hidden '$work/told'"
for flag in step-stop:BG_STEP_STOP=CALL no-breaks:BG_BREAKABLE=0\\\|1 nvtx:BG_NVTX=0\\\|1 dot:BG_DOT=DIR runner-max-tokens:BG_RUNNER_MAX_TOKENS=N \
    ranks-watchdog:BG_RANKS_WATCHDOG=SECONDS host-nccl-timeout:HOSTCUDA_NCCL_TIMEOUT=SECONDS; do
    expect "run-old-${flag%%:*}" 2 "'--${flag%%:*}=1': --${flag%%:*} is now -e ${flag#*:}\$" "$command" run "--${flag%%:*}=1" -- true
done
expect run-bad-value 2 "'--debug=loud': allowed are off, forward, ops, sync, step" "$command" run --debug=loud -- true
expect run-no-value 2 "'--debug' needs a value: --debug=off" "$command" run --debug -- true
expect run-extra-value 2 '--no-prefix takes no value' "$command" run --no-prefix=1 -- true
expect run-no-program 2 'no program given' "$command" run --debug=ops
expect run-empty-value 2 "'--trace=' needs a value: --trace=FILE" "$command" run --trace= -- true

expect run-bad-words 2 "write z': allowed are 0, for no limit, and ratios" "$command" run -e 'BG_RUNNER_MAX_PADDING=allowed are y; write z' -- true
# judged NAME VARIABLE VALUE ALLOWED [PROGRAM...]: -e refuses the value, the doctor marks it, both say what is allowed; the library refuses it, too.
judged()
{
    local name=$1 variable=$2 value=$3 allowed=$4
    expect "run-bad-$name" 2 "'-e $variable=.*': allowed are $allowed" "$command" run -e "$variable=$value" -- true
    expect "doctor-bad-$name" 1 "✗ $variable +\".*\"; allowed: $allowed" env "$variable=$value" "$command" doctor
    shift 4
    [ $# -eq 0 ] || { env "$variable=$value" "$@" >"$work/log" 2>&1 </dev/null && fail "library-bad-$name" "the library takes it" || pass "library-bad-$name"; }
}
shadowed="env BG_SHADOW=1 $quickstart" runner=$OUT/examples/runner/batches
[ "$DEVICE" = host ] || shadowed= runner=
# shellcheck disable=SC2086
{
    judged tolerance BG_TOLERANCE garbage "items separated by ';'" $shadowed
    judged tolerance-infinite BG_TOLERANCE abs=1e400 "items separated by ';'" $shadowed
    judged eager-file BG_EAGER_OPS @/nowhere 'names of ops.*; or @FILE, a readable file' ${runner:+$quickstart}
    judged runner-eager BG_RUNNER_EAGER_OPS @x 'names of ops' $runner
    judged runner-schedule BG_RUNNER_SCHEDULE 4,2 'sglang, atom, vllm, powers, or ascending' $runner
    judged runner-tokens BG_RUNNER_MAX_TOKENS 0 'whole numbers from 1 to' $runner
    judged runner-padding BG_RUNNER_MAX_PADDING .5 '0, for no limit, and ratios' $runner
    judged runner-memory BG_RUNNER_MEMORY_LIMIT 1T 'bytes, 0 for no limit' $runner
}
judged ranks-timeout BG_RANKS_TIMEOUT 0 'seconds, above 0'
judged ranks-watchdog BG_RANKS_WATCHDOG soon 'seconds, above 0 .* below 0 for never'
judged ranks-bind BG_RANKS_BIND 1.2.3.4.5 'names and addresses'
expect doctor-compare 0 '✓ BG_RANKS_COMPARE +1' env BG_RANKS_COMPARE=1 "$command" doctor
expect doctor-bad-compare 1 '✗ BG_RANKS_COMPARE +"yes"; allowed: 0, 1' env BG_RANKS_COMPARE=yes "$command" doctor
expect run-compare 0 '^1$' "$command" run -e BG_RANKS_COMPARE=1 -- sh -c 'echo $BG_RANKS_COMPARE'
expect run-watchdog-never 0 '^-1$' "$command" run -e BG_RANKS_WATCHDOG=-1 -- sh -c 'echo $BG_RANKS_WATCHDOG'
if [ "$DEVICE" = host ]; then
    judged seed HOSTCUDA_SEED x '0 \(order of issue\) to' "$quickstart"
    judged memory HOSTCUDA_MEMORY poison,loud 'poison, fence, reuse, never' "$quickstart"
    judged memory-both HOSTCUDA_MEMORY reuse,never 'poison, fence, reuse, never' "$quickstart"
    judged devices HOSTCUDA_DEVICES 65 'whole numbers from 1 to 64' "$quickstart"
    judged fault HOSTCUDA_FAIL cudaMalloc@1=loud 'NAME@N=CODE' "$quickstart"
    judged wait HOSTCUDA_NCCL_TIMEOUT 0 'whole numbers from 1 to 1000000'
    expect run-fault 0 '^cudaMalloc@1=2$' "$command" run -e HOSTCUDA_FAIL=cudaMalloc@1=2 -- sh -c 'echo $HOSTCUDA_FAIL'
    # Paths are the program's, which may go elsewhere; the doctor looks at them.
    for variable in BG_REPORT BG_DOT BG_TRACE; do
        expect "doctor-bad-$variable" 1 "✗ $variable +\"/nowhere/x\"; allowed: (directories|files) that" env $variable=/nowhere/x "$command" doctor
        expect "doctor-$variable" 0 "✓ $variable +" env $variable="$work$([ $variable != BG_TRACE ] || echo /t.json)" "$command" doctor
    done
    # What a check captures and replays is not the program's.
    for check in recapture poison; do
        mkdir "$work/$check"
        expect "report-of-$check" 0 '"graphs": 1, "replays": 2, .*graph-[0-9]+-1.json$' \
            env BG_CHECK=$check BG_REPORT="$work/$check" sh -c '"$0" >/dev/null && echo $(cat "$1"/process-*) "$1"/graph-*' "$quickstart" "$work/$check"
    done
fi
expect run-missing-program 3 "'/nowhere' cannot be started" "$command" run -- /nowhere

if [ "$DEVICE" = host ]; then
    expect eager-near 0 '"nromalize#0" matches no registered op .did you mean normalize..$' env BG_EAGER_OPS=nromalize#0 "$quickstart"
    expect eager-nonsense 0 '"zzz" matches no registered op$' env BG_EAGER_OPS=zzz "$quickstart"
    expect step-near 6 'BG_STEP_STOP=normalise#0: graph runs no call of that name .did you mean normalize#0..,' "$command" step --stop=normalise#0 -- "$quickstart"
fi

# ---- check, step, report ----

expect check-not-linked 4 "'true' does not use libbreakgraph" "$command" check -- true
expect check-says-what-program-says 4 '^  usage: this' "$command" check -- sh -c 'echo usage: this >&2; exit 2'
expect check-missing-program 3 "'/nowhere' cannot be started" "$command" check -- /nowhere
expect check-crash 7 'signal SIGSEGV .* ended' "$command" check -- sh -c 'echo before it >&2; kill -SEGV $$'
expect check-crash-shows 7 '^  before it$' "$command" check -- sh -c 'echo before it >&2; kill -SEGV $$'
expect check-not-linked-shows 4 '^  before it$' "$command" check -- sh -c 'echo before it >&2; exit 1'
expect check-hang 8 "ran longer than 0.2 s" "$command" check --timeout=0.2 -- sh -c 'while :; do :; done'
expect check-bad-timeout 2 'allowed are seconds' "$command" check --timeout=soon -- true
expect check-bad-what 2 'allowed are all, graph, replay, recapture, poison' "$command" check --what=none -- true
expect step-hang 8 "ran longer than 0.2 s" "$command" step --timeout=0.2 -- sh -c 'while :; do :; done'
expect step-bad-timeout 2 'allowed are seconds' "$command" step --timeout=soon -- true
expect report-nothing 2 'nothing given' "$command" report
expect report-missing 10 '/nowhere cannot be read' "$command" report /nowhere
echo '{"report_version": 99, "breakgraph": "9.0"}' >"$work/new.json"
for flag in html json text trace dot; do
    expect report-$flag-nowhere 2 "'--$flag=/nowhere/x': allowed are (files|directories) that .*exist" "$command" report --$flag=/nowhere/x -- true
done
expect bisect-html-nowhere 2 "'--html=/nowhere/x': allowed are files" "$command" bisect --html=/nowhere/x -- true
expect report-html-directory 2 "'--html=.*': allowed are files" "$command" report --html="$work" -- true
expect report-version 10 'version 99' "$command" report "$work/new.json"
expect report-trace-of-files 2 '--trace and --dot need a program' "$command" report --trace=x "$work/new.json"

# A stand-in for a program with findings: what the library would write.
cat >"$work/found.sh" <<'SH'
head='"breakgraph": "0.1.0", "report_version": 2'
echo "{$head, \"process\": {\"pid\": 1, \"device\": \"host\", \"graphs\": 1, \"replays\": ${2:-1}, \"ended\": true${3-, \"checks\": {\"replay\": {\"replays\": 4}}}}}" >"$BG_REPORT/process-1.json"
echo "{$head, \"tool\": \"$BG_CHECK\", \"graph\": \"g\", \"lost\": 0, \"findings\": [{\"kind\": \"freed\", \"severity\": \"$1\",
  \"call\": \"rope#3\", \"file\": \"model.c\", \"line\": 52, \"address\": null, \"message\": \"it is gone\", \"advice\": \"keep it\"}]}" |
    tee "$BG_REPORT/report-1-1.json" >"$BG_REPORT/report-1-2.json"
SH
golden check-found 1 "$command" check --what=replay -- sh "$work/found.sh" fault
expect check-nothing 14 'has graphs, but none of these checks could look at any' "$command" check --what=replay -- sh "$work/found.sh" note 1 ''
golden check-not-looked 0 "$command" check -- sh "$work/found.sh" note 1 ', "checks": {"graph": {"graphs": 2, "calls": 68, "nodes": 140}, "replay": {"replays": 12}}, "not_checked": [{"check": "recapture", "graph": "decode", "why": "it is \u001b"}, {"check": "recapture", "graph": "decode", "why": "it is \u001b"}, {"check": "recapture", "graph": "prefill", "why": "it is \u001b"}, {"check": "recapture", "graph": "prefill", "why": "other"}]'
expect check-json-looked 0 '"looked_at":' "$command" check --json --what=replay -- sh "$work/found.sh" note
golden check-note 0 "$command" check --what=replay -- sh "$work/found.sh" note
expect check-no-replay-but-found 1 'fault \[freed\] rope#3 at model.c:52' "$command" check --what=recapture -- sh "$work/found.sh" fault 0
expect check-note-but-failed 1 "'sh' ended with status 3" "$command" check --what=replay -- sh -c ". '$work/found.sh'; exit 3" sh note
expect check-json 1 '"check_version":[[:space:]]*1' "$command" check --json --what=replay -- sh "$work/found.sh" fault
expect step-json 1 '"kind":[[:space:]]*"freed"' "$command" step --json -- sh "$work/found.sh" fault
expect step-json-version 0 '"step_version":[[:space:]]*1' "$command" step --json -- sh "$work/found.sh" note
expect step-json-alone 0 '^[{]' sh -c "'$command' step --json -- sh -c '. \"$work/found.sh\"; echo of the program; echo to errors >&2; cat; exit 3' sh fault </dev/zero | head -n 1"
expect step-json-hang 0 '"exit":[[:space:]]*8' sh -c "'$command' step --json --timeout=0.2 -- sleep 60 2>/dev/null; [ \$? = 8 ]"
expect step-json-shows 4 '^  before it$' "$command" step --json -- sh -c 'echo before it >&2; exit 1'
# The reports of these commands are their own: what the environment names stays as it is.
mkdir "$work/reports"
expect check-own-reports 1 'fault \[freed\]' env BG_REPORT="$work/reports" "$command" check --what=replay -- sh "$work/found.sh" fault
[ -z "$(ls -A "$work/reports")" ] && pass check-own-reports-alone || fail check-own-reports-alone "something was written there"
# What others wrote drives no terminal: flags, commands, names of files, variables, findings.
printable() # NAME STATUS PATTERN COMMAND...
{
    expect "$@"
    LC_ALL=C grep -q $'[\001-\010\013-\037\177]' "$work/log" && fail "$1-bytes" "control characters" || pass "$1-bytes"
}
escape=$'\033[2J\233'
printable printable-flag 2 "unknown flag '--x.x1b.2J.x9b'" "$command" run "--x$escape" -- true
printable printable-command 2 "unknown command 'x.x1b.2J.x9b'" "$command" "x$escape"
printable printable-value 2 "'--debug=x.x1b.2J.x9b': allowed" "$command" run "--debug=x$escape" -- true
printable printable-program 3 "'/nowhere/.x1b.2J.x9b' cannot be started" "$command" run -- "/nowhere/$escape"
printable printable-file 10 '/nowhere/.x1b.2J.x9b cannot be read' "$command" report "/nowhere/$escape"
printable printable-doctor 1 'BG_DEBUG +"x.x1b.2J.x9b"' env BG_DEBUG="x$escape" "$command" doctor
sed 's/it is gone/it is \\u001b[2J gone\\u009b/' "$work/found.sh" >"$work/escape.sh"
printable printable-finding 1 'it is .x1b.2J gone.xc2.x9b$' "$command" check --what=replay -- sh "$work/escape.sh" fault
printable printable-json 1 'it is .u001b.2J gone.u009b"' "$command" check --json --what=replay -- sh "$work/escape.sh" fault
# Very many findings, most of them in both files. Were each looked for among all others, this took ten minutes.
many() # FILE FIRST
{
    seq "$2" $(($2 + 39999)) | sed -e '1s/^/ /; 1!s/^/,/' -e 's/[0-9]\+/{"kind": "freed", "severity": "note", "call": "rope#3", "message": "field & at 0x&"}/' >"$work/findings"
    { echo '{"breakgraph": "0.1.0", "report_version": 2, "tool": "check", "graph": "g", "findings": ['; cat "$work/findings"; echo ']}'; } >"$1"
}
mkdir "$work/many"
many "$work/many/report-1-1.json" 100000
many "$work/many/report-2-1.json" 100001
expect report-many 0 '^check of g: 40001 findings$' timeout 120 "$command" report "$work/many"
for rank in 0 1; do
    echo "{\"breakgraph\": \"0.1.0\", \"report_version\": 2, \"process\": {\"pid\": $((rank + 1)), \"rank\": $rank, \"ranks\": 2}}" >"$work/many/process-$rank.json"
done
expect report-many-of-ranks 0 '^note .freed. rope#3: rank 1: field 140000 at 0x140000$' timeout 120 "$command" report "$work/many"
# The key of a finding is told from that of another one of one rank, whatever its text.
mkdir "$work/keys"
for pid in 1 2; do
    echo "{\"breakgraph\": \"0.1.0\", \"report_version\": 2, \"process\": {\"pid\": $pid, \"rank\": 20, \"ranks\": 30}}" >"$work/keys/process-$pid.json"
done
keyed() { echo '{"breakgraph": "0.1.0", "report_version": 2, "tool": "check", "graph": "g", "findings": [{"kind": "'"$2"'", "severity": "note", "message": "m"}]}' >"$1"; }
keyed "$work/keys/report-1-1.json" 'kind-of-14-in.'
keyed "$work/keys/report-2-1.json" 'of 14 kind-of-14-in.'
expect report-keys 0 '^note .of 14 kind-of-14-in' "$command" report "$work/keys"
# JSON is UTF-8 though arguments are not.
if command -v iconv >/dev/null; then
    utf8() { expect "$1" 0 '"' sh -c "'$command' $2 | iconv -f UTF-8 -t UTF-8"; }
    export BG_STEP_STOP=$'rope\377'
    utf8 doctor-json-bytes 'doctor --json'
    unset BG_STEP_STOP
    sed 's/it is gone/it is \xc3 gone/' "$work/found.sh" >"$work/bytes.sh"
    utf8 check-json-bytes "check --json --what=replay -- sh '$work/bytes.sh' fault"
else
    for name in doctor-json-bytes check-json-bytes; do skip $name "iconv is not installed"; done
fi
expect check-damaged 10 'is not a report of breakgraph' "$command" check --what=replay -- sh -c 'echo "{" >$BG_REPORT/process-1.json'
expect check-old 10 'writes reports of version 1; this command reads version' "$command" check --what=replay -- \
    sh -c 'echo "{\"breakgraph\": \"0.0.1\", \"report_version\": 1}" >$BG_REPORT/process-1.json'
expect check-quiet 0 '^$' sh -c "'$command' check --what=replay -- sh '$work/found.sh' note 2>&1 >/dev/null; echo"

expect step-closed-output 1 'standard output cannot be written: Bad file' sh -c "'$command' step -- sh '$work/found.sh' note <&- >&-"
expect run-closed 0 '^closed$' sh -c "'$command' run -- sh -c '[ -e /proc/self/fd/0 ] || [ -e /proc/self/fd/1 ] || echo closed >&2' <&- >&-"

# ---- a temporary folder that is not there, or full ----

for name in check step report bisect; do
    expect $name-no-place 1 "no temporary directory can be made [(]/nowhere/breakgraph.*: No such file or directory; set TMPDIR" \
        sh -c "cd '$work' && TMPDIR=/nowhere exec '$(readlink -f "$command")' $name -- true"
done
mkdir "$work/tiny"
if unshare --map-root-user --mount sh -c "mount -t tmpfs -o size=32k none '$work/tiny'" 2>"$work/log"; then
    # full NAME PROGRAM...: with so little room in TMPDIR
    full()
    {
        expect "$1" 1 'reports and output cannot be kept: .*/tiny/breakgraph.* cannot be written: No space left on device; set TMPDIR' unshare --map-root-user --mount \
            sh -c "mount -t tmpfs -o size=$2k none '$work/tiny' && TMPDIR='$work/tiny' exec \"\$@\"" sh "$command" "${@:3}"
    }
    full check-full 8 check -- true
    full step-full 8 step -- true
    full report-full 8 report -- true
    full check-filled 256 check -- sh -c 'head -c 300000 /dev/zero'
    full report-filled 256 report -- sh -c 'head -c 300000 /dev/zero'
else
    for name in check-full step-full report-full check-filled report-filled; do skip $name "no tmpfs can be mounted: $(cat "$work/log")"; done
fi

if [ "$DEVICE" = host ] || "$BUILD/find_gpu" >/dev/null 2>&1; then
    golden check 0 "$command" check -- "$quickstart"
    golden step 0 "$command" step -- "$quickstart"
    expect step-dump 0 'step: 0 findings' "$command" step --dump="$work/dump" -- "$quickstart"
    [ -e "$work/dump/index.json" ] && pass step-dump-index || fail step-dump-index "nothing was dumped"
    golden report 0 "$command" report -- "$quickstart"
    expect report-files 0 '^$' sh -c "'$command' report --json='$work/all.json' --html='$work/page.html' --trace='$work/trace.json' -- '$quickstart' && echo"
    grep -q '<html' "$work/page.html" && grep -q traceEvents "$work/trace.json" && pass report-pages || fail report-pages "no page or timeline"
    expect report-looked 0 '"replays":' grep -A3 '"check":.*"shadow"' "$work/all.json"
    expect report-merge 0 'of graph: 0 findings' "$command" report "$work/all.json" "$work/all.json"
else
    for name in check step step-dump step-dump-index report report-files report-pages report-looked report-merge; do skip $name "there is no GPU"; done
fi

# What a shell had started before it became the command is not the command's to end.
bash -c 'sleep 60 & echo $! >"$1/shell"; exec "$2" step --timeout=0.3 -- sleep 60' bash "$work" "$command" >"$work/log" 2>&1
is=$?
[ $is = 8 ] && kill "$(cat "$work/shell")" 2>/dev/null && pass strays-of-its-shell || fail strays-of-its-shell "status $is, or what the shell had started is gone"
ln -s /nowhere/page "$work/dangling"
expect output-through-link 2 'directories that exist' "$command" report --html="$work/dangling" -- true

llama=$OUT/examples/llama/llama
expect llama-help 0 '--mode' "$llama" --help
expect llama-unknown-flag 2 "--mode" "$llama" --speed=9
expect llama-unknown-mode 2 'eager.*full.*breakable' "$llama" --mode fast
expect llama-no-model 1 '/nowhere.gguf' "$llama" --model /nowhere.gguf --prompt x
exit $bad
