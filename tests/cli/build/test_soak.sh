#!/bin/bash
# The soaks, in short: they pass, and find each defect that is planted.
# needs: soaks
. "$(dirname "$0")/../lib.sh"
soak=$OUT/tests/soak/soak_replay
passes=$OUT/tests/soak/soak_passes
ranks=$OUT/tests/soak/soak_ranks
few=20000
in_depth='ranks-apart|ranks-lost-on-host' # one waits, one runs for seconds

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in replays lost-on-host lost-on-device wrong-result too-few unknown-plant \
        passes passes-lost-in-pool passes-too-few \
        ranks ranks-wrong-result ranks-lost-on-host ranks-apart ranks-fenced ranks-unknown-plant; do skip $name "there is no GPU"; done
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

expect passes 0 '^2000 runs, bg_forward_run: all results' "$passes" 200
expect passes-lost-in-pool 1 '^in use of the pool .*GREW' "$passes" --plant pool 200
expect passes-too-few 2 'usage: soak_passes' "$passes" 5

# A rank that goes another way is an error of all, which the others' patience bounds.
expect ranks 0 'seeds 1 to 2: .* as they must be|skipped: ' "$ranks" --replays 100 --seeds 2
if grep -q 'skipped: ' "$work/log"; then
    for name in ranks-wrong-result ranks-lost-on-host ranks-apart ranks-fenced ranks-unknown-plant; do skip $name "$(sed 's/.*skipped: //' "$work/log")"; done
else
    expect ranks-wrong-result 1 'rank 1 of 2: round 50, .*: x\[575\] is .*, expected ' "$ranks" --ranks 2 --replays 100 --seeds 0 --plant result
    expect ranks-lost-on-host 1 '(resident set|host heap) grew by ' "$ranks" --ranks 2 --replays 2000 --seeds 0 --plant host
    expect ranks-apart 1 'rank 0 of 2: .*BG_ERROR_RANKS' env BG_RANKS_TIMEOUT=5 "$ranks" --ranks 2 --replays 0 --seeds 1 --plant operation
    # Work that another thread runs touches fenced memory, too.
    if [ "$DEVICE" = host ]; then
        seeds=$(sized 5 20)
        expect ranks-fenced 0 "seeds 1 to $seeds: .* as they must be" env HOSTCUDA_MEMORY=poison,fence "$ranks" --ranks 2 --replays 0 --seeds "$seeds"
    else
        skip ranks-fenced "HOSTCUDA_MEMORY belongs to the host device"
    fi
    expect ranks-unknown-plant 2 'usage: soak_ranks' "$ranks" --plant everything
fi
exit $bad
