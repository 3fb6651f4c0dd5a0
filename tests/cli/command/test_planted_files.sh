#!/bin/bash
# What another user left under names that the library and the command make up: links, pipes, directories.
. "$(dirname "$0")/../lib.sh"
command=$OUT/breakgraph
quickstart=$OUT/examples/quickstart
secret=$work/secret
if [ "$DEVICE" = cuda ] && ! "$BUILD/find_gpu" >/dev/null 2>&1; then
    skip planted "there is no GPU"
    exit 0
fi
echo secret >"$secret"
chmod 640 "$secret"

# kept NAME: the file that links name is as it was.
kept()
{
    [ "$(cat "$secret") $(stat -c %a "$secret")" = 'secret 640' ] && pass "$1" || fail "$1" "the file that a link names was written"
}

# The process's id is known before it starts, as it may be guessed by others.
cat >"$work/planted.sh" <<'SH'
for name in process-$$ graph-$$-1; do $1 "$BG_REPORT/$name.json" || exit 99; done
for segment in 0 1; do $1 "$BG_DOT/graph-$$-1-$segment.dot" || exit 99; done
exec "$2"
SH
plant_link() { for name; do ln -s "$secret" "$name" || return; done; }
export -f plant_link
export secret
for kind in plant_link mkfifo; do
    mkdir "$work/$kind"
    expect "program-$kind" 0 '^replay 1:' env BG_REPORT="$work/$kind" BG_DOT="$work/$kind" timeout 60 bash "$work/planted.sh" $kind "$quickstart"
    kept "program-$kind-keeps"
    expect "program-$kind-writes" 0 '"ended": true' sh -c "cat '$work/$kind'/process-*.json"
    [ -z "$(find "$work/$kind" ! -type d ! -type f)" ] && pass "program-$kind-files" || fail "program-$kind-files" "not all are files"
    rm -rf "${work:?}/$kind"
done

# reads NAME PATTERN: a directory of reports in which report-1-1.json is what was planted.
reads() { expect "$1" 10 "report-1-1.json cannot be read: $2; remove it" timeout 60 "$command" report "$work/reports"; rm -rf "$work/reports/report-1-1.json"; }
mkdir "$work/reports"
mkfifo "$work/reports/report-1-1.json"
reads report-pipe 'it is a pipe, not a file'
mkdir "$work/reports/report-1-1.json"
reads report-directory 'it is a directory, not a file'
ln -s "$secret" "$work/reports/report-1-1.json"
reads report-link 'it is a symbolic link, which is not allowed here'
mkfifo "$work/reports/process-1.json"
expect report-process-pipe 10 'process-1.json cannot be read: it is a pipe' timeout 60 "$command" report "$work/reports"
expect report-given-pipe 10 'process-1.json cannot be read: it is a pipe, not a file; name a regular file' timeout 60 "$command" report "$work/reports/process-1.json"
expect eager-ops-pipe 2 '@FILE, a readable file of such patterns' timeout 60 "$command" run --eager-ops="@$work/reports/process-1.json" -- true

# The state of a search that has no name of its own, and what ranks print.
mkdir "$work/here"
ln -s "$secret" "$work/here/.breakgraph-bisect.json"
expect state-link 10 'breakgraph-bisect.json cannot be read: it is a symbolic link' sh -c "cd '$work/here' && timeout 60 '$(realpath "$command")' bisect -- false"
kept state-link-keeps
mkdir "$work/printed"
ln -s "$secret" "$work/printed/rank-0.out"
mkfifo "$work/printed/rank-0.err"
timeout 60 "$command" run --ranks=1 --oversubscribe --output-dir="$work/printed" -- sh -c 'echo printed; echo said >&2'
kept ranks-output-keeps
expect ranks-output-files 0 '^printed said $' sh -c "cat '$work/printed/rank-0.out' '$work/printed/rank-0.err' | tr '\\n' ' '"

# What the user names may be a pipe or a device.
mkfifo "$work/given"
cat "$work/given" >"$work/read" &
echo '{"report_version": 2, "tool": "check", "graph": "g", "findings": []}' >"$work/report.json"
timeout 60 "$command" report --text="$work/given" "$work/report.json"
wait $!
expect given-pipe-read 0 '^check of g: 0 findings$' cat "$work/read"
expect given-stdout 0 '^check of g: 0 findings$' sh -c "'$command' report --text=/dev/stdout '$work/report.json' | cat"
exit $bad
