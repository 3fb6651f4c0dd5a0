#!/bin/bash
# The benchmarks' program: what it checks and writes. Its times are judged on a GPU alone, by make gpu-check.
# needs-all: benches
. "$(dirname "$0")/../lib.sh"
bench=$OUT/tests/bench/bench
ranks=$OUT/tests/bench/bench_ranks

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in all json whole-or-not no-breaks unknown-flag unknown-name bad-number \
        ranks ranks-sum ranks-no-breaks ranks-bad-number; do skip $name "there is no GPU"; done
    exit 0
fi
if ! run_make DEVICE="$DEVICE" benches >"$work/log" 2>&1; then
    fail all "make benches fails"
    exit 1
fi

few="--samples 2 --captures 1 --calls 1000"
# shellcheck disable=SC2086
expect all 0 '128 breaks, 16 nodes, 4 outputs' "$bench" $few --json "$work/figures.json"
if ! command -v python3 >/dev/null; then
    skip json "there is no python3"
elif python3 - "$work/figures.json" >"$work/log" 2>&1 <<'PYTHON'; then pass json; else fail json "the file is not as it should be"; fi
import json, sys
figures = json.load(open(sys.argv[1]))
rows = figures["rows"]
assert {row["section"] for row in rows} == {"replay", "breaks", "write-back", "capture", "memory", "runner", "start", "model", "batches", "compile", "growth"}
for row in rows:
    assert row["breakgraph"]["p10"] <= row["breakgraph"]["median"] <= row["breakgraph"]["p90"], row
    assert row["hand_written"]["p10"] <= row["hand_written"]["median"] <= row["hand_written"]["p90"], row
    assert row["unit"] == "KiB" or row["hand_written"]["median"] > 0, row
    if row["ratio"] is not None:
        assert abs(row["ratio"] * row["hand_written"]["median"] / row["breakgraph"]["median"] - 1) < 0.01, row
assert figures["samples"] == 2 and figures["capture_samples"] == 1
PYTHON
# A file that cannot be put in its place leaves nothing behind.
mkdir "$work/folder"
# shellcheck disable=SC2086
expect whole-or-not 1 'folder cannot be written: ' "$bench" $few --only replay --json "$work/folder"
[ ! -e "$work/folder.new" ] || fail whole-or-not "folder.new is left behind"
# shellcheck disable=SC2086
expect no-breaks 1 'is BG_DEBUG, BG_EAGER_OPS or BG_BREAKABLE set' env BG_BREAKABLE=0 "$bench" $few --only breaks
expect unknown-flag 2 "'--fast' is no flag" "$bench" --fast
expect unknown-name 2 "there is no benchmark 'speed'" "$bench" --only speed
expect bad-number 2 "'many' is no number" "$bench" --samples many

# Without NCCL there is no such program.
if [ ! -x "$ranks" ]; then
    for name in ranks ranks-sum ranks-no-breaks ranks-bad-number; do skip $name "there is no NCCL"; done
    exit $bad
fi
expect ranks 0 'decode step, one graph but for eager sums .*total|skipped: ' "$ranks" --samples 2
if grep -q 'skipped: ' "$work/log"; then
    for name in ranks-sum ranks-no-breaks; do skip $name "$(sed 's/.*skipped: //' "$work/log")"; done
else
    expect ranks-sum 0 '1 MiB, a replay .*total .*cudaGraphLaunch' "$ranks" --samples 2 --only sum
    expect ranks-no-breaks 1 'is BG_DEBUG, BG_EAGER_OPS or BG_BREAKABLE set' env BG_BREAKABLE=0 "$ranks" --samples 2 --only model
fi
expect ranks-bad-number 2 'usage: bench_ranks' "$ranks" --ranks 1
exit $bad
