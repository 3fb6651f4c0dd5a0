#!/bin/bash
# breakgraph step --attach: which node wrote the first NaN, what nodes wrote, which graphs and launches are stepped, and
# nodes that cannot run alone. Each program prints what it computed: that is the same with and without the tools.
. "$(dirname "$0")/../lib.sh"
. tests/cli/attach/programs/build.sh

if [ "$DEVICE" != host ]; then
    skip attach-step "the record of a GPU has its own (make gpu-check PART=attach)"
    exit 0
fi
found=$(tools/find_cuda host "${CUDA_HOME:-}")
cuda=${found%%|*}
breakgraph=$OUT/breakgraph nodes=$work/nodes
in_depth=attach-step-slow-node # it waits for ten seconds
flags=(-O2 -Wall -Wextra -Werror -I. -Iinclude -isystem "$cuda/include")
link=("-L$OUT" -lhostcuda "-Wl,-rpath,$PWD/$OUT")
cc=("$OUT/hostcuda-cc" -ccbin "$CXX" "${flags[@]}" -fPIC)
if ! "${cc[@]}" -rdynamic tests/cli/attach/python/nodes.cu -o "$nodes" 2>"$work/log" ||
    ! "${cc[@]}" -shared tests/cli/attach/python/nodes.cu -o "$work/libnodes.so" 2>"$work/log" ||
    ! "$CC" -std=c11 -D_GNU_SOURCE "${flags[@]}" tests/cli/attach/programs/graphs.c "${link[@]}" -o "$work/graphs" 2>"$work/log" ||
    ! C_INCLUDE_PATH=include build_program stepped; then
    fail attach-step "tests/cli/attach does not build"
    exit $bad
fi

# steps NAME STATUS FINDINGS PATTERN WHAT [FLAG...]: step of nodes WHAT ends so, with that many findings ("0 findings; 1 note"),
# one of which is PATTERN; the program's output is what it is without the tools.
steps()
{
    local name=$1 findings=$3 what=$5
    set -- "$name" "$2" "$4" "$breakgraph" step --attach "${@:6}" -- "$nodes" "$what"
    expect "$@"
    grep -q "^step: $findings" "$work/log" || fail "$name" "it has not $findings findings"
    [ "$(grep '^launch' "$work/log")" = "$("$nodes" "$what")" ] || fail "$name" "the program computes something else"
}

# ---- the first NaN -------------------------------------------------------------------------------------------------
place='the first at 0x[0-9a-f]+ \(kernel parameter 0 is 0x[0-9a-f]+, in a block of [0-9]+ bytes at 0x[0-9a-f]+\)'
launched='grid 64 x 1 x 1, block 64 x 1 x 1, parameters \+0 0x'
steps attach-step-clean 0 0 '^launch 2' none
steps attach-step-nan 1 1 "^warning \[nan-origin\] divide#0 at compute.* node 4 .* wrote 1 NaN of type f32, $place; .*$launched" nan
steps attach-step-nan-unnamed 1 1 '\[nan-origin\] fused_0#0 .* wrote 1 NaN of type f32' opaque
steps attach-step-unnamed-clean 0 0 '^launch 2' opaque-clean
steps attach-step-nan-half 1 1 '\[nan-origin\] convert#0 .* wrote 1 NaN of type f16' half
steps attach-step-nan-bfloat16 1 1 '\[nan-origin\] convert#0 .* wrote 1 NaN of type bf16' bfloat16
steps attach-step-half-clean 0 0 '^launch 2' half-clean
# It came with the input: nobody is to blame, and the input is named.
steps attach-step-nan-input 0 '0 findings; 1 note' '^note \[nan-input\] scale#0 .*held NaN before it ran: at 0x[0-9a-f]+ \(kernel parameter 1 is' input
# Integers with the bits of NaN, and masks of -inf.
steps attach-step-integers 0 0 '^launch 2' integers
steps attach-step-mask 0 '0 findings; 1 note' '^note \[inf-origin\] mask#0 .* wrote 2016 infinities of type f32' mask

if ! python3 -c 'import ctypes' 2>/dev/null; then
    skip attach-step-python "it needs python3 with ctypes"
else
    line=$(grep -n '# here' tests/cli/attach/python/nodes.py | cut -d: -f1)
    python=(python3 tests/cli/attach/python/nodes.py "$work/libnodes.so")
    expect attach-step-python 1 "^warning \[nan-origin\] divide#0 at .*nodes.py:$line: .*node 1 .* wrote 1 NaN" \
        "$breakgraph" step --attach -- "${python[@]}" 0
    expect attach-step-python-clean 0 '^step: 0 findings$' "$breakgraph" step --attach -- "${python[@]}" 1
fi

# ---- which graphs and launches -------------------------------------------------------------------------------------
nothing='^breakgraph: BG_STEP_GRAPHS and BG_STEP_REPLAYS exclude all replays of this program'
steps attach-step-late 1 1 '\[nan-origin\] divide#0' late
steps attach-step-replay 1 1 '\[nan-origin\] divide#0' late --replays=1
steps attach-step-replays 1 1 '\[nan-origin\] divide#0' late --replays=1-2 '--graphs=graph#0'
steps attach-step-replays-on 1 1 '\[nan-origin\] divide#0' late --replays=1-
steps attach-step-other-replay 0 0 '^launch 2' late --replays=0
steps attach-step-other-graph 14 0 '^launch 2' nan '--graphs=graph,!graph#0' --replays=0-1
steps attach-step-no-replay 14 0 "$nothing" nan --replays=9
steps attach-step-no-graph 14 0 "$nothing" two '--graphs=graph#7'
if "$breakgraph" step --attach '--graphs=graph#1' -- "$nodes" two 2>&1 | grep -Eq "$nothing"; then
    fail attach-step-second-graph "graph#1 is not stepped"
else
    pass attach-step-second-graph
fi
expect attach-step-bad-replays 2 "'--replays=3-1': allowed are a number from 0 on, or two" "$breakgraph" step --attach --replays=3-1 -- "$nodes"
expect attach-step-bad-graphs 2 "'--graphs=a/': allowed are names of graphs" "$breakgraph" step --attach --graphs=a/ -- "$nodes"

# ---- dumps ---------------------------------------------------------------------------------------------------------
# dumped NAME PATH CODE WHY: Python with the index as `index`, and read(range): its numbers, of float32; NAME fails with WHY.
dumped()
{
    command -v python3 >/dev/null || { skip "$1" "there is no python3"; return; }
    if python3 - "$2" 2>"$work/log" <<END; then pass "$1"; else fail "$1" "$4"; fi
import json, struct, sys
index = json.load(open(sys.argv[1] + "/index.json"))
nodes = index["nodes"]
def raw(r):
    data = open(sys.argv[1] + "/" + r["file"], "rb").read()
    return data[10 + struct.unpack("<H", data[8:10])[0]:]
def read(r):
    return struct.unpack("<%df" % (r["bytes"] // 4), raw(r))
$3
END
}
steps attach-step-dump 1 1 'nan-origin' nan --dump="$work/dump"
dumped attach-step-dump-index "$work/dump" '
assert index["complete"] and index["graph"] == "graph#0" and len(nodes) == 10, nodes
assert [n["node"] for n in nodes[:6]] == ["scale#0", "scale#1", "scale#2", "scale#3", "divide#0", "scale#4"]
divide, = nodes[4]["ranges"]
assert divide["dtype"] == "f32" and divide["bytes"] == 4 * 4096 and divide["held_by"] == "kernel parameter 0", divide
assert divide["offset"] == int(divide["address"], 16) - int(divide["block"], 16) == 6 * 4 * 4096, divide
values = read(divide)
assert [i for i in range(4096) if values[i] != values[i]] == [100], values[90:110]
assert values[0] == 1 / 2, values[0]
' "not what the nodes wrote"
expect attach-step-dump-again 2 "allowed are a directory that can be made or written, without an index.json" "$breakgraph" step --attach --dump="$work/dump" -- "$nodes"
touch "$work/file"
for place in "$work/file" /dev/null /proc/dump "$work/none/dump"; do
    expect "attach-step-dump-no-directory $place" 2 "allowed are a directory that can be made or written" \
        "$breakgraph" step --attach --dump="$place" -- "$nodes"
done
mkdir "$work/empty"
steps attach-step-dump-there 1 1 nan-origin nan --dump="$work/empty"
expect attach-step-dump-copy 0 '^output 5$' "$breakgraph" step --attach --dump="$work/copy" -- "$work/graphs" none
dumped attach-step-dump-bytes "$work/copy" '
r, = nodes[0]["ranges"]
assert nodes[0]["node"] == "memcpy#0" and r["dtype"] == "u8" and raw(r) == b"\x05" * 65536, nodes
' "not what the copy wrote"

# One that was stopped goes on.
expect attach-step-dump-stop 0 'a dump into the same directory goes on with index 5' "$breakgraph" step --attach --stop=4 --dump="$work/stopped" -- "$nodes" half-clean
steps attach-step-dump-on 0 0 '; 5 nodes before them not looked at$' half-clean --dump="$work/stopped"
dumped attach-step-dump-on-index "$work/stopped" 'assert index["complete"] and [len(n["ranges"]) for n in nodes] == [1] * 11, nodes' "not what the nodes wrote"

# Where the dump fails, the graph is stepped to its end all the same, and what is missing is said.
export BG_STEP_DUMP=$work/none/dump
steps attach-step-dump-not-begun 1 '1 finding; 1 note' '^note \[not-dumped\]: this launch is not dumped completely: .*none/dump cannot be created' nan
unset BG_STEP_DUMP
nan='sum 2, NaN'
stepped() # NAME STATUS PATTERN WHAT [FLAG...]
{
    ! is_left_out "$1" || return 0
    expect "$1" "$2" "$3" timeout 60 "$breakgraph" step --attach "${@:5}" -- "$work/stepped" "$4" "$work/gone"
    grep -q "^$nan$" "$work/log" || fail "$1" "the program computes something else"
}
stepped attach-step-dump-cut-short 1 '^note \[not-dumped\] add#0 at main.*: the dump ends at this node: .*No such file' no-directory --dump="$work/gone"
grep -q '^warning \[nan-origin\] add#0' "$work/log" || fail attach-step-dump-cut-short "the first NaN is not named"
stepped attach-step-dump-whole 1 '^warning \[nan-origin\] add#0' correct --dump="$work/gone"
grep -q 'not-dumped' "$work/log" && fail attach-step-dump-whole "the dump is whole"

# ---- what is not looked at any more --------------------------------------------------------------------------------
export HOSTCUDA_FAIL=tools:cudaMemcpyAsync@1=cudaErrorUnknown
ended='^note \[not-counted\] add#0 at main.*: the memory that this node and all later nodes of %s write is not checked: '
# shellcheck disable=SC2059
stepped attach-step-ended 0 "$(printf "$ended" 'graph#0')" correct
# shellcheck disable=SC2059
stepped attach-step-ended-named 0 "$(printf "$ended" decode)" name-before --dump="$work/watched"
grep -Eq '^note \[not-dumped\] add#0 .*an earlier error has ended the checks of its memory' "$work/log" || fail attach-step-ended-named "the dump ends silently"
unset HOSTCUDA_FAIL

# ---- host functions ------------------------------------------------------------------------------------------------
waits='^breakgraph: --attach: the step through graph#0 has waited more than 10 s for host function#0 at main'
stepped attach-step-named-within 1 '^named: yes' name-within
stepped attach-step-named-before 1 '^step of decode: 1 finding' name-before
grep -Eq "$waits" "$work/log" && fail attach-step-named-within "no node takes long"
stepped attach-step-slow-node 1 "$waits" slow

# ---- what cannot run alone -----------------------------------------------------------------------------------------
# A copy from freed memory is named, and the program gets what it gets without the tools.
expect attach-step-freed 1 '^fault \[fault\] memcpy#0 at .*cudaErrorInvalidValue .*; its source, 0x[0-9a-f]+, is in no memory that CUDA knows, and was freed at run' \
    "$breakgraph" step --attach -- "$work/graphs" freed
grep -q '^output' "$work/log" || fail attach-step-freed "the launch fails"
expect attach-step-not-freed 0 '^step: 0 findings$' "$breakgraph" step --attach -- "$work/graphs" none
expect attach-step-stop 0 'note \[stopped\] memcpy#0 at .*: stopped after index 0 of 0 to 0, .*nothing was left to run' \
    "$breakgraph" step --attach --stop=0 -- "$work/graphs" none
# A name that no graph has stops nothing, and is no error of the launch.
unmet='^breakgraph: BG_STEP_STOP: no stepped graph has a call of that name or a node of that index: nothing was stopped'
steps attach-step-stop-nowhere 1 1 "$unmet" nan --stop=nosuch
steps attach-step-stop-two 0 0 '^launch 2' two --stop=10
expect attach-step-stop-in-one 0 'note \[stopped\] divide#0 .*: stopped after index 4 of 0 to 9, .*the rest did not run' \
    "$breakgraph" step --attach --stop=divide#0 -- "$nodes" two
grep -Eq "$unmet" "$work/log" && fail attach-step-stop-in-one "graph#0 was stopped"
exit $bad
