#!/bin/bash
# The commands on a program with a runner: each looks at the runner's graphs, and finds what is planted in them.
. "$(dirname "$0")/../lib.sh"

build_faulty runner || exit $bad
# shellcheck disable=SC2046
if ! $CC -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror tests/cli/command/runner.c $(pkg-config --cflags --libs breakgraph) \
    "-Wl,-rpath,$work/prefix/lib" -o "$work/runner" 2>"$work/log"; then
    fail runner "tests/cli/command/runner.c does not build"
    exit $bad
fi
program=$work/runner
in_work() { (cd "$work" && "$@"); }
at() { grep -n "/\* $1 \*/\$" tests/cli/command/runner.c | cut -d : -f 1; }

# each graph is looked at, and nothing is found in what is right
for what in recapture poison replay; do
    expect clean-$what 0 "^check $what: 0 findings" "$command" check --what=$what -- "$program" clean
done
expect clean-step 0 '^step: 0 findings' "$command" step -- "$program" clean
expect clean-shadow 0 '^right$' "$command" run --shadow=calls -- "$program" clean
expect clean-bisect 0 'there is no fault' in_work "$command" bisect -- "$program" clean
grep -q 'is not checked' "$work/log" && fail clean "a graph is not checked"

# what is planted
expect frozen 1 '^wrong$' "$program" frozen
expect frozen-recapture 1 "\[frozen-value\] mark#0 at tests/cli/command/runner.c:$(at mark): " "$command" check --what=recapture -- "$program" frozen
expect frozen-recapture-bucket 1 '"graph":[[:space:]]*"piecewise tokens 8"' "$command" check --json --what=recapture -- "$program" frozen
expect frozen-two 1 "mark#0 at tests/cli/command/runner.c:$(at mark), graph piecewise tokens 4: " "$command" check --what=recapture -e BG_RUNNER_SCHEDULE=4,8 -- "$program" frozen
expect frozen-shadow 1 "\[frozen-value\] mark#0 at tests/cli/command/runner.c:$(at mark): " "$command" run --shadow -- "$program" frozen
expect captured-bisect 1 "^culprit mark#0 .*runner.c:$(at mark)\$" in_work "$command" bisect -- "$program" captured
expect frozen-forward 0 '^right$' "$command" run --debug=forward -- "$program" frozen
expect unwritten-poison 1 "\[unwritten-output\] copy#0 at tests/cli/command/runner.c:$(at copy): " "$command" check --what=poison -- "$program" unwritten
expect unwritten-poison-bucket 1 '"graph":[[:space:]]*"piecewise tokens 8"' "$command" check --json --what=poison -- "$program" unwritten

# what padding rows do: the pass is right without them
expect padding 1 '^wrong$' "$program" padding
expect padding-shadow 1 '^wrong$' "$command" run --shadow=calls -- "$program" padding
expect padding-forward 0 '^right$' "$command" run --debug=forward -- "$program" padding

exit $bad
