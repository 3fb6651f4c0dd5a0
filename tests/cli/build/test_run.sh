#!/bin/bash
# tests/run: what becomes of skipped tests and of programs that end badly; programs side by side, and the order of their output.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$work/tmp
mkdir "$TMPDIR"

# program NAME: its text on standard input becomes $work/NAME.
program() { { echo '#!/bin/bash'; cat; } >"$work/$1" && chmod +x "$work/$1"; }

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

# ---- programs that end badly ----

program killed <<'SH_'
kill -SEGV $$
SH_
program hangs.sh <<'SH_'
echo ok a
sleep 300
SH_
program half <<'SH_'
echo '[ RUN      ] test_a'
SH_
program holds.sh <<'SH_'
sleep 600 &
echo "$!" >"$0.pid"
echo ok a
SH_
expect run-killed 1 '^failed: killed: killed by signal 11 \(SEGV\)$' tests/run "$work/killed"
expect run-timeout 1 '^failed: hangs.sh: stopped after 1 s$' tests/run --timeout 1 "$work/hangs.sh"
expect run-half 1 '^failed: half:test_a: ended without a result$' tests/run "$work/half"
expect run-holds-output 0 '^1 passed, 0 failed$' timeout 120 tests/run "$work/holds.sh"
kill "$(cat "$work/holds.sh.pid")"
program seeded <<'SH_'
echo '[ RUN      ] test_a'
echo '[       OK ] test_a'
[ "${HOSTCUDA_SEED:-}" != 2 ] || { echo "two is bad"; exit 1; }
SH_
echo 'seeded cpu seeds 1 1' >"$work/tiers"
expect run-seeds 1 '^failed: seeded:seeds: fails under HOSTCUDA_SEED=2$' tests/run --tiers "$work/tiers" --seeds 3 "$work/seeded"
# The group of the process between the runner and timeout is that which writes the results.
program orphan.sh <<'SH_'
read -r _ _ _ parent _ <"/proc/$PPID/stat"
read -r _ _ _ _ group _ <"/proc/$parent/stat"
kill -KILL "$group"
SH_
expect run-orphan 1 '^failed: orphan.sh: what ran it has gone$' tests/run "$work/orphan.sh"

# ---- side by side ----

# a.sh and b.sh pass where they meet.
for name in a.sh b.sh; do
    program $name <<'SH_'
cd "${0%/*}" && touch "now.${0##*/}" "came.${0##*/}"
for ((tries = 0; tries < 2400; tries++)); do [ ! -e came.a.sh ] || [ ! -e came.b.sh ] || break; sleep 0.05; done
[ $tries -lt 2400 ] && echo ok met || echo "not ok met: the other one has not come"
sleep 0.2
rm "now.${0##*/}"
SH_
done
expect run-side-by-side 0 '^2 passed, 0 failed$' tests/run --jobs 2 "$work/a.sh" "$work/b.sh"

# one.sh, two.sh and three.sh pass where no other one runs when they begin and when they end.
for name in one two three; do
    program $name.sh <<'SH_'
cd "${0%/*}" && touch "now.${0##*/}"
seen=$(echo now.*)
sleep 0.3
seen="$seen $(echo now.*)"
rm "now.${0##*/}"
[ "$seen" = "now.${0##*/} now.${0##*/}" ] && echo ok alone || echo "not ok alone: $seen"
SH_
done
list=("$work/one.sh" "$work/two.sh" "$work/three.sh")
expect run-one-job 0 '^3 passed, 0 failed$' tests/run --jobs 1 "${list[@]}"
rm "$work"/came.*
printf '%s.sh alone - 1 1\n' three one two >"$work/tiers"
expect run-alone 0 '^5 passed, 0 failed$' tests/run --jobs 5 --tiers "$work/tiers" "$work/a.sh" "${list[@]}" "$work/b.sh"
# Those that wait run beside two others, and not beside each other; with one job, nothing runs beside anything.
for name in wait_one wait_two; do
    program $name.sh <<'SH_'
cd "${0%/*}" && touch "came.${0##*/}"
[ ! -e waits ] || echo "not ok apart: another one waits"
touch waits
for ((tries = 0; tries < 2400; tries++)); do [ ! -e came.a.sh ] || [ ! -e came.b.sh ] || break; sleep 0.05; done
[ $tries -lt 2400 ] && echo ok beside || echo "not ok beside: the others have not come"
rm waits
SH_
done
program c.sh <<'SH_'
cd "${0%/*}"
for ((tries = 0; tries < 2400; tries++)); do [ ! -e came.wait_one.sh ] || break; sleep 0.05; done
[ $tries -lt 2400 ] && echo ok beside || echo "not ok beside: what waits has not come"
SH_
rm -f "$work"/came.*
printf '%s.sh waits - 1 1\n' wait_one wait_two one two three >"$work/tiers"
expect run-waiting 0 '^5 passed, 0 failed$' tests/run --jobs 2 --tiers "$work/tiers" "$work/c.sh" "$work/a.sh" "$work/wait_one.sh" "$work/b.sh" "$work/wait_two.sh"
expect run-waiting-one-job 0 '^3 passed, 0 failed$' tests/run --jobs 1 --tiers "$work/tiers" "${list[@]}"
# What costs most begins first: the order of what is printed.
printf '%s.sh cpu - %s %s\n' one 2 5 two 3 4 three - 6 >"$work/tiers"
ran() { tests/run --jobs 1 --tiers "$work/tiers" "$@" "${list[@]}" | sed -nE 's/^  pass   ([a-z]*).*/\1/p' | tr '\n' ' '; }
expect run-longest 0 '^two one three $' ran --size fast
expect run-longest-all 0 '^three one two $' ran --size all
echo 'echo "ok ${BREAKGRAPH_TEST_SIZE:-none}"' | program sized.sh
expect run-size 0 'small-1' sh -c "tests/run --size small --results '$work/sizes' '$work/sized.sh' && grep -q 'sized.sh:small' '$work/sizes' && echo small-1"
expect run-bad-size 2 "size 'huge' is none of small, fast, all" tests/run --size huge "${list[@]}"
expect run-bad-jobs 2 "jobs '0' is no number above 0" tests/run --jobs 0 "${list[@]}"

# What is first on the command line comes first, though it ends last, and a failure's output is in one piece.
for name in slow quick; do
    program $name.sh <<'SH_'
for i in {1..50}; do echo "${0##*/} $i"; [ "${0##*/}" = quick.sh ] || sleep 0.01; done
echo "not ok $i"
echo "skip all: of ${0##*/}"
SH_
done
tests/run --jobs 2 --results "$work/results.tsv" "$work/slow.sh" "$work/one.sh" "$work/quick.sh" >"$work/log" 2>&1
order() { tr '\n' ' ' | sed 's/ $//'; }
is() { [ "$2" = "$3" ] && pass "$1" || fail "$1" "'$2', expected '$3'"; }
is run-pieces "$(sed -n 's/^         | \([a-z]*\)[.]sh .*/\1/p' "$work/log" | uniq -c | tr -s ' ' | order)" ' 50 slow  50 quick'
is run-order "$(sed -nE 's/^  (pass|FAIL)   ([a-z]*).*/\2/p' "$work/log" | order)" 'slow one quick'
is run-results "$(cut -f 1,2 "$work/results.tsv" | tail -n +2 | tr '\t' ' ' | order)" \
    'slow.sh:50 failed slow.sh:all skipped one.sh:alone passed quick.sh:50 failed quick.sh:all skipped'

# ---- interrupted ----

# It and a child of its own stay; the child does not mind signals but the last.
program stays.sh <<'SH_'
bash -c 'trap "" HUP INT TERM; echo $$ >"$0.child"; while :; do sleep 300; done' "$0" &
echo $$ >"$0.pid"
wait
SH_
cp "$work/stays.sh" "$work/remains.sh"
left() { for pid in $(cat "$work"/{stays,remains}.sh.{pid,child}); do ! grep -q '^State:.[^ZX]' "/proc/$pid/status" 2>/dev/null || echo "$pid"; done; }
begun() { [ "$(ls "$work"/{stays,remains}.sh.{pid,child} 2>/dev/null | wc -l)" -eq 4 ]; }
interrupt() # signal, exit status
{
    local pid
    rm -f "$work"/{stays,remains}.sh.{pid,child}
    env --default-signal=INT tests/run --jobs 2 "$work/stays.sh" "$work/remains.sh" "$work/one.sh" >"$work/log" 2>&1 &
    pid=$!
    await begun
    kill -"$1" $pid
    wait $pid
    is "run-$1" $? "$2"
    is "run-$1-ended" "$(left)" ''
}
interrupt INT 130
interrupt TERM 143
interrupt HUP 129

# Results that are lost are a failure, whatever the tests said.
echo 'echo "ok fine"' | program fine.sh
: >"$work/file"
expect run-results-unwritable 1 '^failed: the results cannot be written to .*/file/results\.tsv$' \
    tests/run --results "$work/file/results.tsv" "$work/fine.sh"
is run-leaves-nothing "$(ls -A "$TMPDIR")" ''
exit $bad
