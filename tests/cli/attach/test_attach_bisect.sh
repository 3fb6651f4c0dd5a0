#!/bin/bash
# breakgraph bisect --attach: which nodes must be launched outside of their graph for a fault to vanish, the node that each must
# come behind, and how many starts that takes. HOSTCUDA_SEED lets work that nothing orders run in another order than it was issued.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-bisect "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
if ! build_cuda order || ! build_cuda split; then
    fail attach-bisect "tests/cli/attach does not build"
    exit $bad
fi
breakgraph=$PWD/$OUT/breakgraph
in_depth='attach-bisect-((first|last).*|twice-[12]|count)'
export HOSTCUDA_SEED=5
cat >"$work/counted" <<'END'
#!/bin/sh
echo $$ >>starts
[ "$(wc -l <starts)" != "${HANG:-0}" ] || exec sleep 600
exec "$@"
END
chmod +x "$work/counted"
in_work() { (cd "$work" && rm -f starts && "$@"); }
bisect() { in_work "$breakgraph" bisect --attach "$@"; }
log2() { local n=1 steps=0; while [ $n -lt "$1" ]; do n=$((n * 2)); steps=$((steps + 1)); done; echo $steps; }

# names NAME WHAT CULPRIT PARTNER: bisect of order WHAT names that pair, within 2 log2(nodes) + 10 starts, a line with which
# the program is good, and one with which it is bad though work runs in the order in which it was issued.
names()
{
    local name=$1 starts nodes good bad_by_order
    ! is_left_out "$name" || return 0
    expect "$name" 1 "^culprit graph#0/$3 \(.*\) at run_layer" bisect -- ./counted ./order "$2"
    grep -Eq "^    it must run after graph#0/$4 \(" "$work/log" || fail "$name" "$4 is not named"
    grep -q '^    nothing in the graph orders them: a wait is missing' "$work/log" || fail "$name" "it does not say what is missing"
    [ "$(grep -c '^        run_layers(' "$work/log")" -eq 2 ] || fail "$name" "the two stacks are not there"
    [ "$(grep -c '^culprit' "$work/log")" -eq 1 ] || fail "$name" "others are named, too"
    grep -q '^confirmed: .* good in 3 of 3 trials$' "$work/log" || fail "$name" "it is not confirmed"
    nodes=$(sed -n 's/^1 of \([0-9]*\) nodes.*/\1/p' "$work/log") starts=$(wc -l <"$work/starts")
    if [ "${nodes:-0}" -ge 50 ] && [ "$starts" -le $((2 * $(log2 "$nodes") + 10)) ]; then
        pass "$name-starts"
    else
        fail "$name-starts" "$starts starts for ${nodes:-no} nodes"
    fi
    good=$(sed -n 's/^good: //p' "$work/log")
    expect "$name-line" 0 '^graph#0: 1 of [0-9]* nodes ran outside' in_work env -u HOSTCUDA_SEED PATH="$PWD/$OUT:$PATH" sh -c "$good"
    bisect -- ./order "$2" >"$work/log" 2>&1
    bad_by_order=$(sed -n 's/^bad by order: \(.*\)-e HOSTCUDA_SEED=5 /\1/p' "$work/log")
    expect "$name-order" 1 '^wrong' in_work env HOSTCUDA_SEED=0 PATH="$PWD/$OUT:$PATH" sh -c "$bad_by_order"
}
names attach-bisect-join join 'combine#7' 'project#22'
names attach-bisect-first first 'combine#0' 'project#1'
names attach-bisect-last last 'combine#10' 'project#31'
for seed in $(sized '' '1 2 3'); do
    HOSTCUDA_SEED=$seed expect "attach-bisect-seed-$seed" 1 '^    it must run after graph#0/project#22' bisect -- ./order join
done
# The rest of the branch that the culprit must run after has no order either, where only the beginning is outside.
for seed in $(sized 3 '1 2 3'); do
    HOSTCUDA_SEED=$seed expect "attach-bisect-twice-$seed" 1 '^confirmed: .* good in 3 of 3' bisect -- ./order twice
    grep -q '^culprit graph#0/combine#7 ' "$work/log" || fail "attach-bisect-twice-$seed" "combine#7 is not named"
    grep -q '^    it must run after graph#0/project#22 ' "$work/log" || fail "attach-bisect-twice-$seed" "project#22 is not named"
done
expect attach-bisect-two 1 '^culprit graph#0/combine#9 ' bisect -- ./order joins
grep -q '^culprit graph#0/combine#3 ' "$work/log" || fail attach-bisect-two "the first pair is not named"
[ "$(grep -Ec '^    it must run after graph#0/project#(10|28) ' "$work/log")" -eq 2 ] || fail attach-bisect-two "what they must run after is not named"
grep -q "^good: .*--break='graph#0/combine#3,graph#0/combine#9' " "$work/log" || fail attach-bisect-two "the line does not have both"

# ---- wrong values, no fault, nothing to judge ----------------------------------------------------------------------
stays='^breakgraph bisect: the fault remains with all nodes launched outside of their graphs.*: the values or addresses in the graphs are wrong, not the order'
expect attach-bisect-pointer 13 "$stays" bisect -- ./counted ./order pointer
grep -q '^next: breakgraph check --attach --what=recapture .*-- ./counted ./order pointer$' "$work/log" || fail attach-bisect-pointer "it does not point to recapture"
[ "$(wc -l <"$work/starts")" -eq 3 ] || fail attach-bisect-pointer "$(wc -l <"$work/starts") starts"
expect attach-bisect-always 13 "$stays" bisect -- ./order always
expect attach-bisect-correct 0 'was good in both trials as it is' bisect -- ./order correct
HOSTCUDA_SEED=0 expect attach-bisect-hidden 0 'was good in both trials as it is' bisect -- ./order join
expect attach-bisect-check 1 '^culprit graph#0/combine#7 ' bisect --check='grep -q right' -- sh -c './order join; exit 0'
expect attach-bisect-memory 14 "none of the [0-9]* nodes of './split' can be launched outside" bisect --check=false -- ./split memory
expect attach-bisect-partly 13 'with all nodes, but for those that breakgraph run --attach --nodes names, launched' bisect --check=false -- ./split event
expect attach-bisect-not-cuda 4 'initialised no CUDA driver' bisect -- /bin/true
expect attach-bisect-skip 14 'cannot be judged \(status 125\)' bisect -- sh -c './order join; exit 125'
# One that is good in one trial and bad in another.
echo 0 >"$work/turn"
expect attach-bisect-varies 12 'is good in one trial and bad in another' bisect --check='n=$(cat turn); echo $((1 - n)) >turn; exit $n' -- ./order join

# Names that patterns cannot have; and graphs that have other names in each start.
ORDER_NAME=' a,b!' expect attach-bisect-name 1 '^culprit  a,b!/combine#7 ' bisect -- ./order join
grep -q "^good: .*--break='\*a\*b\*/\[31\]' " "$work/log" || fail attach-bisect-name "the line does not have the node"
expect attach-bisect-names 14 'have other names in this start than in the first one' bisect -- sh -c 'ORDER_NAME=run-$$ exec ./order join'

# judged_by NAME PROGRAM WHAT CONDITION: a program that is good where a pattern has '*', or asks for nodes from..to with CONDITION.
judged_by()
{
    cat >"$work/$1" <<END
#!/bin/sh
HOSTCUDA_SEED=0 ./$2 $3 >/dev/null || exit
echo "\${BG_ATTACH_BREAK:-}" | tr , '\\n' | awk -F '[][-]' '
    /\\*/ { good = 1 }
    / *graph#0/ { from = \$2; to = \$3; good = good || ($4) }
    END { exit !good }'
END
    chmod +x "$work/$1"
}

# A child graph whose nodes do something else outside of it.
judged_by inside split child 'from <= 1 && to >= 1'
expect attach-bisect-child 1 '^culprit graph#0/child graph#0 ' bisect -- ./inside
grep -q '^    the nodes of the child graph, launched one after the other' "$work/log" || fail attach-bisect-child "it does not say what is inside"
grep -q 'run after' "$work/log" && fail attach-bisect-child "another node is blamed"

# A fault that no order of launches has, only what runs at the same time: good where the node is outside, or all before the other one.
judged_by beside order 'join || true' '(from <= 31 && to >= 31) || (from == 0 && to >= 30)'
expect attach-bisect-beside 1 '^culprit graph#0/combine#7 ' bisect -- ./beside
grep -q '^    it must not run at the same time as graph#0/' "$work/log" || fail attach-bisect-beside "the other node is not named"
grep -q '^bad by order:' "$work/log" && fail attach-bisect-beside "no order of launches is bad"

# Two nodes that the graph orders cannot run at the same time, or the other way round: who is outside has changed something else.
judged_by ordered order correct '(from <= 31 && to >= 31) || (from == 0 && to >= 20)'
expect attach-bisect-ordered 12 'no culprit can be named: .* the order of other nodes decides' bisect -- ./ordered

# One that shows only in some starts: each has another order of what nothing orders.
cat >"$work/sometimes" <<'END'
#!/bin/sh
n=$(($(cat turn) + 1))
echo $n >turn
HOSTCUDA_SEED=$((n % 2 * n)) exec ./order join 1
END
chmod +x "$work/sometimes"
echo 0 >"$work/turn"
expect attach-bisect-sometimes 12 'is good in one trial and bad in another: .* with --count=N' bisect -- ./sometimes
sed -i 's/n % 2 \* n/n/' "$work/sometimes"
echo 0 >"$work/turn"
expect attach-bisect-count 1 '^culprit graph#0/combine#7 ' bisect --count=12 -- ./sometimes
! deep || grep -q 'after graph#0/project#22 ' "$work/log" || fail attach-bisect-count "project#22 is not named"

# ---- interrupted, and gone on from there ---------------------------------------------------------------------------
# What stops it: a start that hangs, until bisect is told to end.
bisect -- ./counted ./order join >"$work/straight" 2>&1
straight=$(wc -l <"$work/starts")
started() { [ "$(cat starts 2>/dev/null | wc -l)" -ge "$1" ]; }
cd "$work" || exit 1
for at in $(sized "3 16" "1 3 9 16"); do
    rm -f starts .breakgraph-bisect.json
    HANG=$at "$breakgraph" bisect --attach -- ./counted ./order join >log 2>&1 </dev/null &
    pid=$!
    await started "$at"
    kill -INT $pid
    wait $pid
    [ $? -eq 130 ] || fail "attach-bisect-interrupt-$at" "another exit status than 130"
    rm -f starts
    "$breakgraph" bisect --attach -- ./counted ./order join >log 2>&1 </dev/null
    if [ "$(wc -l <starts)" -ne $((straight - at + 1)) ]; then
        fail "attach-bisect-resume-$at" "$(wc -l <starts) starts after $((at - 1)) of $straight"
    elif ! diff <(sed -E 's/[0-9.]+ s$//' log) <(sed -E 's/[0-9.]+ s$//' straight) >difference; then
        fail "attach-bisect-resume-$at" "another result than without the interruption"
    else
        pass "attach-bisect-resume-$at"
    fi
done
cd - >/dev/null || exit 1
expect attach-bisect-state 1 '^culprit' bisect --state=state.json -- ./order join
expect attach-bisect-other-state 10 'belongs to another command' in_work "$breakgraph" bisect --state=state.json -- ./order join
sed 's/"node":[^,]*,//' "$work/state.json" >"$work/damaged.json"
expect attach-bisect-damaged 10 'damaged.json is damaged' bisect --state=damaged.json -- ./order join
for change in 's/"node":[^,]*/"node":-1/' 's/"first":\[[^]]*]/"first":[1000000]/' 's/"after":[^]]*]/"after":[-1]/' 's/"node":/"behind":-1,"node":/' \
    's/"node":/"behind":1000000,"node":/' 's/"outside":[^,}]*/"outside":null/' 's/"name":"[^"]*"/"name":{}/'; do
    tr -d '\n\t' <"$work/state.json" | sed "$change" >"$work/damaged.json"
    expect "attach-bisect-damaged $change" 10 'damaged.json is damaged' bisect --state=damaged.json -- ./order join
done
tr -d '\n\t' <"$work/state.json" >"$work/damaged.json"
expect attach-bisect-undamaged 1 '^culprit' bisect --state=damaged.json -- ./order join

# ---- JSON ----------------------------------------------------------------------------------------------------------
if command -v python3 >/dev/null; then
    bisect --json -- ./order join >"$work/json" 2>"$work/log"
    if python3 - "$work/json" <<'END' 2>"$work/log"; then pass attach-bisect-json; else fail attach-bisect-json "not what is there"; fi
import json, sys
result = json.load(open(sys.argv[1]))
assert result["exit"] == 1 and result["result"] == "culprits" and result["confirmed"], result
one, = result["culprits"]
assert one["name"] == "graph#0/combine#7" and one["graph"] == "graph#0" and one["node"] == 31 and not one["ordered"], one
assert one["behind"]["name"] == "graph#0/project#22" and "run_layers" in one["behind"]["stack"][1], one
assert one["stack"][0].startswith("run_layer(") and "--break='graph#0/combine#7'" in result["good"], one
END
else
    skip attach-bisect-json "there is no python3"
fi

# ---- arguments -----------------------------------------------------------------------------------------------------
for flag in --shadow --tolerance=f32:ulp=1 --only=mix --html=page.html; do
    expect "attach-bisect-library $flag" 2 'is for programs that use libbreakgraph' bisect $flag -- ./order join
done
expect attach-bisect-bad-attach 2 "'--attach=now'" in_work "$breakgraph" bisect --attach=now -- ./order join
exit $bad
