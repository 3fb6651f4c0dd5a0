#!/bin/bash
# tests/run: what becomes of skipped tests.
. "$(dirname "$0")/lib.sh"

# like_cmocka NAME LINE...: a program that passes one test, and skips one after these lines.
like_cmocka()
{
    local name=$1
    shift
    {
        echo '#!/bin/sh'
        printf "echo '%s'\n" '[ RUN      ] test_a' '[       OK ] test_a' '[ RUN      ] test_b' "$@" '[  SKIPPED ] test_b'
    } >"$work/$name"
    chmod +x "$work/$name"
}
like_cmocka reason 'skipped: needs 2 GPUs, and there are 1'
expect run-skipped 0 '^         skipped: reason:test_b: needs 2 GPUs, and there are 1$' tests/run "$work/reason"
expect run-skipped-count 0 '^1 passed, 0 failed, 1 skipped$' tests/run "$work/reason"
like_cmocka none
expect run-skipped-no-reason 1 '^failed: none:test_b: skipped without a reason$' tests/run "$work/none"
like_cmocka talks 'seed 1'
expect run-skipped-talks 1 '^failed: talks:test_b: skipped without a reason$' tests/run "$work/talks"
printf '#!/bin/sh\necho "skipped: there is no NCCL here"\n' >"$work/whole"
printf '#!/bin/sh\n' >"$work/nothing"
chmod +x "$work/whole" "$work/nothing"
expect run-whole 0 '^         skipped: whole: there is no NCCL here$' tests/run "$work/reason" "$work/whole"
expect run-nothing 1 '^failed: nothing: ran no test$' tests/run "$work/reason" "$work/nothing"
printf '#!/bin/sh\necho ok a\necho skip b: it is late\n' >"$work/script.sh"
printf '#!/bin/sh\necho ok a\necho skip b\n' >"$work/silent.sh"
chmod +x "$work"/*.sh
expect run-script-skips 0 '^         skipped: script.sh:b: it is late$' tests/run "$work/script.sh"
expect run-script-no-reason 1 '^failed: silent.sh:b: skipped without a reason$' tests/run "$work/silent.sh"
exit $bad
