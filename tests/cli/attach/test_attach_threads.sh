#!/bin/bash
# Threads that capture, instantiate, update, launch, name, free and destroy side by side, a fork meanwhile, and an end with
# running threads: the program computes what it computes alone, and the commands find nothing.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-threads "tests/attach runs such programs on a GPU"
    exit 0
fi
if ! build_program side_by_side; then
    fail attach-threads "tests/cli/attach/programs/side_by_side.c does not build"
    exit $bad
fi
# try NAME SEED COMMAND: the program prints the same as alone, in $work/found, and ends well.
try()
{
    local command=$3
    # shellcheck disable=SC2086
    expect "$1" 0 "${4-: 0 findings}" timeout 120 "$OUT/breakgraph" ${command%% *} --attach ${command#"${command%% *}"} -- \
        sh -c 'exec "$@" >"$0"' "$work/found" "$work/side_by_side" "$2" ${5-}
    [ -n "${5-}" ] || [ "$(cat "$work/found")" = "seed $2
right" ] || { cp "$work/found" "$work/log"; fail "$1-result" "the program computes something else"; }
}
for ((seed = 1; seed <= $(sized 1 5); seed++)); do
    try "attach-threads-check-$seed" $seed check
    try "attach-threads-step-$seed" $seed step ''
    try "attach-threads-report-$seed" $seed report ''
    try "attach-threads-recapture-$seed" $seed 'check --what=recapture' ''
    try "attach-threads-probe-$seed" $seed 'run --probe=*' ''
    try "attach-threads-exit-$seed" $seed check '' exit
done
exit $bad
