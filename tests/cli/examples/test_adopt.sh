#!/bin/bash
# examples/adopt: a program of plain CUDA graphs, and the steps by which it comes to use breakgraph. All print the same.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in plain wrapped eager ops; do skip "adopt-$name" "there is no GPU"; done
    exit 0
fi

adopt=$OUT/examples/adopt
numbers='step 0: 4 8 12 16
step 1: 5.5 11 16.5 22
step 2: 7.5625 15.125 22.6875 30.25
step 3: 10.3984 20.7969 31.1953 41.5938'
says adopt-plain "$adopt/plain" <<<"$numbers"
says adopt-wrapped sh -c '"$0" 2>/dev/null' "$adopt/wrapped" <<<"$numbers"
expect adopt-wrapped-checks 0 '^second half: 0 findings$' "$adopt/wrapped"
for step in eager ops; do
    says "adopt-$step" "$adopt/$step" <<<"$numbers"
    for mode in forward ops sync step; do
        says "adopt-$step-$mode" env BG_DEBUG=$mode "$adopt/$step" <<<"$numbers"
    done
    expect "adopt-$step-check" 0 '^check graph, replay, recapture, poison, padding: 0 findings$' "$OUT/breakgraph" check -- "$adopt/$step"
done
# The tool knows what it has to restore, since ops say what they write.
says adopt-ops-shadow env BG_SHADOW=calls "$adopt/ops" <<<"$numbers"

# bg_eager takes part in what an op does: patterns, and the sentence about what cannot be captured.
expect adopt-eager-inline 1 'op decide, call decide#0 at .*/eager\.c:[0-9]+: .* name it in options\.eager_ops or BG_EAGER_OPS$' \
    env BG_EAGER_OPS='!decide' "$adopt/eager"
expect adopt-eager-unbreakable 1 'unset BG_BREAKABLE=0$' env BG_BREAKABLE=0 "$adopt/eager"
# Its op is known when it has been called, so that its name is none without an op.
says adopt-eager-named env BG_EAGER_OPS=decide "$adopt/eager" <<<"$numbers"
expect adopt-eager-misspelt 0 '"decides" matches no registered op .did you mean decide..$' env BG_EAGER_OPS=decides "$adopt/eager"
expect adopt-eager-misspelt-forward 0 '"decides" matches no registered op .did you mean decide..$' \
    env BG_EAGER_OPS=decides BG_DEBUG=forward "$adopt/eager"

# And from outside, where nothing changes.
expect adopt-attach 0 '^looked at: 2 graphs, 2 nodes; 8 replays compared$' "$OUT/breakgraph" check --attach -- "$adopt/plain"
exit $bad
