#!/bin/bash
# Defects planted in copies of the capture layer's sources, one at a time: the random programs of make test must catch
# each, and shrink what caught it. Nothing in the tree changes.
# needs: tests/random/test_random
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/../cli/lib.sh"

largest=12 # instructions of a shrunk program
# make test plants one in each of these parts: joins, events, the order of steps, copies, memory, eager calls.
few='join-dropped|event-record-dropped|segments-reversed|copy-off|bridge-shared|eager-bucket-left-open'
if [ "$DEVICE" != host ]; then
    skip planted "schedules have seeds on the host device alone"
    exit 0
fi

# Links what is planted before the library, which then gives all but that. What runs once is not optimised.
link_planted()
{
    eval "$(cat "$OUT/flags.c") -w -O0 -g0 -c '$work/planted.c' -o '$work/planted.o'" &&
        $(sed "s| $OUT/.*||" "$OUT/flags.link") -pthread -o "$work/planted" "$OUT"/tests/random/[!t]*.o "$OUT/tests/random/test_random.o" "$work/planted.o" \
            "$OUT/libtest_support.a" "$OUT/libtest_kernels.a" "$OUT/libbreakgraph.a" "$OUT/libbreakgraph_kernels.a" "$OUT/libhostcuda.a" \
            -lcjson -lopenblas -lstdc++ -lm -lpthread -lcmocka
}

# plant NAME FILE SED: what sed makes of the file must fail.
plant()
{
    local name=$1 file=$2 seed from to
    deep || [[ $name =~ ^($few)$ ]] || return 0
    sed -E "$3" "$file" >"$work/planted.c"
    if cmp -s "$file" "$work/planted.c"; then
        : >"$work/log"
        fail "$name" "$file has changed, so that the defect is not there; plant it anew"
        return
    fi
    link_planted >"$work/log" 2>&1 || { fail "$name" "it does not compile"; return; }
    timeout 300 "$work/planted" >"$work/log" 2>&1 </dev/null
    read -r seed from to < <(sed -n -e 's/^seed \([0-9]*\) fails.*/\1/p' \
        -e 's/^shrunk from \([0-9]*\) to \([0-9]*\) instr.*/\1 \2/p' "$work/log" | tr '\n' ' ')
    if ! grep -q '^not ok programs: ' "$work/log"; then
        fail "$name" "no program caught it"
    elif [ -z "${to:-}" ] || [ "$to" -gt $largest ]; then
        fail "$name" "caught by seed ${seed:-?}, but shrunk to ${to:-?} instructions, at most $largest are wanted"
    else
        pass "$name: caught by seed $seed, shrunk from $from instructions to $to"
    fi
}

capture=src/capture op=src/op
plant join-dropped $capture/streams.c \
    '/^static bg_status wait_in_capture/,/^}/s/BG__TRY_CUDA\(cudaStreamWaitEvent/if (waiter != capture->origin) &/'
plant wait-dropped $capture/streams.c \
    '/^static bg_status wait_in_capture/,/^}/s/^( *)if \(!bg__capture_has_stream/\1if (bg__capture_has_stream(capture, waiter) \&\& waiter != capture->origin)\n\1    return BG_OK;\n&/'
plant not-forked-again $capture/segment.c '/^static bg_status fork_members/,/^}/s/for \(int i = 0;/for (int i = 1;/'
plant event-wait-dropped $capture/event_calls.c 's/^( *)BG__TRY\(add_wait_step\(capture, entry->event.*/\1(void)add_wait_step;/'
plant event-record-dropped $capture/events.c \
    's/^( *)BG__TRY\(bg__graph_insert_event\(graph, find_call_step.*/\1(void)find_call_step, (void)graph;/'
plant event-unsettled $capture/events.c \
    '/^bg_status bg__events_record_at_end/,/^}/s/i < capture->event_count/i < capture->event_count - 1/'
plant copy-off src/graph/writeback.c 's/BG__TRY\(set_node_enabled\(fold, on\)\);/BG__TRY(set_node_enabled(fold, !on));/'
plant copy-stays-off src/graph/writeback.c 's/^( *)fold->enabled = on;/\1(void)on;/'
plant copy-stale src/graph/writeback.c 's/held->source == move->source && //'
plant elsewhere-unnoticed $capture/replay.c 's/else if \(bg__output_copy_is_needed/else if (false \&\& bg__output_copy_is_needed/'
plant in-place-unnoticed src/graph/writeback.c 's/^( *)copy->fold->rows\[copy->place\] = \(bgk_rows\).*/\1;/'
plant bridge-shared $op/call.c 's/call->memory = &call->own/call->memory = \&parent->own/'
plant outputs-in-one-block $op/call_memory.c 's/ && memory->blocks\[i\].slot == slot/ \&\& slot >= 0/'
plant segments-reversed $capture/replay.c \
    's/for \(; step < end; step\+\+\) \{/for (end = graph->steps - 1, step = end + graph->step_count; step > end; step--) {/'
plant args-kept $capture/replay.c \
    '/^static bg_status run_eager_body/,/^}/s/^ *memcpy\(eager->work.*/if (eager->args == NULL) return BG_OK;/'
plant wrong-stream $capture/replay.c 's/eager->work, stream\)/eager->work, eager->call->stream)/'
plant last-step-dropped $capture/replay.c \
    's/end = step \+ graph->step_count;/end = step + graph->step_count - (graph->step_count > 1);/'
plant override-ignored $op/override.c 's/return !override->patterns\[last\]\.negate/return fallback/'
plant capture-copy-dropped src/graph/writeback.c '/^static bg_status add_copy_step/,/^}/s/BG__TRY\(bg__output_copy_run.*//'
plant tail-kept $op/outputs.c 's/if \(move->tail > 0\)/if (move->tail > 0 \&\& move->source != NULL)/'
plant workers-out-of-order $capture/workers.c \
    's/j = &workers->jobs\[i\]/j = \&workers->jobs[workers->job_count - 1 - i]/'
plant state-kept $capture/capture.c 's/status != BG_OK \|\| !capture->options.launch_segments\)/status != BG_OK)/'
plant eager-join-at-end-dropped $capture/forward.c 's/joined = bg__capture_join_members\(pass\);/joined = BG_OK;/'
plant eager-error-forgotten $capture/forward.c 's/return pass->status;/return BG_OK;/'
plant eager-bucket-left-open $capture/forward.c 's/bg__capture_close_bucket\(&pass\);/;/'
plant eager-break-joins-nothing $capture/ops.c \
    's/\} else if \(at.eager \|\| op->eager\) \{/} else if (!capture->eager \&\& op->eager) {/'
plant captured-eager-op-joins-nothing $capture/ops.c \
    's/\} else if \(at.eager \|\| op->eager\) \{/} else if (at.eager) {/'
plant block-reused-at-once $capture/capture_members.c 's/bg__pool_set_concurrent\(capture->graph->pool, true\);/;/'
exit "$bad"
