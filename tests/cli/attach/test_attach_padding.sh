#!/bin/bash
# breakgraph check --attach --what=padding: padding rows that reach the batch, where a program tells its rows; and --what=all.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-padding "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
if ! build_cuda rows; then
    fail attach-padding "tests/cli/attach/reruns/rows.cu does not build"
    exit $bad
fi
breakgraph=$PWD/$OUT/breakgraph
squeeze() { (cd "$work" && "$breakgraph" check --attach "$@") 2>&1 | tr -s '\n ' ' '; return "${PIPESTATUS[0]}"; }
padding() { squeeze --what=padding -- ./rows "$1"; }

# finds WHAT PATTERN: one finding.
finds() { expect "attach-padding-$1" 1 "warning \[padding\] $2.* check padding: 1 finding " padding "$1"; }
floats='with other floats in rows 5 to 7 of the 8 at 0x[0-9a-f]+, up to 4 bytes differ behind it, the first at 0x[0-9a-f]+, in row'
live='carries padding rows into live memory:'
finds sum "sum#0 at sum_all\(\)\+.* in rows: sum#0 $live $floats 0 of the 1 at 0x[0-9a-f]+ let it skip"
finds one-row "sum#0 at .* sum#0 $live with other floats in row 7 of the 8"
finds keys "sum#0 at sum_keys\(\)\+.* sum#0 $live $floats 0 of the 1"
expect attach-padding-keys-not-told 1 "warning \[padding\]: sum#0 writes what depends on padding rows: $floats 0 of the 1 .* may have read what differed before it, at 0x[0-9a-f]+, of which no rows are told: .* tell the rows of intermediate" \
    padding keys-not-told
finds largest "largest#0 at .* largest#0 $live $floats 0 of the 1"
finds live-slot "put#0 at put_all\(\)\+.* put#0 $live .* in row 2 of the 15"
finds late "sum#0 at .* sum#0 $live $floats 0 of the 1"
expect attach-padding-larger 1 'sum#0 writes what depends on padding rows: with other floats in rows 5 to 15 of the 16' padding larger
finds odd "sum#0 at .* sum#0 $live $floats 0 of the 1"

for what in sum-live slots padding-slot; do
    expect "attach-padding-$what" 0 'check padding: 0 findings looked at: 1 graph, [12] nodes? \(padding\)' padding $what
done
not='check padding: 0 findings not looked at: padding of graph#0:'
for what in full freed given-away; do
    expect "attach-padding-$what" 14 "$not when it was launched, no padding rows of floats were told that it uses" padding $what
done
expect attach-padding-memory-nodes 14 "$not it has memory nodes" padding memory-nodes

# What the program computes stays what it is.
for what in sum keys live-slot padding-slot odd; do
    (cd "$work" && ./rows $what) >"$work/plain"
    "$breakgraph" check --attach --what=padding -- sh -c "'$work/rows' $what >'$work/printed'" >"$work/log" 2>&1
    says "attach-padding-$what-output" cat "$work/printed" <"$work/plain"
done

expect attach-all 1 '\[padding\] sum#0 .* check replay, recapture, poison, padding, orders, inputs: 1 finding; 2 notes ' squeeze --what=all -- ./rows sum
expect attach-all-right 0 'check replay, recapture, poison, padding, orders, inputs: 0 findings; 2 notes ' squeeze --what=all -- ./rows sum-live
expect attach-all-untold 0 'not looked at: padding of graph#0' squeeze --what=all -- ./rows full
expect check-all 0 '^ *check graph, replay, recapture, poison, padding: 0 findings' "$breakgraph" check --what=all -- "$OUT/examples/quickstart"
exit $bad
