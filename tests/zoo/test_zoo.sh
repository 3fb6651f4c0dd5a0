#!/bin/bash
# What the commands found in the zoo they still find; and its runner notices headers and rows that are wrong.
# make test tries these, one for each kind of finding, make test-all every case:
# needs: tests/zoo/ops/join_skipped tests/zoo/ops/padding_unwritten tests/zoo/ops/rebound_state tests/zoo/ops/freed_input_ledger
# needs: tests/zoo/plain/freed_input tests/zoo/plain/stack_copy tests/zoo/plain/shared_workspace tests/zoo/plain/callback_freed
# needs: tests/zoo/plain/bridge_recarved tests/zoo/plain/padding_nan tests/zoo/plain/stream_not_joined tests/zoo/plain/frozen_step
# needs: attached/tests/zoo/ops/join_skipped attached/tests/zoo/ops/padding_unwritten attached/tests/zoo/ops/rebound_state
# needs: attached/tests/zoo/ops/freed_input_ledger tests/zoo/findings
# needs: tests/zoo/ops/attention_not_eager attached/tests/zoo/ops/attention_not_eager
# needs-all: zoos
. "$(dirname "$0")/../cli/lib.sh"

zoo() { tests/zoo/run --jobs 1 --short --compare docs/records/zoo.md "$@"; }

cases=()
deep || mapfile -t cases < <(sed -n 's/^# needs: //p' "tests/zoo/${0##*/}" | tr ' ' '\n' | sed -n 's|^tests/zoo/.*/.*|&.c|p')
expect zoo 0 '^[0-9]+ programs, as in docs/records/zoo.md$' zoo "$OUT" ${cases[@]+"${cases[@]}"}
# Graphs that rules have rewritten: the tools find the same.
compiled() { BG_COMPILE=3 zoo "$@"; }
in_runs=(tests/zoo/ops/attention_not_eager.c)
deep && in_runs=(tests/zoo/ops/*.c)
expect zoo-compiled 0 '^[0-9]+ programs, as in docs/records/zoo.md$' compiled "$OUT" "${in_runs[@]}"
for row in $(sed -n 's/^| \([a-z]*\/[a-z_0-9]*\) .*/\1/p' docs/records/zoo.md); do
    [ -e "tests/zoo/$row.c" ] || fail zoo-rows "docs/records/zoo.md has a row for $row, which is gone: make zoo"
done

# altered CASE KEY VALUE: the case with another line in its header, which is of the program no more.
altered()
{
    mkdir -p "$work/$(dirname "$1")"
    sed "0,/^ \* $2: .*/s//$(printf ' * %s: %s' "$2" "$3" | sed 's/[\/&]/\\&/g')/" "tests/zoo/$1.c" >"$work/$1.c"
    zoo "$OUT" "$work/$1.c"
}
expect zoo-other-kind 1 'is .*\| check --attach \(1\) \| no \|' altered plain/stack_copy expect '[pageable-copy]'
expect zoo-other-words 1 'is .*\| check --attach \(1\) \| no \|' altered plain/shared_workspace expect 'frozen length'
expect zoo-nothing-expected 1 'is .*\| check \(3\) \| no \|' altered ops/freed_input_ledger expect none
expect zoo-unknown-kind 1 'expect: \[stack-cpy\] is no kind of docs/findings.md' altered plain/stack_copy expect '[stack-cpy]'
expect zoo-other-culprit 1 'is .*\| no \| no \| - \| .*stack-copy memcpy#0 \(check --attach\) \|' altered plain/stack_copy culprit add#0
expect zoo-other-symptom 1 "the symptom does not show: it is 'hang', and the program is wrong" altered plain/stack_copy symptom hang
expect zoo-no-source 1 "the header has no line 'source:'" altered plain/stack_copy source ''
expect zoo-one-value 1 'needs: vary= has no two values' altered plain/frozen_step needs vary=1
expect zoo-attached-culprit 1 'is .*\| no \| no \| no \| unwritten-output attention#0 ' altered ops/padding_unwritten culprit scale#7

# A twin that has the bug, too.
mkdir -p "$work/built/tests/zoo/plain"
ln -s "$PWD/$OUT"/{breakgraph,attach,libhostcuda.so} "$work/built"
ln -s "$PWD/$OUT/tests/zoo/findings" "$work/built/tests/zoo"
printf '#!/bin/sh\nexec %s/tests/zoo/plain/stack_copy\n' "$PWD/$OUT" >"$work/built/tests/zoo/plain/stack_copy"
chmod +x "$work/built/tests/zoo/plain/stack_copy"
expect zoo-wrong-twin 1 "plain/stack_copy: the twin is wrong with 'HOSTCUDA_SEED=1" zoo "$work/built" tests/zoo/plain/stack_copy.c
exit $bad
