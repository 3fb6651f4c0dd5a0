# Sourced after lib.sh by tests of programs that know nothing of breakgraph.
# build_program NAME: $work/NAME of tests/cli/attach/*/NAME.c, over the shared host device. Each function keeps its frame and its
# name, which are what findings give as places.
build_program()
{
    local found
    found=$(tools/find_cuda host "${CUDA_HOME:-}")
    [ -f "$work/kernels.o" ] || "$OUT/hostcuda-cc" -ccbin "$CXX" -O1 -Wall -Wextra -Werror -Iinclude -I. \
        -c tests/cli/attach/programs/kernels.cu -o "$work/kernels.o" 2>"$work/log" || return 1
    "$CC" -std=c11 -D_GNU_SOURCE -O1 -fno-inline -fno-optimize-sibling-calls -rdynamic -pthread -Wall -Wextra -Werror -Iinclude -I. \
        -isystem "${found%%|*}/include" tests/cli/attach/*/"$1.c" "$work/kernels.o" "-L$OUT" -lhostcuda -lstdc++ \
        "-Wl,-rpath,$PWD/$OUT" -o "$work/$1" 2>"$work/log"
}
# The same of NAME.cu; build_library: as $work/libNAME.so.
build_cuda()
{
    "$OUT/hostcuda-cc" -ccbin "$CXX" -O1 -fPIC -rdynamic -Wall -Wextra -Werror -Iinclude -I. "${@:2}" tests/cli/attach/*/"$1.cu" \
        -o "${library:-$work/$1}" 2>"$work/log"
}
build_library() { library=$work/lib$1.so build_cuda "$1" -shared; }
