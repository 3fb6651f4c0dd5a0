#!/bin/bash
# Unmodified programs with a process for each rank, as torchrun starts them: findings name the ranks.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" != host ]; then
    skip attach-ranks "it is tried over the host device"
    exit 0
fi
. tests/cli/attach/programs/build.sh
if ! printf '#include <nccl.h>\n' | "$CC" -isystem "$(tools/find_cuda host "${CUDA_HOME:-}" | cut -d'|' -f1)/include" -fsyntax-only -x c - 2>/dev/null; then
    skip attach-ranks "there is no header of NCCL"
    exit 0
fi
if ! build_program nccl; then
    fail attach-ranks "tests/cli/attach/programs/nccl.c does not build"
    exit 1
fi
in_depth='attach-ranks-(hang|step-hang)' # they wait for a time limit
command=$PWD/$OUT/breakgraph
export HOSTCUDA_DEVICES=2 COLUMNS=10000
# Two ranks, by the variables of torchrun, or of Open MPI.
cat >"$work/launch" <<'END'
#!/bin/sh
launcher=$1
shift
for rank in 0 1; do
    case $launcher in
    torch) WORLD_SIZE=2 RANK=$rank "$@" & ;;
    mpi) OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=$rank RANK=$rank "$@" & ;;
    esac
done
wait
END
chmod +x "$work/launch"
# start COMMAND LAUNCHER CASE FLAG...
start()
{
    local do=$1 launcher=$2 case=$3
    shift 3
    rm -f "$work/id"
    "$command" "$do" --attach "$@" -- "$work/launch" "$launcher" "$work/nccl" "$work/id" "$case"
}
# Only one finding: what all ranks have is told once, what one has names it.
one()
{
    grep -q '^check replay: 1 finding$' "$work/log" || fail "$1" "it is not the only finding"
}

expect attach-ranks-all 0 '^check replay: 0 findings$' start check torch all
expect attach-ranks-looked 0 '^looked at: 2 graphs, 10 nodes' start check torch all
expect attach-ranks-both 1 '^fault \[dangling\] add#0, add#1 at launch_add\+0x[0-9a-f]+ in nccl: kernel parameter 1 is ' start check torch both
one attach-ranks-both
for launcher in torch mpi; do
    expect "attach-ranks-$launcher" 1 '^fault \[dangling\] add#0, add#1 at launch_add\+0x[0-9a-f]+ in nccl: rank 1: kernel parameter 1 is ' \
        start check $launcher wrong
    one "attach-ranks-$launcher"
done

# Each has graphs of its own.
expect attach-ranks-report 0 '^graph#0 \(rank 0\): 5 nodes' start report torch all
grep -q '^graph#0 (rank 1): 5 nodes' "$work/log" || fail attach-ranks-report "the graphs of rank 1 are not listed"

# Rank 0 waits for rank 1 in a collective: as a unit of the graph, and alone.
expect attach-ranks-hang 8 '^fault \[hang\] hostcuda_nccl#0: rank 0: launch 3 of graph#0 does not get beyond this kernel: 2 of its 5 nodes ended, 2 wait for it; by its name it waits for NCCL.s kernels of the other ranks; on rank 0 thread [0-9]+ \(nccl\) waits in cudaStreamSynchronize at main' \
    start check torch early --timeout=4
! deep || one attach-ranks-hang
expect attach-ranks-step 0 '^looked at: 6 replays, 30 nodes stepped$' start step torch all
expect attach-ranks-step-hang 8 '^fault \[hang\] hostcuda_nccl#0: rank 0: graph#0 runs node by node, and does not get beyond this kernel, which runs alone; by its name' \
    start step torch early --timeout=4
exit $bad
