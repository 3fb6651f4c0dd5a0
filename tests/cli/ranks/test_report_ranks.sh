#!/bin/bash
# What BG_REPORT's files say of the rank, by what launchers set.
. "$(dirname "$0")/../lib.sh"

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in none torchrun openmpi slurm first half malformed outside; do skip $name "there is no GPU"; done
    exit 0
fi
unset RANK WORLD_SIZE OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE SLURM_PROCID SLURM_NTASKS SLURM_JOB_ID SLURM_STEP_ID

# tells NAME PATTERN VARIABLE=VALUE...: the process's file holds the extended regular expression.
tells()
{
    local name=$1 pattern=$2
    shift 2
    rm -rf "$work/report" && mkdir "$work/report"
    expect "$name" 0 "$pattern" env BG_REPORT="$work/report" "$@" \
        sh -c "'$OUT/examples/quickstart' >/dev/null && cat '$work'/report/process-*.json"
}

tells none '"ended": true\}$'
tells torchrun '"ended": true, "rank": 1, "ranks": 4\}$' RANK=1 WORLD_SIZE=4
tells openmpi '"ended": true, "rank": 0, "ranks": 2\}$' OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
tells slurm '"ended": true, "rank": 7, "ranks": 8\}$' SLURM_PROCID=7 SLURM_NTASKS=8
tells slurm-step '"ended": true, "rank": 7, "ranks": 8\}$' SLURM_JOB_ID=5 SLURM_STEP_ID=0 SLURM_PROCID=7 SLURM_NTASKS=8
tells slurm-script '"ended": true\}$' SLURM_JOB_ID=5 SLURM_PROCID=0 SLURM_NTASKS=8
tells first '"ended": true, "rank": 1, "ranks": 4\}$' RANK=1 WORLD_SIZE=4 SLURM_PROCID=7 SLURM_NTASKS=8
tells half '"ended": true\}$' RANK=1
tells malformed '"ended": true\}$' RANK=one WORLD_SIZE=4
tells outside '"ended": true\}$' RANK=4 WORLD_SIZE=4
exit $bad
