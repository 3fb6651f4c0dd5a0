#!/bin/bash
# breakgraph step that is stopped and goes on: by --stop and by signals, with dumps and without; what it looked at; the line
# on a terminal.
. "$(dirname "$0")/../lib.sh"

build_faulty step || exit $bad
# shellcheck disable=SC2046
if ! $CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror tests/cli/command/stepped.c $(pkg-config --cflags --libs breakgraph) \
    "-Wl,-rpath,$work/prefix/lib" -o "$work/stepped" 2>"$work/log"; then
    fail step "tests/cli/command/stepped.c does not build"
    exit $bad
fi
program=$work/stepped
# Of the steps by which a program is started, three.
in_depth='interrupt-(step|run|group)-(0-.*|1-fork-before|2-fork-after|1-setpgid-after)'
stepped() { timeout 60 "$command" step "$@"; }
# said NAME PATTERN: what the command before printed holds it, too.
said() { grep -Eq -e "$2" "$work/log" && pass "$1" || fail "$1" "'$2' is not in its output"; }
not_said() { grep -Eq -e "$2" "$work/log" && fail "$1" "'$2' is in its output" || pass "$1"; }
# same NAME: the last dump has the files of the whole one, byte for byte.
same() { diff -r "$work/whole" "$work/part" >"$work/log" 2>&1 && pass "$1" || fail "$1" "it differs from a dump without a stop"; }

# ---- what was looked at ----

expect whole 0 '^step: 0 findings$' stepped --dump="$work/whole" -- "$program" 20 5
said whole-looked '^looked at: 1 replay, 20 nodes stepped, 640 floats of 20 calls counted$'
not_said whole-pipe 'step \['
expect notes-apart 0 '^step: 0 findings; 1 note$' stepped --stop=7 -- "$program" 20 5
expect nothing 4 'does not use libbreakgraph' stepped -- true

# ---- from ----

expect from-call 0 '^looked at: 1 replay, 11 nodes stepped, 352 floats of 11 calls counted; 9 nodes before them not looked at$' \
    stepped --from=send#1 -- "$program" 20 5
said from-call-right '^row right$'
expect from-index 0 ', 8 nodes stepped, .*; 12 nodes before them not looked at$' stepped --from=12 -- "$program" 20 5
said from-index-right '^row right$'
expect from-unknown 6 'BG_STEP_FROM=rope#1: graph runs no call of that name, and nothing of that index \(0 to 19\)' stepped --from=rope#1 -- "$program" 20 5
said from-unknown-why "captures, but no replay succeeds: BG_STEP_FROM=rope#1: graph runs no call of that name"
# The program goes on without the replay that it names nothing in.
expect from-other-graph 1 '^not looked at: step of graph: BG_STEP_FROM=rope#1: graph runs no call of that name' \
    env STEPPED_REPLAYS=2 STEPPED_PATIENT=1 timeout 60 "$command" step --from=rope#1 -- "$program" 20 5
expect from-past 6 'BG_STEP_FROM=20: ' stepped --from=20 -- "$program" 20 5
expect from-stop 0 'stopped after index 13' stepped --from=12 --stop=13 -- "$program" 20 5
expect from-before-stop 6 'BG_STEP_STOP=3: .* nothing of that index \(12 to 19\)' stepped --from=12 --stop=3 -- "$program" 20 5

# ---- a dump that goes on ----

expect dump-stop 0 'a dump into the same directory goes on with index 8' stepped --stop=7 --dump="$work/part" -- "$program" 20 5
expect dump-stop-unknown 6 'BG_STEP_STOP=rope#1: graph runs no call of that name' stepped --stop=rope#1 --dump="$work/part" -- "$program" 20 5
not_said dump-stop-unknown-ran '^row '
expect dump-stop-past 6 'nothing of that index \(8 to 19\)' stepped --stop=7 --dump="$work/part" -- "$program" 20 5
expect dump-other-graph 6 'first part of a dump of a graph with other nodes, calls or shapes' stepped --dump="$work/part" -- "$program" 21 5
expect dump-other-shape 6 'of a graph with other nodes, calls or shapes' stepped --dump="$work/part" -- env STEPPED_NUMBERS=8 "$program" 20 5
expect dump-other-replay 1 'dump of replay 0 of graph, and this is 1' env STEPPED_REPLAYS=2 timeout 60 "$command" step --replays=1 --dump="$work/part" -- "$program" 20 5
mv "$work/part/0002_copy_2.y.npy" "$work/away"
expect dump-file-gone 6 'its file 0002_copy_2.y.npy is gone; name another directory' stepped --dump="$work/part" -- "$program" 20 5
mv "$work/away" "$work/part/0002_copy_2.y.npy"
cp "$work/part/index.json" "$work/away"
sed -i 's/\("file":[[:space:]]*\)8,/\19,/' "$work/part/index.json"
expect dump-changed 6 'index.json was changed after the dump stopped' stepped --dump="$work/part" -- "$program" 20 5
mv "$work/away" "$work/part/index.json"
expect dump-other-from 6 'goes on with index 8, not with index 9' stepped --from=9 --dump="$work/part" -- "$program" 20 5
expect dump-stop-again 0 'goes on with index 17' stepped --stop=copy#13 --dump="$work/part" -- "$program" 20 5
expect dump-on 0 '; 17 nodes before them not looked at$' stepped --dump="$work/part" -- "$program" 20 5
same dump-same
expect dump-complete 2 'a stopped one is continued' stepped --dump="$work/part" -- "$program" 20 5
rm -r "$work/part"
expect dump-stop-last 0 'nothing was left to run' stepped --stop=19 --dump="$work/part" -- "$program" 20 5
same dump-stop-last-same
rm -r "$work/part"
expect dump-from 0 '^row right$' stepped --from=12 --dump="$work/part" -- "$program" 20 5
grep -q '"complete":.*false' "$work/part/index.json" && pass dump-from-incomplete || fail dump-from-incomplete "it misses what is before 12"
rm -r "$work/part"

# ---- signals ----

# The eager call 9 sends signal 2 (INT) or 15 (TERM) in the replay.
expect signal 130 'to step the rest: breakgraph step --from=10 -- PROGRAM' stepped -- "$program" 20 5 9 2
said signal-stopped 'note \[stopped\] send#1 at tests/cli/command/stepped.c:[0-9]*: stopped after index 9 of 0 to 19'
said signal-looked '^looked at: 1 replay, 10 nodes stepped, 320 floats of 10 calls counted$'
not_said signal-crash 'signal SIG'
expect signal-dump 130 'goes on with index 10' stepped --dump="$work/part" -- "$program" 20 5 9 15
expect signal-dump-on 0 '^row right$' stepped --dump="$work/part" -- "$program" 20 5
same signal-dump-same
expect signal-json 130 '"kind":[[:space:]]*"stopped"' stepped --json -- "$program" 20 5 9 15
expect signal-handled 0 'stopped after index 9' env STEPPED_HANDLER=print timeout 60 "$command" step -- "$program" 20 5 9 2
said signal-handler '^handled$'
expect signal-ignored 0 '^looked at: 1 replay, 20 nodes' env STEPPED_HANDLER=ignore timeout 60 "$command" step -- "$program" 20 5 9 2
expect signal-fourth 7 'signal SIGTERM' env STEPPED_TIMES=4 timeout 60 "$command" step -- "$program" 20 5 9 15
not_said signal-fourth-at-once 'stopped after'
expect signal-alone 143 'stopped after index 9' bash -c 'BG_DEBUG=step "$@"; exit $?' bash "$program" 20 5 9 15
export STEPPED_REPLAYS=3
expect signal-third 130 "breakgraph step --graphs='graph' --replays=2- --from=10 -- PROGRAM" stepped -- "$program" 20 5 9 15
expect signal-third-on 0 '^looked at: 1 replay, 10 nodes stepped, .*; 10 nodes before them' stepped --graphs=graph --replays=2- --from=10 -- "$program" 20 5
# The flags that chose the first stepped replay choose it again.
expect stop-chosen 0 "breakgraph step --graphs='graph' --replays=1- --from=8 -- PROGRAM" stepped --replays=1 --stop=7 -- "$program" 20 5
unset STEPPED_REPLAYS
# Each name is matched by the pattern that is printed for it.
for name in "it's" 'a,b' 'a#01' 'a#1' '!a' ' a ' $'a\nb' "$(printf 'ä%.0s' {1..99})"; do
    pattern=$(STEPPED_NAME=$name stepped --graphs='*' --stop=7 -- "$program" 20 5 2>&1 | sed -n "s/.*breakgraph step \(--graphs='.*\) --replays=0- --from=8.*/\1/p" | head -n 1)
    expect stop-named 0 '^looked at: 1 replay, 12 nodes' env STEPPED_NAME="$name" bash -c "timeout 60 $command step $pattern --from=8 -- $program 20 5"
done
expect signal-group 130 'stopped after index 9' setsid -w "$command" step -- "$program" 20 5 9 2 group
said signal-group-looked '^looked at: 1 replay, 10 nodes stepped'

# ---- a terminal ----

if command -v script >/dev/null; then
    expect terminal-line 0 'step \[ {24}\] 0 of 20, copy#0, [0-9]+ s, 0 s left '$'\e''\[K.*'$'\r\e''\[Krow right' \
        env SHELL=/bin/sh script -qec "timeout --foreground 60 $command step -- $program 20 5" /dev/null
    expect terminal-print 0 $'\r\e''\[Ksent' env SHELL=/bin/sh STEPPED_PRINT=1 script -qec "timeout --foreground 60 $command step -- $program 20 5" /dev/null
    expect terminal-dump 0 'step \[#{9} {15}\] 8 of 20, ' env SHELL=/bin/sh script -qec \
        "timeout --foreground 60 $command step --stop=7 --dump=$work/terminal -- $program 20 5 >/dev/null 2>&1; $command step --dump=$work/terminal -- $program 20 5" /dev/null
    expect terminal-interrupt 0 'stopped after index 9' env SHELL=/bin/sh script -qec "setsid -w $command step -- $program 20 5 9 2 group; [ \$? = 130 ]" /dev/null
else
    for name in terminal-line terminal-print terminal-dump terminal-interrupt; do skip $name "script (util-linux) is not installed"; done
fi

# Ctrl-C at each step by which a program is started, and a program that interrupts its group while its keeper is slow to leave it.
if ! $CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror tests/cli/command/interrupt.c -lutil -o "$work/interrupt" 2>"$work/log" ||
    ! $CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -shared -fPIC tests/cli/command/held.c -ldl -o "$work/held.so" 2>"$work/log"; then
    fail interrupt "tests/cli/command/interrupt.c or held.c does not build"
    exit $bad
fi
for point in '0 fork before' '0 fork after' '1 fork before' '1 fork after' '2 fork after' '1 setpgid before' '1 setpgid after' '2 execvp before'; do
    for how in step 'run --strict'; do
        # run passes signals on, and there is no program yet.
        [ "$point $how" != '0 fork before run --strict' ] || continue
        ! is_left_out "interrupt-${how%% *}-${point// /-}" || continue
        rm -rf "$work/held" && mkdir "$work/held"
        # shellcheck disable=SC2086
        expect "interrupt-${how%% *}-${point// /-}" 130 '\^C' timeout 60 "$work/interrupt" "$work/held" /usr/bin/env HELD_AT="$point" \
            HELD_IN="$work/held" LD_PRELOAD="$work/held.so" "$command" $how -- "$program" 20 5
    done
    rm -rf "$work/held" && mkdir "$work/held"
    expect "interrupt-group-${point// /-}" 130 'stopped after index 9' env HELD_AT="$point" HELD_IN="$work/held" HELD_FOR=500 \
        STEPPED_SENT="$work/held/go" LD_PRELOAD="$work/held.so" setsid -w "$command" step -- "$program" 20 5 9 2 group
done

exit $bad
