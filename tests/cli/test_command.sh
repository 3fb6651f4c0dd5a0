#!/bin/bash
# The command breakgraph, and the flags of the examples.
. "$(dirname "$0")/lib.sh"
command=$OUT/breakgraph

expect help 0 'usage: breakgraph COMMAND' "$command" help
expect version 0 "^breakgraph [0-9]+\\.[0-9]+\\.[0-9]+ \\($DEVICE\\)" "$command" version
expect nothing 2 'usage: breakgraph COMMAND' "$command"
expect unknown-command 2 "unknown command 'bisekt'; allowed: help version doctor run" "$command" bisekt
expect unknown-flag 2 "unknown flag '--verbose'; allowed: help version doctor run --help --version" "$command" --verbose
expect doctor-argument 2 "unknown argument 'x'" "$command" doctor x

if [ "$DEVICE" = host ] || "$BUILD/find_gpu" >/dev/null 2>&1; then
    expect doctor 0 '✓ device 0' "$command" doctor
    expect doctor-variable 0 '✓ BG_DEBUG +ops' env BG_DEBUG=ops "$command" doctor
else
    expect doctor 1 '✗ device +none' "$command" doctor
fi
expect doctor-bad-debug 1 '✗ BG_DEBUG +"loud"; allowed: off\|forward\|ops\|sync' env BG_DEBUG=loud "$command" doctor
expect doctor-bad-flag 1 '✗ BG_BREAKABLE +"yes"; allowed: 0\|1' env BG_BREAKABLE=yes "$command" doctor
expect doctor-bad-pattern 1 '✗ BG_EAGER_OPS +"rope##3"; allowed: names of ops' env 'BG_EAGER_OPS=rope##3' "$command" doctor

expect run 0 '^ops,rope#3,0,1$' "$command" run --debug=ops '--eager-ops=rope#3' --no-breaks --nvtx -- \
    sh -c 'echo "$BG_DEBUG,$BG_EAGER_OPS,$BG_BREAKABLE,$BG_NVTX"'
expect run-status 7 '' "$command" run -- sh -c 'echo; exit 7'
expect run-unknown-flag 2 "unknown flag '--fast'; allowed: --debug=" "$command" run --fast -- true
expect run-bad-value 2 "'--debug=loud': allowed are off\\|forward\\|ops\\|sync" "$command" run --debug=loud -- true
expect run-no-program 2 'no program given' "$command" run --debug=ops
expect run-missing-program 1 "'/nowhere' cannot be started" "$command" run -- /nowhere

llama=$OUT/examples/llama/llama
expect llama-help 0 '--mode' "$llama" --help
expect llama-unknown-flag 2 "--mode" "$llama" --speed=9
expect llama-unknown-mode 2 'eager.*full.*breakable' "$llama" --mode fast
expect llama-no-model 1 '/nowhere.gguf' "$llama" --model /nowhere.gguf --prompt x
exit $bad
