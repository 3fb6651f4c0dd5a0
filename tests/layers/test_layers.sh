#!/bin/bash
# The arrows between the rooms of the sources, and that the test of them can fail.
. "$(dirname "$0")/../cli/lib.sh"

in_depth='copy|same-name|planted-(weak-symbol|parent-folder|macro|circle|circle-of-units|stack)|no-room|missing-objects'
expect layers 0 '^looked at: [0-9]+ rooms' tests/layers/layers . "$OUT"

# A copy of the tree and its objects, in which each case plants an arrow.
tree=$work/tree objects=$work/objects
copy()
{
    rm -rf "$tree" "$objects"
    mkdir -p "$tree" "$objects"
    cp -r include src hostcuda debug kernels "$tree"
    for place in src hostcuda debug kernels; do
        [ ! -d "$OUT/$place" ] || cp -rs "$(realpath "$OUT/$place")" "$objects/$place"
    done
}

# plant FILE TEXT...: a C file with that text, and its object
plant()
{
    local file=$1
    shift
    printf '%s\n' "$@" >"$tree/$file"
    # shellcheck disable=SC2086
    $CC -c "$tree/$file" -o "$objects/${file%.c}.o"
}

copy
expect copy 0 '^looked at: ' tests/layers/layers "$tree" "$objects"

plant src/op/planted.c 'extern void bg_graph_destroy(void *);' 'void bg__planted(void) { bg_graph_destroy(0); }'
expect planted-symbol 1 'src/op/planted\.c -> src/graph/graph\.c \(bg_graph_destroy\): src/graph is above src/op' \
    tests/layers/layers "$tree" "$objects"

plant src/op/planted.c '__attribute__((weak)) extern void bg_graph_destroy(void *);' \
    'void bg__planted(void) { if (bg_graph_destroy) bg_graph_destroy(0); }'
expect planted-weak-symbol 1 'src/op/planted\.c -> src/graph/graph\.c \(bg_graph_destroy\)' \
    tests/layers/layers "$tree" "$objects"

copy
printf '#\tinclude "../capture/capture.h"\n' >"$tree/src/op/planted.h"
expect planted-parent-folder 1 'src/op/planted\.h -> src/capture/capture\.h \(#include\)' tests/layers/layers "$tree" "$objects"
printf '#define PLANTED "capture/capture.h"\n#include PLANTED\n' >"$tree/src/op/planted.h"
expect planted-macro 1 'src/op/planted\.h includes .*, which is not in the tree' tests/layers/layers "$tree" "$objects"
echo '#include "capture/capture.h"' >"$tree/src/op/planted.h"
expect planted-include 1 'src/op/planted\.h -> src/capture/capture\.h \(#include\): src/capture is above src/op' \
    tests/layers/layers "$tree" "$objects"

copy
echo '#include <breakgraph/runner.h>' >"$tree/src/capture/planted.h"
expect planted-public-header 1 'src/capture/planted\.h -> include/breakgraph/runner\.h .*src/runner is above src/capture' \
    tests/layers/layers "$tree" "$objects"

copy
echo '#include "capture/capture.h"' >"$tree/debug/check/planted.h"
expect planted-door 1 'debug/check/planted\.h -> src/capture/capture\.h .*debug includes other headers alone' \
    tests/layers/layers "$tree" "$objects"

copy
plant src/runner/planted_a.c 'extern void bg__b(void);' 'void bg__a(void) { bg__b(); }'
plant src/runner/planted_b.c 'extern void bg__a(void);' 'void bg__b(void) { bg__a(); }'
expect planted-circle 1 'a circle: .*src/runner/planted_[ab]\.c \(bg__[ab]\) -> src/runner/planted_' \
    tests/layers/layers "$tree" "$objects"

copy
echo '#include "runner/runner.h"' >"$tree/src/runner/planted_a.h"
plant src/runner/planted_a.c
echo '#include "planted_a.h"' >>"$tree/src/runner/batch_mix.h"
expect planted-circle-of-units 1 'a circle of units: .*src/runner/[a-z_]+\.h includes src/runner/' tests/layers/layers "$tree" "$objects"

copy
for i in $(seq 31); do echo >"$tree/src/op/planted_$i.h"; done
expect planted-room 1 'src/op has more than 30 sources' tests/layers/layers "$tree" "$objects"

copy
plant src/runner/check.c 'int x;'
expect same-name 1 'src/runner/check\.c has the name of debug/check/check\.c' tests/layers/layers "$tree" "$objects"

copy
mkdir "$tree/src/elsewhere"
echo 'int x;' >"$tree/src/elsewhere/planted.c"
expect no-room 1 'src/elsewhere/planted\.c is in no room' tests/layers/layers "$tree" "$objects"

if [ "$DEVICE" = host ]; then
    copy
    echo '#include "base/base.h"' >"$tree/hostcuda/src/core/planted.h"
    expect planted-stack 1 'hostcuda/src/core and src/base are to know nothing of each other' \
        tests/layers/layers "$tree" "$objects"
fi

# What does not find all has not looked.
copy
rm -r "$objects/src/capture"
expect missing-objects 1 'src/capture/replay\.c has no object in ' tests/layers/layers "$tree" "$objects"
expect no-objects 1 'nothing to look at' tests/layers/layers . "$work/nowhere"
exit $bad
