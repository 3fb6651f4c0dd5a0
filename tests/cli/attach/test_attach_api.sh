#!/bin/bash
# What a program under --attach may ask (breakgraph/attach.h, breakgraph.py), --fatal, and programs into which nothing can
# be preloaded.
. "$(dirname "$0")/../lib.sh"

breakgraph=$OUT/breakgraph
in_depth='attach-asks-destroyed-.*'
found=$(tools/find_cuda host "${CUDA_HOME:-}")
cuda=${found%%|*}
warn="-Wall -Wextra -Wpedantic -Werror"

# The header alone, in each language. Nothing is linked.
cat >"$work/header.c" <<'C'
#include <breakgraph/attach.h>
int main(void) { bg_attach_graph graph = BG_ATTACH_GRAPH_INIT; int n; char *text; bg_attach_free(0);
return bg_attached() || bg_attach_get_graph(0, &graph) != BG_ERROR_NOT_FOUND || bg_attach_check(BG_JSON, &n, &text) != BG_ERROR_NOT_FOUND ||
bg_attach_name_graph(0, "x") != BG_ERROR_NOT_FOUND || bg_attach_name_next("x") != BG_ERROR_NOT_FOUND ||
bg_attach_name_memory(&n, 4, "x") != BG_ERROR_NOT_FOUND || bg_attach_forget_memory(&n) != BG_ERROR_NOT_FOUND ||
bg_attach_rows(&n, 4, 1, 1, 0) != BG_ERROR_NOT_FOUND || bg_attach_forget_rows(&n) != BG_ERROR_NOT_FOUND ||
bg_attach_ledger_alloc(&n, 4) != BG_ERROR_NOT_FOUND || bg_attach_ledger_free(&n) != BG_ERROR_NOT_FOUND ||
bg_attach_graph_count() != 0 || bg_attach_last_error()[0] == 0; }
C
# header NAME COMPILER...: it compiles, and outside of --attach each function says so.
header()
{
    local name=$1
    shift
    # shellcheck disable=SC2086
    if "$@" $warn -isystem "$cuda/include" "$work/header.c" -o "$work/header" -ldl 2>"$work/log" && "$work/header"; then
        pass "attach-header-$name"
    else
        fail "attach-header-$name" "breakgraph/attach.h"
    fi
}
header c99 "$CC" -std=c99 -Iinclude
header c11 "$CC" -std=c11 -Iinclude
header c++11 "$CXX" -x c++ -std=c++11 -Iinclude
header c++20 "$CXX" -x c++ -std=c++20 -Iinclude

# shellcheck disable=SC2086
compile() { "$CC" -std=c11 -D_GNU_SOURCE $warn -Iinclude -isystem "$cuda/include" "$@" 2>>"$work/log"; }
: >"$work/log"
if compile tests/cli/attach/programs/older.c -rdynamic -o "$work/older" -ldl; then
    says attach-api-older "$work/older" <<<"named x
next: 0
there, but NULL: 5, 0
not there: 5, 5"
else
    fail attach-api-older "tests/cli/attach/programs/older.c does not build"
fi

# The tools bring cJSON along where it can be linked into them.
archive=$("$CC" -print-file-name=libcjson.a)
if [ "$archive" = libcjson.a ]; then
    skip attach-cjson "there is no libcjson.a"
elif ! "$CC" -shared -o "$work/cjson.so" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -lm 2>/dev/null; then
    skip attach-cjson "libcjson.a is not position-independent"
else
    expect attach-cjson 1 '^$' sh -c "readelf -d '$OUT/attach/libbreakgraph_tools.so' | grep 'NEEDED.*cjson'; s=\$?; echo; exit \$s"
fi

# ---- programs into which nothing can be preloaded ----

cat >"$work/hello.c" <<'C'
int main(void) { return 0; }
C
not_started='initialised no CUDA driver'
expect attach-program-dynamic 4 "$not_started" "$breakgraph" check --attach -- true
expect attach-program-doctor 0 '✓ true +libraries can be preloaded' sh -c "'$breakgraph' doctor -- true || [ '$DEVICE' = cuda ]"
# refused NAME STATUS PATTERN PROGRAM: the command says it, and doctor does; nobody says it of others.
refused()
{
    expect "attach-program-$1" 4 "$3" "$breakgraph" check --attach -- "$4"
    expect "attach-doctor-$1" "$2" "$3" sh -c "'$breakgraph' doctor -- '$4' || [ '$2' = 0 -a '$DEVICE' = cuda ]"
}
if "$CC" -static "$work/hello.c" -o "$work/static" 2>"$work/log"; then
    refused static 0 "$work/static is linked statically: nothing can be preloaded into it, only into programs that it starts" "$work/static"
    expect attach-program-starts 4 "$not_started" "$breakgraph" check --attach -- "$work/static"
else
    skip attach-program-static "there is no static C library"
fi
"$CC" "$work/hello.c" -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -o "$work/musl" 2>"$work/log"
refused musl 1 "$work/musl uses another C library than glibc .its loader is /lib/ld-musl-x86_64.so.1." "$work/musl"
printf '#!%s\n' "$work/musl" >"$work/script"
chmod +x "$work/script"
refused script 1 "$work/musl uses another C library" "$work/script"
printf '#! /bin/sh\nexit 0\n' >"$work/script"
expect attach-program-shell 4 "$not_started" "$breakgraph" check --attach -- "$work/script"
"$CC" "$work/hello.c" -o "$work/foreign" 2>"$work/log"
printf '\362\000' | dd of="$work/foreign" bs=1 seek=18 conv=notrunc 2>/dev/null # e_machine
expect attach-program-foreign 0 "– .*foreign +.*for another kind of processor .ELF machine 242." sh -c "'$breakgraph' doctor -- '$work/foreign' || [ '$DEVICE' = cuda ]"
cp "$work/foreign" "$work/cut"
truncate -s 40 "$work/cut"
mkdir "$work/dir"
expect attach-program-cut 0 "✓ .*cut +libraries can be preloaded" sh -c "'$breakgraph' doctor -- '$work/cut' || [ '$DEVICE' = cuda ]"
for odd in none dir; do
    expect "attach-program-$odd" 0 "– .*$odd is no program that can be started" sh -c "'$breakgraph' doctor -- '$work/$odd' || [ '$DEVICE' = cuda ]"
done
"$CC" "$work/hello.c" -o "$work/setuid" 2>"$work/log"
if [ "$(id -u)" = 0 ] && chown 1 "$work/setuid" && chmod 4755 "$work/setuid"; then
    refused setuid 1 "$work/setuid is setuid: the loader preloads nothing into it" "$work/setuid"
    chown 0 "$work/setuid" && chmod 4755 "$work/setuid" # of the user who starts it: no privilege
    expect attach-program-own-setuid 4 "$not_started" "$breakgraph" check --attach -- "$work/setuid"
else
    skip attach-program-setuid "only root can make a file of another user"
fi
expect attach-doctor-argument 2 "unknown argument 'x'; write: -- PROGRAM" "$breakgraph" doctor x
expect attach-fatal-alone 2 'fatal needs --attach' "$breakgraph" check --fatal -- true

# ---- what a program asks ----

if [ "$DEVICE" != host ]; then
    skip attach-asks "the record of a GPU has its own (make gpu-check PART=attach)"
    exit $bad
fi
expect attach-doctor 0 "✓ --attach +its libraries are in $PWD/$OUT/attach, the driver is $PWD/$OUT/libhostcuda.so" "$breakgraph" doctor
if ! compile tests/cli/attach/programs/asks.c "-L$OUT" -lhostcuda -pthread "-Wl,-rpath,$PWD/$OUT" -o "$work/asks"; then
    fail attach-asks "tests/cli/attach/programs/asks.c does not build"
    exit $bad
fi
# asked NAME STATUS WHAT...: what it wrote is in $work/found, addresses as ADDRESS.
asked()
{
    local name=$1 want=$2 status
    shift 2
    : >"$work/answers"
    "$breakgraph" check --attach -- "$work/asks" "$work/answers" "$@" >"$work/log" 2>&1 </dev/null
    status=$?
    sed -E 's/0x[0-9a-f]+/ADDRESS/g' "$work/answers" >"$work/found"
    [ "$status" -eq "$want" ] || fail "attach-asks-$name" "exit status $status, expected $want"
}
# answer NAME: $work/found is what stdin holds.
answer()
{
    if diff - "$work/found" >"$work/log"; then
        pass "attach-asks-$1"
    else
        fail "attach-asks-$1" "other answers"
    fi
}
# has NAME COUNT PATTERN...: $work/found, as one line, has each so often.
has()
{
    local name=$1
    shift
    while [ $# -gt 0 ]; do
        [ "$(tr '\n' ' ' <"$work/found" | sed 's/  */ /g' | grep -Eo -e "$2" | wc -l)" -eq "$1" ] || { cp "$work/found" "$work/log"; fail "attach-asks-$name" "'$2' is not there $1 times"; return; }
        shift 2
    done
    pass "attach-asks-$name"
}
asked names 0 names
answer names <<'A'
attached: 1
name_next: 0
early: 5
  the program has made no CUDA call yet: only the graphs to come can be named (1 to 51 bytes)
end: 0
name_graph: 0
graphs: 4
decode: 1 node, launches 2, updates 0
decode#1: 1 node, launches 0, updates 0
prefill: 1 node, launches 0, updates 1
graph#3: 1 node, launches 0, updates 0
A
expect attach-asks-report 0 '^prefill: 1 node, launched 0 times, updated 1 times' "$breakgraph" report --attach -- "$work/asks" "$work/answers" names
asked wrong 6 wrong
answer wrong <<'A'
attached: 1
long: 1
  bg_attach_name_graph: a name has 1 to 63 bytes
shorter: 0
empty: 1
  bg_attach_name_graph: a name has 1 to 63 bytes
long next: 1
  bg_attach_name_next: a name has 1 to 51 bytes
none: 5
  bg_attach_name_graph: (nil) is not an executable graph of this program
no memory: 1
  bg_attach_name_memory: 8 bytes at (nil) are no memory
no bytes: 1
  bg_attach_name_memory: 0 bytes at ADDRESS are no memory
no name: 5
  bg_attach_forget_memory: no memory that begins at ADDRESS has a name
no block: 1
  bg_attach_ledger_alloc: 0 bytes at ADDRESS are no block
no rows: 1
  bg_attach_rows: invalid rows: 0 rows of 4 bytes at ADDRESS, of which 0 belong to the batch
wide rows: 1
  bg_attach_rows: invalid rows: 4 rows of 9223372036854775807 bytes at ADDRESS, of which 4 belong to the batch
more live: 1
  bg_attach_rows: invalid rows: 4 rows of 4 bytes at ADDRESS, of which 5 belong to the batch
rows: 0
other rows: 5
  bg_attach_forget_rows: no rows were set for memory that begins at ADDRESS
forget rows: 0
index: 5
  bg_attach_get_graph: there is no graph 1
negative: 5
  bg_attach_get_graph: there is no graph -1
size: 1
  graph.struct_size is 1; initialise the struct with BG_ATTACH_GRAPH_INIT
count: 1
  bg_attach_check: findings is NULL
format: 1
  bg_attach_check: the format is neither BG_TEXT nor BG_JSON
good: 0
A
# Under another command nothing is checked, which is not the same as no finding.
# What another thread destroys and frees while a check looks at it is no fault.
. tests/cli/attach/programs/build.sh
if ! deep; then :
elif build_program destroyed; then
    for way in cuda ledger; do
        expect "attach-asks-destroyed-$way" 0 '^check replay: 0 findings$' "$breakgraph" check --attach -- "$work/destroyed" $way
    done
else
    fail attach-asks-destroyed "tests/cli/attach/programs/destroyed.c does not build"
fi
expect attach-asks-other-command 0 . "$breakgraph" report --attach -- "$work/asks" "$work/answers" anywhere
cp "$work/answers" "$work/found"
has other-command 3 'check: 4 bg_attach_check: this command does not check; write: breakgraph check --attach' 0 'findings: '
"$work/asks" "$work/answers" anywhere
cp "$work/answers" "$work/found"
has not-attached 3 'check: 5 the program does not run under --attach; start it with: breakgraph check' 0 'findings: '

asked freed 1 freed now
has freed 1 'findings: 0' 2 'findings: 1 check of step: 1 finding fault \[dangling\] memcpy#0 ' 2 'source is weights\+256 \(ADDRESS\), in'
asked kept 0 freed none
has kept 1 'findings: 0' 0 'findings: [1-9]' 0 weights
asked formerly 1 freed formerly
has formerly 2 'is weights\+256 \(formerly old, ADDRESS\), in'
asked forgotten 1 freed forgotten
has forgotten 2 'source is ADDRESS, in' 0 weights
# A finding of a launch, in a graph that is gone, is given once.
asked launched 1 freed launched
has launched 2 'findings: 0' 1 'findings: 1 check of step'
asked json 1 freed json
has json 1 '\{"breakgraph": "[0-9.]+", "findings": 1, "graphs": 1, "not_checked": 0, "reports": \[\{.*"graph":"step".*"kind":"dangling".*\]\}\]\}'

asked blocks-freed 1 blocks freed
has blocks-freed 1 'findings: 1 check of graph#0: 1 finding fault \[freed\] .* that was freed after the capture, at free_block\+'
asked blocks-reused 1 blocks reused
has blocks-reused 1 'fault \[reused\] .* the allocator has given to another one'
asked blocks-other 0 blocks other
has blocks-other 1 'findings: 0' 0 'freed after'
asked blocks-moved 1 blocks moved
has blocks-moved 1 'findings: 1 check of graph#0: 1 finding fault \[moved\] .* that was freed after the capture, at free_block.*, and that the program has at cache \(ADDRESS\) now'
asked blocks-renamed 0 blocks renamed
has blocks-renamed 1 'findings: 0' 0 'freed after'
# What an update has mended is found no more.
asked blocks-mended 1 blocks mended
has blocks-mended 1 'findings: 1 ' 1 'check: 0 findings: 0 $'

# What the program sets in the graph it uses from then on, and not what it used before.
for launched in second 'second, launched'; do
    asked set-"$launched" 1 set "$launched"
    has set-"$launched" 1 'findings: 1 check of graph#0: 1 finding fault \[freed\] .* that was freed after the capture, at free_block\+'
done
asked set-first 0 set first
has set-first 1 'findings: 0'

asked anywhere 0 anywhere
answer anywhere <<'A'
attached: 1
check: 0
findings: 0
check: 0
findings: 0
pending: 21
check: 0
findings: 0
attached, in a child: 0
attached: 1
A

# ---- --fatal ----

fatal() { "$breakgraph" check --attach --fatal "${@:2}" -- "$work/asks" "$work/answers" freed "$1"; }
expect attach-fatal 1 "'$work/asks' was ended at its first fault, because of --fatal" fatal launched
if ! grep -q '^fault \[dangling\] memcpy#0' "$work/log" || grep -q SIGABRT "$work/log" || [ -s "$work/answers" ]; then
    fail attach-fatal-finding "the finding is not printed, or the program went on"
fi
expect attach-fatal-json 1 '"kind":[[:space:]]*"dangling"' fatal launched --json
expect attach-fatal-none 0 '^check replay: 0 findings$' fatal none
# A warning is no fault, and an abort of the program's own is a crash.
"$CC" -std=c11 -D_GNU_SOURCE -isystem "$cuda/include" tests/cli/attach/programs/graphs.c "-L$OUT" -lhostcuda "-Wl,-rpath,$PWD/$OUT" -o "$work/graphs"
expect attach-fatal-warning 1 '^check replay: 1 finding$' "$breakgraph" check --attach --fatal -- "$work/graphs" pageable
grep -q 'because of --fatal' "$work/log" && fail attach-fatal-goes-on "a warning ended the program"
expect attach-fatal-abort 7 'signal SIGABRT' "$breakgraph" check --attach --fatal -- sh -c "'$work/graphs' none; kill -ABRT \$\$"
expect attach-fatal-abort-alone 1 'signal SIGABRT' "$breakgraph" check --attach -- sh -c "'$work/graphs' freed; kill -ABRT \$\$"

# ---- Python ----

if ! python3 -c 'import ctypes' 2>/dev/null; then
    skip attach-python "there is no python3 with ctypes"
    exit $bad
fi
export LD_LIBRARY_PATH=$PWD/$OUT
# python NAME STATUS WHAT: what it printed is in $work/found.
python()
{
    expect "attach-python-$1-runs" "$2" . "$breakgraph" check --attach -- sh -c "python3 tests/cli/attach/python/asks.py '$3' >'$work/answers' 2>'$work/errors'"
    sed -E 's/0x[0-9a-f]+/ADDRESS/g' "$work/answers" >"$work/found"
}
says attach-python-memory env PYTHONPATH=python python3 tests/cli/attach/python/asks.py memory <<'A'
4096 1024
4096 896
4096 1024
4096 1920
4096 1024
4096 1024
4096 1024
4096 0
A
python none 0 none
answer python-none <<<"0 findings in 1 graphs"
for named in pointer strided interface interface-strided dlpack dlpack-host; do
    python $named 1 $named
    has python-$named 1 '0 findings in 1 graphs' 1 '1 findings in 1 graphs fault \[dangling\] memcpy#0 of decode at [^ ]*asks.py:[0-9]+: .* is weights \(ADDRESS\), in'
done
python other 1 other
has python-other 1 'is ADDRESS, in' 0 weights
python names 0 names
expect attach-python-names 0 '^outer: 1 node' "$breakgraph" report --attach -- python3 tests/cli/attach/python/asks.py names
for name in inner other last number; do
    grep -q "^$name: 1 node" "$work/log" || fail attach-python-names "$name is not in the list"
done
python wrong 5 wrong
answer python-wrong <<'A'
TypeError: breakgraph.name_graph: object does not tell its cudaGraphExec_t; write instead, around its capture: with breakgraph.graph("name"):
Error: bg_attach_name_graph: ADDRESS is not an executable graph of this program
TypeError: breakgraph: object has neither data_ptr() nor __cuda_array_interface__ nor __dlpack__()
TypeError: breakgraph: a name is a str that is not empty, and not ''
no error
ValueError: breakgraph.rows: the tensor has no rows one behind the other, its shape is (16, 32)
ValueError: breakgraph.rows: the tensor has no rows one behind the other, its shape is (32, 32)
Error: bg_attach_rows: invalid rows: 32 rows of 128 bytes at ADDRESS, of which 33 belong to the batch
TypeError: breakgraph: object has neither data_ptr() nor __cuda_array_interface__ nor __dlpack__()
A
for rows in interface dlpack; do
    expect attach-python-rows-$rows 1 'warning \[padding\] memcpy#0 at [^ ]*asks.py:[0-9]+: memcpy#0 carries padding rows into live' \
        sh -c "'$breakgraph' check --attach --what=padding -- python3 tests/cli/attach/python/asks.py rows-$rows | tr -s ' \n' ' '; exit 1"
done
expect attach-python-rows-pointer 14 'no padding rows of floats were told' \
    "$breakgraph" check --attach --what=padding -- python3 tests/cli/attach/python/asks.py rows-pointer
# check() that cannot look says so: without --attach, and before CUDA is used.
expect attach-python-alone 1 'Error: .*start it with: breakgraph check --attach -- .*python3? .*asks.py none' \
    env PYTHONPATH=python python3 tests/cli/attach/python/asks.py none
expect attach-python-early 4 . "$breakgraph" check --attach -- sh -c "python3 tests/cli/attach/python/asks.py attached >'$work/found' 2>&1"
has python-early 1 '^True' 1 "Error: the program has made no CUDA call yet"
# A program's own module of that name, and its PYTHONPATH, come first.
mkdir "$work/own"
echo 'print("its own")' >"$work/own/breakgraph.py"
expect attach-python-own 4 . env PYTHONPATH="$work/own" "$breakgraph" check --attach -- sh -c "python3 -c 'import breakgraph' >'$work/found'"
answer python-own <<<"its own"

if python3 -c 'import pytest' 2>/dev/null; then
    expect attach-pytest 1 '^check replay: 1 finding$' "$breakgraph" check --attach -- \
        sh -c "python3 -m pytest -p no:cacheprovider tests/cli/attach/python/test_graphs.py >'$work/found'"
    has pytest 1 '1 failed, 1 passed' 1 'assert not \[fault \[dangling\] memcpy#0 of decode at ' 1 'is input \(ADDRESS\)|is input \(0x[0-9a-f]+\)'
else
    skip attach-pytest "python3 has no pytest; the cases above run the same calls"
fi

# Installed, the module is beside the libraries.
prefix=$work/prefix
if ! run_make DEVICE=host install PREFIX="$prefix" >"$work/log" 2>&1; then
    fail attach-python-installed "make install"
else
    expect attach-python-installed 1 '^check replay: 1 finding$' env LD_LIBRARY_PATH="$prefix/lib" PYTHONDONTWRITEBYTECODE=1 \
        "$prefix/bin/breakgraph" check --attach -- python3 tests/cli/attach/python/asks.py pointer
    header installed "$CC" -std=c11 "-I$prefix/include"
fi
exit $bad
