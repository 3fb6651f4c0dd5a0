# Completion of breakgraph's command lines in bash.
_breakgraph()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flag= words= i
    # variables: bash
    local variables="BG_DEBUG= BG_EAGER_OPS= BG_BREAKABLE= BG_FOREIGN_INLINE= BG_COMPILE= BG_COMPILE_OPS= BG_COMPILE_PROVE= BG_COMPILE_PRINT= BG_CHECK= BG_SHADOW= BG_TOLERANCE= BG_STEP_STOP= BG_STEP_FROM= BG_STEP_DUMP= BG_STEP_GRAPHS= BG_STEP_REPLAYS= BG_HANG= BG_REPORT= BG_TRACE= BG_DOT= BG_NVTX= BG_ATTACH_DRIVER= BG_ATTACH_TOOLS= BG_ATTACH_FATAL= BG_ATTACH_RUN= BG_ATTACH_ORDERS= BG_ATTACH_PROBE= BG_ATTACH_SHADOW= BG_ATTACH_SNAPSHOT_LIMIT= BG_ATTACH_BREAK= BG_RUNNER_MODE= BG_RUNNER_SCHEDULE= BG_RUNNER_MAX_TOKENS= BG_RUNNER_MAX_QUERY_LEN= BG_RUNNER_WARMUPS= BG_RUNNER_MAX_PADDING= BG_RUNNER_EAGER_OPS= BG_RUNNER_LAZY= BG_RUNNER_COPY_INPUTS= BG_RUNNER_MEMORY_LIMIT= BG_RUNNER_DEBUG= BG_RUNNER_WORKER_THREADS= BG_RUNNER_VARIANTS= BG_RUNNER_MEMORY_FRACTION= BG_RUNNER_LEVEL= BG_RUNNER_COMPILE_SIZES= BG_RANKS_SOCKET= BG_RANKS_TOKEN= BG_RANKS_BIND= BG_RANKS_TIMEOUT= BG_RANKS_WATCHDOG= BG_RANKS_COMPARE= HOSTCUDA_DEVICES= HOSTCUDA_SEED= HOSTCUDA_MEMORY= HOSTCUDA_FAIL= HOSTCUDA_THROUGH_DRIVER= HOSTCUDA_PROGRESS= HOSTCUDA_NCCL_TIMEOUT="
    # end of variables
    COMPREPLY=()
    for ((i = 2; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" = -- ] && { compopt -o default; return; }
    done
    if [ "$word" = = ]; then flag=${COMP_WORDS[COMP_CWORD - 1]} word=; fi
    if [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then flag=${COMP_WORDS[COMP_CWORD - 2]}; fi
    if [ "$COMP_CWORD" = 1 ]; then words="help version doctor run check step bisect report --help --version"
    elif [ -n "$flag" ]; then case $command:$flag in
    run:--attach) words="preload audit" ;;
    run:--debug) words="off forward ops sync step" ;;
    run:--check) words="off graph replay recapture poison orders padding inputs" ;;
    run:--shadow) words="0 1 calls" ;;
    check:--attach) words="preload audit" ;;
    step:--attach) words="preload audit" ;;
    bisect:--attach) words="preload audit" ;;
    report:--attach) words="preload audit" ;;
    check:--what) words="all graph replay recapture poison padding orders inputs" ;;
    # variables: bash-values
    *:BG_DEBUG) words="off forward ops sync step" ;;
    *:BG_BREAKABLE) words="0 1" ;;
    *:BG_FOREIGN_INLINE) words="0 1" ;;
    *:BG_COMPILE) words="0 1 2 3 none as-is once piecewise" ;;
    *:BG_COMPILE_PROVE) words="once always off" ;;
    *:BG_COMPILE_PRINT) words="0 1" ;;
    *:BG_CHECK) words="off graph replay recapture poison orders padding inputs" ;;
    *:BG_SHADOW) words="0 1 calls" ;;
    *:BG_HANG) words="0 1" ;;
    *:BG_NVTX) words="0 1" ;;
    *:BG_ATTACH_FATAL) words="0 1" ;;
    *:BG_ATTACH_RUN) words="1 2" ;;
    *:BG_ATTACH_SHADOW) words="0 1" ;;
    *:BG_RUNNER_MODE) words="none piecewise full full_decode_only full_and_piecewise" ;;
    *:BG_RUNNER_LAZY) words="no on-demand background false true 0 1" ;;
    *:BG_RUNNER_COPY_INPUTS) words="true false 1 0" ;;
    *:BG_RUNNER_DEBUG) words="env off forward ops sync step" ;;
    *:BG_RUNNER_LEVEL) words="env 0 1 2 3 none as-is once piecewise" ;;
    *:BG_RANKS_COMPARE) words="0 1" ;;
    *:HOSTCUDA_THROUGH_DRIVER) words="0 1" ;;
    # end of variables
    *) compopt -o default; return ;;
    esac
    elif [ "${COMP_WORDS[COMP_CWORD - 1]}" = -e ] && [ "$command" != help ]; then words=$variables
    else case $command in
    help) words=" --help" ;;
    version) words=" --help" ;;
    doctor) words=" --json --help --" ;;
    check) words=" --attach= -e --ranks= --oversubscribe --what= --fatal --orders= --snapshot-limit= --vary= --timeout= --json --help --" ;;
    run) words=" --attach= -e --ranks= --oversubscribe --debug= --eager-ops= --check= --shadow= --break= --nodes --probe= --snapshot-limit= --reports= --trace= --strict --seeds= --no-prefix --output-dir= --timeout= --help --" ;;
    step) words=" --attach= -e --ranks= --oversubscribe --stop= --from= --dump= --graphs= --replays= --timeout= --json --help --" ;;
    bisect) words=" --attach= -e --ranks= --oversubscribe --check= --shadow --compiled --tolerance= --only= --count= --timeout= --state= --fresh --json --html= --help --" ;;
    report) words=" --attach= -e --ranks= --oversubscribe --text= --json= --html= --trace= --dot= --cover= --timeout= --help --" ;;
    esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace; fi
}
complete -F _breakgraph breakgraph
