#!/bin/bash
# Do the conformance cases notice a wrong rule? Plants small defects, one at a time, in copies of the host device's
# sources, and demands that a case of test_capture_rules fails for each.
# needs: tests/conformance/test_capture_rules
# Its environment, which make planted sets: PLANTED_TEST (test_capture_rules, as built), PLANTED_COMPILE (the command that
# compiles a C file, up to -c), PLANTED_LINK (that links, up to -o) and PLANTED_LIBS (what the test is linked with).
set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
: "${PLANTED_TEST:?run make planted}" "${PLANTED_COMPILE:?run make planted}"
: "${PLANTED_LINK:?run make planted}" "${PLANTED_LIBS:?run make planted}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

pass() { passed=$((passed + 1)); echo "ok $1: $2"; }
fail() { failed=$((failed + 1)); echo "not ok $1: $2"; [ ! -s "$work/log" ] || sed 's/^/  /' "$work/log" | head -n 20; }

# substitute FILE OLD NEW: the text OLD, which stands in the file once, becomes NEW in the copy.
substitute()
{
    local text rest
    text=$(cat "$1") && rest=${text#*"$2"}
    [ "$rest" != "$text" ] && [ "${rest#*"$2"}" = "$rest" ] && printf '%s\n' "${text%%"$2"*}$3$rest" >"$work/$(basename "$1")"
}

# The copy's object comes before the library: the library's own member is then not linked. What runs once is not optimised.
build()     # file
{
    # shellcheck disable=SC2086
    $PLANTED_COMPILE -w -O0 -g0 -c "$work/$1" -o "$work/planted.o" >"$work/log" 2>&1 &&
        $PLANTED_LINK -o "$work/test" "$PLANTED_TEST.o" "$work/planted.o" $PLANTED_LIBS >>"$work/log" 2>&1
}

failed_cases() { sed -n 's/^\[  FAILED  \] \([a-z0-9_]*\)$/\1/p' "$work/log" | awk '!/^test_/ && !seen[$0]++'; }

# plant NAME FILE OLD NEW
plant()
{
    local cases status
    : >"$work/log"
    substitute "hostcuda/src/$2" "$3" "$4" || { fail "$1" "its text is not in hostcuda/src/$2, or more than once: write it anew"; return; }
    build "$(basename "$2")" || { fail "$1" "does not build"; return; }
    HOSTCUDA_SEED=0 timeout --kill-after=5 60 "$work/test" >"$work/log" 2>&1 </dev/null
    status=$?
    mapfile -t cases < <(failed_cases)
    if [ $status -eq 0 ]; then
        : >"$work/log"
        fail "$1" "no case notices it"
    elif [ $status -ne 1 ] || [ ${#cases[@]} -eq 0 ]; then
        fail "$1" "the test ends with status $status, and no case says why"
    else
        pass "$1" "${cases[0]}$([ ${#cases[@]} -eq 1 ] || echo " and $((${#cases[@]} - 1)) more")"
    fi
}

# HOSTCUDA_SEED=0 changes nothing, and leaves out the test of the pages, which runs all cases again.

# A copy without a defect, built in the same way, passes.
cp hostcuda/src/stream/stream_capture.c "$work/capture.c"
if build capture.c && HOSTCUDA_SEED=0 "$work/test" >"$work/log" 2>&1 </dev/null; then
    : >"$work/log"
    pass nothing-planted "all cases pass"
else
    fail nothing-planted "the cases fail without a defect"
fi

# ---- ends ----------------------------------------------------------------------------------------------------------

plant unjoined-work-is-dropped stream/stream_capture.c \
    'if (!is_joined(capture))' \
    'if (false)'
plant any-thread-may-end stream/stream_capture.c \
    'capture->thread != hc_thread()->id)
        return cudaErrorStreamCaptureWrongThread' \
    'false)
        return cudaErrorStreamCaptureWrongThread'
plant end-on-a-fork-does-no-harm stream/stream_capture.c \
    'hc_capture_invalidate(capture);
        return cudaErrorStreamCaptureUnmatched;' \
    'return cudaErrorStreamCaptureUnmatched;'
plant work-of-a-destroyed-fork-is-dropped stream/stream_capture.c \
    'if (!hc_nodes_add_all(&capture->orphans, &stream->frontier))' \
    'if (false)'
plant work-goes-on-after-invalidation stream/stream_capture.c \
    'return stream->capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
    return check_legacy(stream, true);' \
    'return cudaSuccess;
    return check_legacy(stream, true);'

# ---- begins --------------------------------------------------------------------------------------------------------

plant a-fork-may-begin stream/stream_capture.c \
    'return (*stream)->capture ? cudaErrorIllegalState : cudaSuccess;' \
    'if ((*stream)->capture && (*stream)->capture->origin != *stream)
        leave_capture(*stream);
    return (*stream)->capture ? cudaErrorIllegalState : cudaSuccess;'
plant the-legacy-stream-may-begin stream/stream_capture.c \
    'if ((*stream)->kind == HC_STREAM_LEGACY)' \
    'if (false)'
plant capture-to-graph-starts-at-no-node stream/stream_capture.c \
    'stream->frontier = frontier;' \
    'stream->frontier = (struct hc_nodes){0};'

# ---- forks and events ----------------------------------------------------------------------------------------------

plant a-join-forgets-what-came-before runtime/runtime_events.c \
    'hc_nodes_add_all(&stream->frontier, &event->nodes)' \
    'hc_nodes_assign(&stream->frontier, &event->nodes)'
plant an-event-keeps-its-first-record runtime/runtime_events.c \
    'if (!hc_nodes_assign(&event->nodes, &stream->frontier))' \
    'if (event->capture_id != stream->capture->id && !hc_nodes_assign(&event->nodes, &stream->frontier))'
plant a-wait-on-outside-work-is-dropped runtime/runtime_events.c \
    'hc_capture_invalidate(stream->capture);
    return cudaErrorStreamCaptureIsolation;' \
    'return cudaSuccess;'
plant a-merge-harms-one-capture runtime/runtime_events.c \
    'hc_capture_invalidate(stream->capture);
        hc_capture_invalidate(capture);' \
    'hc_capture_invalidate(stream->capture);'
plant an-ended-event-is-complete runtime/runtime_events.c \
    'if (!capture) {
        hc_capture_invalidate(stream->capture);
        return cudaErrorInvalidValue;' \
    'if (!capture) {
        return cudaSuccess;'
plant asking-a-captured-event-does-no-harm runtime/runtime_events.c \
    'hc_capture_invalidate(capture);
    return capture ?' \
    'return capture ?'
plant an-external-record-needs-no-capture runtime/runtime_events.c \
    'if (flags & cudaEventRecordExternal)
        return cudaErrorIllegalState;' \
    ''

# ---- modes and unsafe calls ------------------------------------------------------------------------------------------

plant the-threads-mode-is-ignored stream/stream_capture.c \
    'if (thread->mode == cudaStreamCaptureModeRelaxed)' \
    'if (false)'
plant a-global-capture-is-its-threads-own stream/stream_capture.c \
    'bool global = thread->mode == cudaStreamCaptureModeGlobal && capture->mode == cudaStreamCaptureModeGlobal;' \
    'bool global = false;'
plant an-unsafe-call-does-no-harm stream/stream_capture.c \
    'if (!own && !global)
            continue;
        hc_capture_invalidate(capture);' \
    'if (!own && !global)
            continue;'
plant a-relaxed-capture-lets-the-device-wait stream/stream_capture.c \
    'if (!has_member_of(capture, device))' \
    'if (!has_member_of(capture, device) || capture->mode == cudaStreamCaptureModeRelaxed)'
plant exchange-gives-no-mode-back runtime/runtime_captures.c \
    '*mode = old;' \
    ''
plant instantiate-is-safe runtime/graph/runtime_exec.c \
    'cudaError_t error = hc_capture_check_unsafe_call();
    if (error)
        return error;
    if (!hc_graph_is_handle(graph)' \
    'cudaError_t error = cudaSuccess;
    if (!hc_graph_is_handle(graph)'

# ---- the legacy stream, questions and edits ----------------------------------------------------------------------------

plant non-blocking-streams-block-the-legacy-stream stream/stream_capture.c \
    '&& !(stream->flags & cudaStreamNonBlocking))' \
    ')'
plant asking-the-legacy-stream-harms stream/stream_capture.c \
    'error = check_legacy(*stream, false);' \
    'error = check_legacy(*stream, true);'
plant set-dependencies-adds stream/stream_capture.c \
    'bool ok = set || hc_nodes_assign' \
    'bool ok = hc_nodes_assign'

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
