#!/bin/bash
# What a program does around its graphs is under --attach what it is without: threads, children, preloaded libraries, its end.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-around "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
preloaded=
for library in profiler heap; do
    "$CC" -std=c11 -D_GNU_SOURCE -O1 -Wall -Wextra -Werror -shared -fPIC -fvisibility=hidden tests/cli/attach/programs/$library.c \
        -o "$work/$library.so" -ldl 2>"$work/log" || { fail attach-around "tests/cli/attach/programs/$library.c does not build"; exit $bad; }
    preloaded=${preloaded:+$preloaded:}$work/$library.so
done
build_program around || { fail attach-around "tests/cli/attach/programs/around.c does not build"; exit $bad; }
printf '#!/bin/sh\nLD_PRELOAD="%s${LD_PRELOAD:+:$LD_PRELOAD}" exec "$@"\n' "$preloaded" >"$work/before"
printf '#!/bin/sh\nLD_PRELOAD="${LD_PRELOAD:+$LD_PRELOAD:}%s" exec "$@"\n' "$preloaded" >"$work/behind"
printf '#!/bin/sh\nexec "$@"\n' >"$work/plain"
chmod +x "$work/before" "$work/behind" "$work/plain"

# same NAME COMMAND...: it prints and ends as without --attach, and nothing is found.
same()
{
    local name=$1 command status
    shift
    { timeout 60 "$@"; echo "exit status $?"; } >"$work/alone" 2>&1 </dev/null
    for command in report check step; do
        # shellcheck disable=SC2016
        timeout 60 "$OUT/breakgraph" $command --attach -- \
            sh -c 'to=$0; "$@" >"$to" 2>&1; echo "exit status $?" >>"$to"' "$work/attached" "$@" >"$work/log" 2>&1
        status=$?
        if ! cmp -s "$work/alone" "$work/attached"; then
            diff "$work/alone" "$work/attached" >"$work/log"
            fail "attach-$name-$command" "it prints something else, or ends in another way"
        elif [ $status -ne 0 ] || ! grep -q ': 0 findings$' "$work/log"; then
            fail "attach-$name-$command" "exit status $status, or findings"
        else
            pass "attach-$name-$command"
        fi
    done
}
for name in once threads exit child fork errno dlclose; do
    same "around-$name" "$work/plain" "$work/around" $name
done
for place in before behind; do
    for name in once threads child; do
        same "preload-$place-$name" "$work/$place" "$work/around" $name
    done
done
# What was stepped is said once: a child that never launches has nothing to say.
forks() { "$OUT/breakgraph" step --attach --replays=0 -- sh -c '"$1" fork >"$0" 2>&1' "$work/attached" "$work/around"; }
expect attach-around-fork-steps 0 '^step: 0 findings$' forks
says attach-around-fork-says cat "$work/attached" <<<"child: 4"
exit $bad
