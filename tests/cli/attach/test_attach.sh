#!/bin/bash
# The shim in front of the driver: every way in which programs come by the driver's functions leads through it, and what
# they get is the driver's own answer.
. "$(dirname "$0")/../lib.sh"

attach=$PWD/$OUT/attach
compile() { "$CC" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fPIC -fvisibility=hidden -I. "$@" 2>>"$work/log"; }
if ! compile -shared tests/cli/attach/programs/driver.c -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o "$work/libcuda.so.1" ||
    ! compile -shared tests/cli/attach/programs/probe.c -o "$work/probe.so" ||
    ! compile -shared tests/cli/attach/programs/plug_in.c "$work/libcuda.so.1" -o "$work/plug_in.so" ||
    ! compile tests/cli/attach/programs/ways.c -o "$work/ways" -ldl; then
    fail attach-ways "tests/cli/attach does not build"
    exit $bad
fi

# shimmed [NAME=VALUE...] COMMAND...: with the shim, in front of the driver $driver.
shimmed()
{
    env LD_PRELOAD="$attach/libbreakgraph_attach.so:$attach/libbreakgraph_attach_alias.so" BG_ATTACH_DRIVER="$driver" \
        BG_ATTACH_TOOLS="$work/probe.so" "$@"
}

driver=$work/libcuda.so.1
both_streams='tools: version 1
cuInit: 0
seen: cuGraphLaunch(1, 2)
cuGraphLaunch: 1003
seen: cuGraphLaunch_ptsz(1, 2)
cuGraphLaunch: 2003'
one_stream=${both_streams%
seen: *}
says attach-dlopen shimmed "$work/ways" dlopen <<<"$both_streams"
says attach-dlopen-libcuda.so shimmed "$work/ways" dlopen libcuda.so <<<"$both_streams"
says attach-needed shimmed "$work/ways" needed "$work/plug_in.so" <<<"$one_stream"
says attach-deepbind shimmed "$work/ways" deepbind "$work/plug_in.so" <<<"$one_stream"
says attach-close shimmed "$work/ways" close <<<"$both_streams
${both_streams#*$'\n'}"
# Beside another preloaded library, which is linked with the driver.
ours=$attach/libbreakgraph_attach.so:$attach/libbreakgraph_attach_alias.so
says attach-preload-before shimmed LD_PRELOAD="$work/plug_in.so:$ours" "$work/ways" dlopen <<<"$both_streams"
says attach-preload-behind shimmed LD_PRELOAD="$ours:$work/plug_in.so" "$work/ways" dlopen <<<"$both_streams"
says attach-v1 shimmed "$work/ways" v1 <<<"${one_stream/seen/status: 0
seen}"
says attach-v2 shimmed "$work/ways" v2 <<<"status: 0
$both_streams
too old: 0, status 2, NULL
not there: 500, status 1, NULL"

# The first call of all, of a function with a float; a name that the driver lacks; a function with 11 arguments, looked at or
# not; a launch that is answered by the tools, changed by them, and during which they launch something themselves.
arguments='first call of all: 20
tools: version 1
cuInit: 0
float: 12
missing: 500
kernel: all arguments
seen: cuGraphLaunch(77, 2)
cuGraphLaunch: 7777
seen: cuGraphLaunch(78, 2)
cuGraphLaunch: 1081
seen: cuGraphLaunch(79, 2)
cuGraphLaunch: 1081
seen: cuGraphLaunch(80, 2)
own: 1000
cuGraphLaunch: 1082'
says attach-arguments shimmed "$work/ways" arguments <<<"$arguments"
says attach-watch shimmed PROBE_WATCH=1 "$work/ways" arguments <<<"${arguments/kernel/seen: cuLaunchKernel: 506
kernel}"

# A hook for all names, one without a hook of its own and with a float among them.
says attach-watch-all shimmed PROBE_WATCH=1 PROBE_ALL=1 "$work/ways" arguments <<<'first call of all: 20
tools: version 1
cuInit: 0
watched: cuTexRefSetMipmapLevelBias 4.0
watched: 12
float: 12
missing: 500
watched: cuLaunchKernel 0.5
watched: 506
seen: cuLaunchKernel: 506
kernel: all arguments
seen: cuGraphLaunch(77, 2)
cuGraphLaunch: 7777
seen: cuGraphLaunch(78, 2)
watched: cuGraphLaunch 39.5
watched: 1081
cuGraphLaunch: 1081
seen: cuGraphLaunch(79, 2)
watched: cuGraphLaunch 39.5
watched: 1081
cuGraphLaunch: 1081
seen: cuGraphLaunch(80, 2)
own: 1000
watched: cuGraphLaunch 40.0
watched: 1082
cuGraphLaunch: 1082'

# Only the auditor sees a driver that is opened by its path.
unseen=$(grep -v -e tools -e seen <<<"$both_streams")
says attach-path shimmed "$work/ways" dlopen "$driver" <<<"$unseen"
says attach-audit shimmed LD_AUDIT="$attach/libbreakgraph_audit.so" "$work/ways" dlopen "$driver" <<<"$both_streams"

if command -v python3 >/dev/null; then
    says attach-ctypes shimmed python3 -c "import ctypes; d = ctypes.CDLL('libcuda.so.1'); d.cuInit(0); print(d.cuGraphLaunch(1, 2))" \
        <<<"tools: version 1
seen: cuGraphLaunch(1, 2)
1003"
else
    skip attach-ctypes "there is no python3"
fi

# Without tools, or with ones that do not load, the program runs as without the shim.
says attach-no-tools shimmed BG_ATTACH_TOOLS= "$work/ways" dlopen <<<"$unseen"
says attach-bad-tools shimmed BG_ATTACH_TOOLS="$work/none.so" "$work/ways" dlopen <<<"breakgraph: --attach: the tools cannot be \
loaded, and the program runs without them: $work/none.so: cannot open shared object file: No such file or directory
$unseen"
says attach-bad-driver shimmed BG_ATTACH_DRIVER="$work/none.so" "$work/ways" dlopen <<<"breakgraph: --attach: the CUDA driver cannot \
be opened: $work/none.so: cannot open shared object file: No such file or directory
cuInit: 100
cuGraphLaunch: 100
cuGraphLaunch: 100"

# NVIDIA's runtime, over a driver that knows its functions.
driver=$PWD/$OUT/libhostcuda.so
found=$(tools/find_cuda host "${CUDA_HOME:-}")
cuda=${found%%|*}
cat >"$work/runtime.c" <<'END'
#include <cuda_runtime_api.h>
int main(void) { int count; return cudaGetDeviceCount(&count) != cudaErrorCallRequiresNewerDriver; }
END
for kind in cudart cudart_static; do
    if [ "$DEVICE" != host ]; then
        skip "attach-$kind" "it is tried over the host device"
    elif ! "$CC" -isystem "$cuda/include" "$work/runtime.c" -o "$work/runtime" "-L$cuda/lib64" "-L$cuda/lib" "-l$kind" \
        "-Wl,-rpath,$cuda/lib64:$cuda/lib" -ldl -lpthread -lrt 2>"$work/log"; then
        skip "attach-$kind" "the toolkit has no lib$kind"
    else
        says "attach-$kind" shimmed "$work/runtime" <<<"tools: version 1"
    fi
done

# A program of the host device as it is: the runtime calls the driver through the shim, and the tools look at its graphs.
if [ "$DEVICE" != host ]; then
    skip attach-graphs "the record of a GPU has its own (make gpu-check PART=attach)"
elif ! "$CC" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -isystem "$cuda/include" tests/cli/attach/programs/graphs.c "-L$OUT" -lhostcuda \
    "-Wl,-rpath,$PWD/$OUT" -o "$work/graphs" 2>"$work/log"; then
    fail attach-graphs "tests/cli/attach/programs/graphs.c does not build"
else
    breakgraph=$OUT/breakgraph
    # found NAME PATTERN: that fault is one finding of that kind and node, and the program's output is as without.
    found()
    {
        expect "attach-check-$1" 1 "$2" "$breakgraph" check --attach -- "$work/graphs" "$1"
        grep -q '^check replay: 1 finding$' "$work/log" || fail "attach-check-$1" "it is not the only finding"
    }
    found freed 'fault \[dangling\] memcpy#0 at capture_copy.*source is .* was freed after the capture, at run'
    found reused 'fault \[dangling\] memcpy#0 .* was freed after the capture'
    found built 'fault \[dangling\] memcpy#0 .* was freed after the capture'
    found stack 'fault \[stack-copy\] memcpy#0 '
    found pageable 'warning \[pageable-copy\] memcpy#0 '
    for innocent in none updated set; do
        expect "attach-check-$innocent" 0 '^check replay: 0 findings$' "$breakgraph" check --attach -- "$work/graphs" "$innocent"
    done
    for way in none stack pageable updated set; do
        says "attach-step-$way" step_attached -- "$work/graphs" "$way" <<<"$("$work/graphs" "$way")
step: 0 findings"
    done
    # What cannot be followed is launched as it is, and said.
    expect attach-check-disabled 0 '^note \[not-stepped\]: graph#0 is neither checked nor stepped' \
        "$breakgraph" check --attach -- "$work/graphs" disabled
    expect attach-step-disabled 0 '^output 8$' "$breakgraph" step --attach -- "$work/graphs" disabled
    expect attach-report 0 '^graph#0: 1 node, launched 2 times, updated 1 times' "$breakgraph" report --attach -- "$work/graphs" updated
    expect attach-report-unchecked 0 'wrote .*page.html: 0 faults, 0 warnings, 0 notes; nothing was checked' \
        "$breakgraph" report --attach --html="$work/page.html" -- "$work/graphs" freed
    expect attach-report-of-check 1 'dangling\] memcpy#0 at ' sh -c '"$1" check --attach --json -- "$2/graphs" freed >"$2/found.json"
        "$1" report "$2/found.json"' sh "$breakgraph" "$work"
    expect attach-json-looked 0 '^1 2$' python3 -c 'import json, sys
looked = json.load(open(sys.argv[1]))["looked_at"]["checks"]["replay"]
print(int(looked["graphs"]), int(looked["replays"]))' "$work/found.json"
    expect attach-report-of-nothing 0 '0 findings' sh -c '"$1" step --attach --json -- "$2/graphs" updated >"$2/found.json"
        ln -sf "$2/found.json" "$2/linked.json"; "$1" report "$2/linked.json"' sh "$breakgraph" "$work"
    echo '{"reports":[1]}' >"$work/broken.json"
    expect attach-report-broken 10 'broken.json: its list of reports has an item that is no report' "$breakgraph" report "$work/broken.json"
    expect attach-report-trace 2 'trace is for programs that use libbreakgraph' "$breakgraph" report --attach --trace=x -- "$work/graphs" freed
    expect attach-audit-graphs 1 'dangling' "$breakgraph" check --attach=audit -- "$work/graphs" freed
    expect attach-not-used 4 'initialised no CUDA driver' "$breakgraph" check --attach -- true
    expect attach-other-check 2 'what=graph cannot be used with --attach' "$breakgraph" check --attach --what=graph -- true
    expect attach-missing 4 'with --attach$' "$breakgraph" check -- "$work/graphs"
fi

# What runs on a GPU alone is complete at least, and says what it needs.
if ! command -v python3 >/dev/null; then
    skip attach-programs "there is no python3"
else
    expect attach-programs 0 '^torch-freed-correct +report, check: .*torch_freed.py --correct$' tests/attach/run --list
    expect attach-programs-skipped 0 '^skip attach: .*DEVICE is host$' env DEVICE=host tests/attach/run
fi

# Installed, the command finds its libraries, and ldconfig does not: it would make libcuda.so.1 of the shim.
if [ "$DEVICE" = host ] && [ -x "$work/graphs" ]; then
    prefix=$work/prefix
    if ! run_make DEVICE=host install PREFIX="$prefix" >"$work/log" 2>&1; then
        fail attach-installed "make install"
    else
        expect attach-installed 0 '^graph#0: 1 node' env LD_LIBRARY_PATH="$prefix/lib" "$prefix/bin/breakgraph" report --attach \
            -- "$work/graphs"
        expect attach-ldconfig 1 '^$' sh -c "/sbin/ldconfig -n -N -v '$prefix/lib' 2>/dev/null | grep libcuda; echo; \
            ls '$prefix/lib' | grep libcuda"
    fi
fi

# The jumps of the other processor that CUDA has are compiled where a compiler can.
if ! command -v clang >/dev/null; then
    skip attach-aarch64 "there is no clang, which compiles for it"
elif clang --target=aarch64-linux-gnu "-I$OUT" -I. -c debug/attach/shim/jumps.S -o "$work/jumps.o" 2>"$work/log"; then
    pass attach-aarch64
else
    fail attach-aarch64 "jumps.S does not compile"
fi

# Every function that the toolkit's own stub of the driver has is one of the shim's, but for cudbg*, which a debugger looks up itself.
stub=$(ls "$cuda"/lib64/stubs/libcuda.so "$cuda"/lib/stubs/libcuda.so 2>/dev/null | head -n 1)
if [ -z "$stub" ]; then
    skip attach-names "the toolkit has no stub of the driver"
else
    functions() { nm -D --defined-only "$1" | awk '$2 == "T" && $3 ~ /^cu[A-Z]/ { print $3 }' | sort; }
    if comm -13 <(functions "$attach/libbreakgraph_attach.so") <(functions "$stub") >"$work/log" && [ ! -s "$work/log" ]; then
        pass attach-names
    else
        fail attach-names "names of the driver that the shim lacks"
    fi
fi

# A runtime calls a function by the newest of its forms, such as cuCtxSynchronize_v2. A hook is one of all forms, or, with
# "_v2" in its name, of that form alone.
grep -vh 'bg__driver_get_entry_point' debug/attach/hooks/*.c | grep -oE '\bcu[A-Z][A-Za-z0-9]*(_v[0-9]+)?' | sort -u >"$work/hooked"
sed -nE 's/^NAME\((cu[A-Za-z0-9]+(_v[0-9]+)?)\)$/\1/p' "$OUT/debug/attach/shim/names.inc" >"$work/names"
awk '
    function base(name) { sub(/_v[0-9]+$/, "", name); return name }
    function form(name) { return match(name, /_v[0-9]+$/) ? substr(name, RSTART + 2) + 0 : 1 }
    NR == FNR { if (form($1) > newest[base($1)]) newest[base($1)] = form($1); next }
    { forms[base($1)] = forms[base($1)] " " form($1) " " }
    END { for (name in forms) if (name in newest && !index(forms[name], " 1 ") && !index(forms[name], " " newest[name] " ")) print name " has no hook for _v" newest[name] }
' "$work/names" "$work/hooked" >"$work/log"
if [ "$(wc -l <"$work/hooked")" -gt 80 ] && [ ! -s "$work/log" ]; then
    pass attach-hooks-newest
else
    fail attach-hooks-newest "functions of the driver whose newest form has no hook"
fi
exit $bad
