# Completion of breakgraph's command lines in bash.
_breakgraph()
{
    local word=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flag= words= i
    COMPREPLY=()
    for ((i = 2; i < COMP_CWORD; i++)); do
        [ "${COMP_WORDS[i]}" = -- ] && { compopt -o default; return; }
    done
    if [ "$word" = = ]; then flag=${COMP_WORDS[COMP_CWORD - 1]} word=; fi
    if [ "${COMP_WORDS[COMP_CWORD - 1]}" = = ]; then flag=${COMP_WORDS[COMP_CWORD - 2]}; fi
    if [ "$COMP_CWORD" = 1 ]; then words="help version doctor run check step bisect report --help --version"
    elif [ -n "$flag" ]; then case $command:$flag in
    run:--debug) words="off forward ops sync step" ;;
    run:--check) words="off replay twice poison" ;;
    run:--shadow) words="1 calls" ;;
    run:--runner-mode) words="none piecewise full full_decode_only full_and_piecewise" ;;
    run:--runner-lazy) words="true false" ;;
    run:--runner-copy-inputs) words="true false" ;;
    run:--runner-debug) words="env off forward ops sync step" ;;
    check:--what) words="replay twice poison" ;;
    *) compopt -o default; return ;;
    esac
    else case $command in
    help) words=" --help" ;;
    version) words=" --help" ;;
    doctor) words=" --json --help" ;;
    run) words=" --debug= --step-stop= --step-dump= --eager-ops= --no-breaks --foreign-inline --check= --shadow= --tolerance= --nvtx --reports= --trace= --dot= --runner-mode= --runner-schedule= --runner-max-tokens= --runner-max-query-len= --runner-warmups= --runner-max-padding= --runner-eager-ops= --runner-lazy= --runner-copy-inputs= --runner-memory-limit= --runner-debug= --runner-worker-threads= --runner-variants= --ranks-timeout= --ranks-watchdog= --ranks-compare --ranks-bind= --host-devices= --host-seed= --host-memory= --host-fail= --host-nccl-timeout= --ranks= --oversubscribe --no-prefix --output-dir= --timeout= --help --" ;;
    check) words=" --ranks= --oversubscribe --what= --timeout= --json --help --" ;;
    step) words=" --ranks= --oversubscribe --stop= --dump= --timeout= --json --help --" ;;
    bisect) words=" --ranks= --oversubscribe --check= --shadow --tolerance= --only= --count= --timeout= --state= --fresh --json --html= --help --" ;;
    report) words=" --ranks= --oversubscribe --text= --json= --html= --trace= --dot= --timeout= --help --" ;;
    esac
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [[ ${COMPREPLY[0]-} == *= ]]; then compopt -o nospace; fi
}
complete -F _breakgraph breakgraph
