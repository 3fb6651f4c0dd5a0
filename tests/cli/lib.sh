# What the shell tests share. Sourced from the top of the tree; the environment gives OUT, BUILD, DEVICE, MAKE, CC, CXX, NVCC.
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${BUILD:=build}" "${DEVICE:=host}" "${OUT:=$BUILD/$DEVICE}" "${MAKE:=make}" "${CC:=cc}" "${CXX:=c++}" "${NVCC:=nvcc}"
unset "${!BG_@}"
unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE MASTER_ADDR MASTER_PORT HOSTCUDA_DEVICES
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bad=0

# How much is done: all by make test-all, less by make test. deep: whether it is all.
deep() { [ "${BREAKGRAPH_TEST_SIZE:-fast}" = all ]; }
# A script sets in_depth to an extended regular expression for the names of cases that make test-all alone runs: expect, says and
# golden leave them out. What comes of such a case must be in it, too.
in_depth=
is_left_out() { [ -n "$in_depth" ] && ! deep && [[ $1 =~ ^($in_depth)$ ]]; }
# sized FAST ALL: one of them.
sized() { if deep; then echo "$2"; else echo "$1"; fi; }

# await COMMAND...: until it succeeds; for two minutes at most, which only what hangs needs.
await()
{
    local tries
    for ((tries = 0; tries < 2400; tries++)); do ! "$@" || return 0; sleep 0.05; done
    return 1
}
# holds FILE PATTERN: for await.
holds() { grep -Eqs -e "$2" "$1"; }

pass() { echo "ok $1"; }
fail() { bad=1; echo "not ok $1: ${2:-}"; [ ! -s "$work/log" ] || sed 's/^/  /' "$work/log"; }
sort() { LC_ALL=C command sort "$@"; } # in one order, whatever the language
skip() { echo "skip $1: $2"; }
run_make() { eval "$MAKE --no-print-directory BUILD='$BUILD' \"\$@\""; }

# build_faulty NAME: $work/faulty of the installed library, $command and $source; else NAME fails, or is skipped without a GPU.
build_faulty()
{
    local prefix=$work/prefix
    source=$PWD/tests/cli/command/faulty.c command=$prefix/bin/breakgraph
    if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
        skip "$1" "there is no GPU"
        return 1
    fi
    if ! run_make DEVICE="$DEVICE" install PREFIX="$prefix" >"$work/log" 2>&1; then
        fail "$1" "make install"
        return 1
    fi
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    # shellcheck disable=SC2046
    if ! $CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror tests/cli/command/faulty.c $(pkg-config --cflags --libs breakgraph) \
        "-Wl,-rpath,$prefix/lib" -o "$work/faulty" 2>"$work/log"; then
        fail "$1" "tests/cli/command/faulty.c does not build"
        return 1
    fi
}

# expect NAME STATUS PATTERN COMMAND...: the command exits so, and what it prints holds the extended regular expression.
expect()
{
    local name=$1 want=$2 pattern=$3 status
    shift 3
    ! is_left_out "$name" || return 0
    "$@" >"$work/log" 2>&1 </dev/null
    status=$?
    if [ "$status" -ne "$want" ]; then
        fail "$name" "exit status $status, expected $want"
    elif ! grep -Eq -e "$pattern" "$work/log"; then
        fail "$name" "'$pattern' is not in its output"
    else
        pass "$name"
    fi
}

# says NAME COMMAND...: it succeeds and prints what stdin holds.
says()
{
    local name=$1
    shift
    cat >"$work/wanted"
    ! is_left_out "$name" || return 0
    if ! "$@" >"$work/found" 2>&1 </dev/null; then
        cp "$work/found" "$work/log"
        fail "$name" "it fails"
    elif ! diff "$work/wanted" "$work/found" >"$work/log"; then
        fail "$name" "it prints something else"
    else
        pass "$name"
    fi
}

# step_attached ARG...: $breakgraph step --attach, without what it looked at, which differs from program to program.
step_attached()
{
    local printed status
    printed=$("$breakgraph" step --attach "$@" 2>&1)
    status=$?
    sed '/^looked at: /d' <<<"$printed"
    return $status
}

# golden NAME STATUS COMMAND...: the command exits so, and prints what tests/cli/golden/NAME.txt holds, where paths of this
# run are DIR and OUT, process ids PID, addresses ADDRESS, times S. GOLDEN=write writes that file.
golden()
{
    local name=$1 want=$2 status file=tests/cli/golden/$1.txt
    shift 2
    ! is_left_out "$name" || return 0
    "$@" >"$work/found" 2>&1 </dev/null
    status=$?
    sed -E -e "s|$work|DIR|g" -e "s|$OUT/|OUT/|g" -e 's/(process|graph|report)-[0-9]+/\1-PID/g' -e 's/[0-9]+(\.[0-9]+)? s$/S s/' \
        -e 's/0x[0-9a-f]+/ADDRESS/g' -e 's/("seconds":).*[0-9]/\1 S/' "$work/found" >"$work/normal"
    [ "${GOLDEN:-}" != write ] || cp "$work/normal" "$file"
    if [ "$status" -ne "$want" ]; then
        cp "$work/found" "$work/log"
        fail "$name" "exit status $status, expected $want"
    elif ! diff "$file" "$work/normal" >"$work/log" 2>&1; then
        fail "$name" "it prints something else than $file"
    else
        pass "$name"
    fi
}
