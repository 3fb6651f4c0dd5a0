#!/bin/bash
# llama --serve: the same random requests in each mode, all served, with the same texts.
. "$(dirname "$0")/../lib.sh"
llama=$OUT/examples/llama/llama

if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    for name in serve-all serve-modes serve-progress serve-one-mode serve-count serve-rate; do skip $name "there is no GPU"; done
    exit 0
fi
expect serve-all 0 '^12 requests, 500 a second on average \(seed 5\): prompts of 1 to 48 tokens, continued by 1 to 6; ' \
    "$llama" --serve 12 --rate 500 --tokens 6 --seed 5
if [ "$(grep -cE '^mode (eager|breakable|full): [0-9]+ tokens in [0-9.]+ s, [0-9]+ tokens a second$' "$work/log")" = 3 ] &&
    [ "$(grep -cE '^  texts equal to mode eager: [0-9]+ of 12$' "$work/log")" = 2 ] && [ "$(grep -c ' ms  #* *[0-9]*$' "$work/log")" = 30 ]; then
    pass serve-modes
else
    fail serve-modes "a mode, its comparison or its histogram is missing"
fi
# On the host device a row's numbers do not depend on the batch's size.
[ "$DEVICE" = cuda ] || [ "$(grep -c ': 12 of 12$' "$work/log")" = 2 ] || fail serve-modes "a text differs from mode to mode"
if grep -q $'\r' "$work/log"; then fail serve-progress "progress is shown in a pipe"; else pass serve-progress; fi
expect serve-one-mode 0 '^mode full: ' "$llama" --serve 3 --rate 500 --tokens 2 --mode full
! grep -q '^mode eager' "$work/log" || fail serve-one-mode "another mode is served, too"
expect serve-count 2 '"--serve|--serve "0"; allowed: a whole number from 1' "$llama" --serve 0
expect serve-rate 2 '"--rate" needs a value' "$llama" --serve 3 --rate
exit $bad
