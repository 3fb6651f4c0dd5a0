#!/bin/bash
# The soak of replays, in short: it passes, and finds each defect that is planted.
. "$(dirname "$0")/lib.sh"
soak=$OUT/tests/soak/soak_replay
few=20000

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in replays lost-on-host lost-on-device wrong-result too-few unknown-plant; do skip $name "there is no GPU"; done
    exit 0
fi
if ! run_make DEVICE="$DEVICE" soaks >"$work/log" 2>&1; then
    fail replays "make soaks fails"
    exit 1
fi

expect replays 0 "^$few replays of the quickstart's graph" "$soak" $few
expect lost-on-host 1 '^host heap .*GREW' "$soak" --plant host $few
expect lost-on-device 1 '^device memory .*GREW' "$soak" --plant device $few
expect wrong-result 1 "replay $((few / 2)): y\\[3\\] is .*, expected " "$soak" --plant result $few
expect too-few 2 'usage: soak_replay' "$soak" 5
expect unknown-plant 2 'usage: soak_replay' "$soak" --plant everything
exit $bad
