#!/bin/bash
# breakgraph with --ranks: programs that are shell scripts, and one with a graph of its own on each rank.
. "$(dirname "$0")/../lib.sh"
command=$OUT/breakgraph
mark=ranks_of_$$_$RANDOM
# Shells need no devices.
of_keeper='cut -d" " -f4 /proc/$PPID/stat' # in a program: the number of the command, whose child the program's parent is
# What waits a second or longer until it is killed, or for what must not come; and more of the same.
in_depth='much-1-.*|much-slow-reader|long-lines|terminal-(background|no-color)|others-are-stubborn.*|last-words|terminate-(twice|stubborn).*|interrupt-terminate.*'
in_depth="$in_depth|away-killed-(run|check|step|bisect)(-gone)?|(hang-of-a-rank|bisect-hang).*|bisect-(shadow-)?rank-0.*|bisect-check"
ranks() { local n=$1; shift; timeout --kill-after=5 300 "$command" run --ranks="$n" --oversubscribe "$@"; }

# gone NAME: no process whose command line has $mark is left, or comes to its end.
printf '%s\n' "$mark" >"$work/mark"
alive() { local f; for f in $(grep -lasFf "$work/mark" /proc/[0-9]*/cmdline); do f=${f%/cmdline}; ! grep -qs '^State:.[^ZX]' "$f/status" || echo "${f#/proc/}"; done; }
nobody() { [ -z "$(alive)" ]; }
somebody() { ! nobody; }
gone()
{
    local left
    ! is_left_out "$1" || return 0
    await nobody
    left=$(alive)
    # shellcheck disable=SC2086
    [ -z "$left" ] && pass "$1" || { fail "$1" "still there: $left"; kill -9 $left; }
}
bash -c "exec -a $mark sleep 300" &
# Until it has begun, its command line is that of this test.
await somebody
[ "$(alive)" = $! ] && pass alive || fail alive "what is left is not seen"
{ kill $! && wait $!; } 2>/dev/null
gone alive-gone

# script NAME: its text on standard input becomes $work/NAME.sh, whose command line has the mark.
script() { cat >"$work/$1-$mark.sh"; }
run() { local n=$1 name=$2; shift 2; ranks "$n" -- bash "$work/$name-$mark.sh" "$@"; }
is() { is_left_out "$1" || { [ "$2" = "$3" ] && pass "$1" || fail "$1" "'$2', expected '$3'"; }; }

# ---- what a rank is told ----

script tell <<'SH_'
echo "$RANK/$WORLD_SIZE $LOCAL_RANK/$LOCAL_WORLD_SIZE $MASTER_ADDR"
echo "$MASTER_PORT $BG_RANKS_TOKEN" >"$1.$RANK"
SH_
for n in 1 2 4; do
    run $n tell "$work/told$n" 2>&1 | sort >"$work/log"
    for ((r = 0; r < n; r++)); do echo "[rank $r] $r/$n $r/$n 127.0.0.1"; done >"$work/wanted"
    diff "$work/wanted" "$work/log" >"$work/difference" && pass tell-$n || fail tell-$n "another environment"
    is tell-$n-same "$(cat "$work/told$n".* | sort -u | grep -cE '^[1-9][0-9]+ [0-9a-f]{32}$')" 1
done
[ "$(cut -d' ' -f2 "$work/told2.0")" != "$(cut -d' ' -f2 "$work/told4.0")" ] && pass tell-new-token || fail tell-new-token "the same token twice"
token='tr "\0" "\n" </proc/self/cmdline | grep -q "$BG_RANKS_TOKEN" || echo none'
expect token-not-in-arguments 0 'none' ranks 1 -- bash -c "$token"
if [ "$DEVICE" = host ]; then
    expect devices 0 '^\[rank 1\] 2$' "$command" run --ranks=2 -- sh -c 'echo $HOSTCUDA_DEVICES'
    expect devices-kept 0 '^\[rank 1\] 3$' env HOSTCUDA_DEVICES=3 "$command" run --ranks=2 -- sh -c 'echo $HOSTCUDA_DEVICES'
    expect devices-too-few 2 'ranks=4 needs 4 devices, and there are 3; --oversubscribe' "$command" run -e HOSTCUDA_DEVICES=3 --ranks=4 -- true
    expect devices-shared 0 '^\[rank 3\] 3$' "$command" run -e HOSTCUDA_DEVICES=3 --ranks=4 --oversubscribe -- sh -c 'echo $HOSTCUDA_DEVICES'
fi
expect ranks-few-files 3 "rank [0-9]: 'true' cannot be started: Too many open files; the limit is that of ulimit -n" bash -c 'ulimit -n 16; "$0" run --ranks=4 --oversubscribe -- true' "$command"
expect ranks-none 2 'whole numbers from 1 to 64' "$command" run --ranks=0 -- true
expect ranks-word 2 'whole numbers from 1 to 64' "$command" run --ranks=two -- true
for flag in --timeout=3 --no-prefix --output-dir=x --oversubscribe; do
    expect "alone$flag" 2 "needs --ranks" "$command" run $flag -- true
done
expect ranks-bind 2 'meet on loopback' ranks 2 -e BG_RANKS_BIND=127.0.0.1 -- true
expect ranks-of-files 2 'needs a program' "$command" report --ranks=2 .
expect flags-set 0 '^\[rank 1\] ops$' ranks 2 --debug=ops -- sh -c 'echo $BG_DEBUG'
expect files-apart 0 '^\[rank 1\] d.x/t.rank-1.json d.x/dump.rank-1$' ranks 2 --trace=d.x/t.json -e BG_STEP_DUMP=d.x/dump -- sh -c 'echo $BG_TRACE $BG_STEP_DUMP'

# The port stays the job's: rank 0 may listen there, and no one else who has not asked to share it, before and after.
cat >"$work/port.c" <<'C_'
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
static void take(const char *who, in_addr_t where, int shared)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(where)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0), good;
    address.sin_port = htons((unsigned short)atoi(getenv("MASTER_PORT")));
    good = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared) == 0 &&
           bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0;
    printf("%s: %s\n", who, good ? "listens" : strerrorname_np(errno));
    close(fd);
}
int main(void)
{
    take("stranger", INADDR_LOOPBACK, 0);
    take("rank 0", INADDR_LOOPBACK, 1);
    take("stranger", INADDR_LOOPBACK, 0);
    take("stranger anywhere", INADDR_ANY, 0);
}
C_
if $CC -o "$work/port" "$work/port.c" 2>"$work/log"; then
    ranks 1 --no-prefix -- "$work/port" >"$work/log" 2>&1
    is port-held "$(tr '\n' ' ' <"$work/log")" 'stranger: EADDRINUSE rank 0: listens stranger: EADDRINUSE stranger anywhere: EADDRINUSE '
else
    fail port-held "it does not build"
fi

# Where ranks of breakgraph meet nobody else may enter, and nothing of it stays.
meeting='echo "$RANK $(stat -c "%a %u" "$(dirname "$BG_RANKS_SOCKET")") $BG_RANKS_SOCKET"'
ranks 2 --no-prefix -- sh -c "$meeting" >"$work/log" 2>&1
is socket-place "$(sort "$work/log" | cut -d' ' -f1-3 | tr '\n' ' ')" "0 700 $(id -u) 1 700 $(id -u) "
is socket-same "$(cut -d' ' -f4 "$work/log" | sort -u | wc -l)" 1
[ ! -e "$(dirname "$(cut -d' ' -f4 "$work/log" | head -1)")" ] && pass socket-gone || fail socket-gone "its directory is still there"
deep=$work/$(printf 'd%.0s' $(seq 110))
mkdir "$deep"
expect socket-too-long 0 '^\[rank 1\] none$' env TMPDIR="$deep" "$command" run --ranks=2 --oversubscribe -- sh -c 'echo ${BG_RANKS_SOCKET:-none}'

# A stranger who listens at the job's port before rank 0 comes: nobody comes to it, and the ranks meet.
cat >"$work/stranger.c" <<'C_'
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
/* PORT: listens there, says so, and then for each who comes what it says, until standard input ends. */
int main(int argc, char **argv)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    struct pollfd fds[2] = {{socket(AF_INET, SOCK_STREAM, 0), POLLIN, 0}, {STDIN_FILENO, POLLIN, 0}};
    char said[512];
    int on = 1;
    if (argc < 2 || (geteuid() == 0 && setuid(65534) != 0))
        return 1;
    address.sin_port = htons((unsigned short)atoi(argv[1]));
    if (setsockopt(fds[0].fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(fds[0].fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fds[0].fd, 8) != 0)
        return 1;
    puts("listens");
    fflush(stdout);
    while (poll(fds, 2, -1) > 0 && fds[1].revents == 0) {
        int fd = accept(fds[0].fd, NULL, NULL);
        ssize_t got = fd >= 0 ? recv(fd, said, sizeof said, 0) : -1;
        printf("came, and said %zd bytes\n", got);
        fflush(stdout);
    }
    return 0;
}
C_
script meet <<'SH_'
if [ "$RANK" = 0 ]; then
    mkfifo "$1/end"
    "$1/stranger" "$MASTER_PORT" <"$1/end" >"$1/stranger.log" &
    exec 9>"$1/end"
    while ! grep -qs listens "$1/stranger.log"; do sleep 0.05; done
    sleep 0.5 # time for rank 1 to come
    "$1/meeting" 9>&-; status=$?
    exec 9>&-
    wait
    exit $status
fi
exec "$1/meeting"
SH_
IFS='|' read -r cuda _ cuda_lib < <(tools/find_cuda "$DEVICE" "${CUDA_HOME:-}")
if [ ! -e "$OUT/libbreakgraph_nccl.so" ]; then
    skip stranger-first "there is no NCCL"
elif ! $CC -o "$work/stranger" "$work/stranger.c" 2>"$work/log" ||
    ! $CC -std=c11 -Iinclude -isystem "$cuda/include" tests/cli/build/consumer_ranks.c -o "$work/meeting" -L"$OUT" -lbreakgraph_nccl -lbreakgraph \
        $([ "$DEVICE" = host ] && echo -lhostcuda || echo -L"$cuda_lib" -lcudart) "-Wl,-rpath,$PWD/$OUT" 2>"$work/log"; then
    fail stranger-first "it does not build"
else
    chmod 711 "$work"
    n=$([ "$DEVICE" = host ] && echo 2 || echo 1)
    "$command" run --ranks=$n -- bash "$work/meet-$mark.sh" "$work" >"$work/log" 2>&1
    is stranger-first "$(sort "$work/log" | tr '\n' ' ')" "$(for ((r = 0; r < n; r++)); do printf '[rank %s] rank %s of %s: 7 ' $r $r $n; done)"
    is stranger-alone "$(cat "$work/stranger.log")" listens
fi

# ---- output ----

# Up to 4 times 1 MB and as much on the other stream, all at once: no line is cut, none is lost, none is in another order.
script both <<'SH_'
seq -f "$RANK out %.0f end" 60000 &
seq -f "$RANK err %.0f end" 60000 >&2
wait
SH_
# whole FILE STREAM RANKS: lines of seq, in order, of each rank
whole() { awk -v stream="$2" -v ranks="$3" '$1 != "[rank" || $2 != $3 "]" || $4 != stream || $5 != ++n[$3] || $6 != "end" || NF != 6 { print "line " NR ": " $0; exit }
    END { for (r = 0; r < ranks; r++) if (n[r] != 60000) print "rank " r ": " n[r] }' "$1"; }
for n in $(sized '2 4' '1 2 4'); do
    run $n both >"$work/out" 2>"$work/err"
    is much-$n-output "$(whole "$work/out" out $n)" ''
    is much-$n-errors "$(whole "$work/err" err $n)" ''
    run $n both 2>&1 | tee "$work/all" | grep ' out ' >"$work/out"
    is much-$n-one-pipe "$(whole "$work/out" out $n)$(wc -l <"$work/all")" $((n * 120000))
done
run 2 both >"$work/all" 2>&1
grep ' err ' "$work/all" >"$work/err"
is much-one-file "$(whole "$work/err" err 2)" ''
! deep || run 2 both 2>&1 | { sleep 1; cat; } | grep ' out ' >"$work/out"
is much-slow-reader "$(whole "$work/out" out 2)" ''
script long <<'SH_'
head -c 5000000 /dev/zero | tr '\0' "$RANK"
echo
head -c 3000000 /dev/zero | tr '\0' "$RANK"
SH_
! deep || run 4 long | awk '{ print $2, length($3), $3 ~ "^(0+|1+|2+|3+)$" }' | sort >"$work/log"
! deep || is long-lines "$(awk '{ print $2 $3 }' "$work/log" | sort | uniq -c | tr -s ' \n' ' ')" ' 4 30000001 4 50000001 '
printf 'a\0\377b\r\n\n\001c' >"$work/bytes"
ranks 1 -- cat "$work/bytes" >"$work/out"
printf '[rank 0] a\0\377b\r\n[rank 0] \n[rank 0] \001c\n' | cmp -s - "$work/out" && pass binary || fail binary "other bytes"
ranks 1 --no-prefix -- cat "$work/bytes" | cmp -s - "$work/bytes" && pass binary-no-prefix || fail binary-no-prefix "other bytes"
head -c 3000000 /dev/urandom >"$work/random"
ranks 1 --no-prefix -- cat "$work/random" | cmp -s - "$work/random" && pass binary-random || fail binary-random "other bytes"
expect partial 0 '^\[rank 0\] ab$' ranks 1 -- sh -c 'printf a; printf b'
is partial-two "$(ranks 2 --no-prefix -- sh -c 'printf $RANK$RANK' | sort | tr '\n' ' ')" '00 11 '
is empty-output "$(ranks 4 -- true 2>&1)" ''
ranks 2 --output-dir="$work/files" -- sh -c 'printf out$RANK; echo err$RANK >&2' >"$work/log" 2>&1
is output-dir "$(cd "$work/files" && grep -H . -- * | tr '\n' ' ')$(cat "$work/log")" 'rank-0.err:err0 rank-0.out:out0 rank-1.err:err1 rank-1.out:out1 '
expect output-dir-none 1 'cannot be created' ranks 2 --output-dir=/nowhere/x -- true
expect closed-output 0 '^2$' sh -c "timeout 60 '$command' run --ranks=2 --oversubscribe -- yes 2>/dev/null | head -n 2 | wc -l"
gone closed-output-gone

# Streams that are closed stay so, and nothing of the command's own takes their numbers. A rank learns of
# it when it writes on.
expect closed-streams 141 '^$' sh -c "timeout 120 '$command' run --ranks=2 --oversubscribe -- sh -c 'while echo \$RANK; do sleep 0.1; done' <&- >&- 2>&-; status=\$?; echo; exit \$status"
expect closed-stdin 0 '^[[]rank 0[]] closed$' sh -c "timeout 120 '$command' run --ranks=2 --oversubscribe -- sh -c '[ -e /proc/self/fd/0 ] || echo closed' <&-"
# ---- input ----

is input "$(printf 'a\nb\n' | ranks 4 -- sh -c 'cat; echo end' | sort | tr '\n' ' ')" '[rank 0] a [rank 0] b [rank 0] end [rank 1] end [rank 2] end [rank 3] end '
is input-large "$(ranks 2 --no-prefix -- wc -c <"$work/random" | sort -n | tr '\n' ' ')" '0 3000000 '
if command -v script >/dev/null; then
    # In the foreground whatever shell script starts: a group in the background gets no input.
    terminal() { printf 'typed\n' | command script -qec "timeout --foreground 60 $command run --ranks=2 --oversubscribe -- sh -c 'read -r l; echo \$RANK:\$l'" /dev/null; }
    expect terminal-input 0 '0:typed' terminal
    background() { printf 'typed\n' | command script -qec "timeout 60 $command run --ranks=2 --oversubscribe -- sh -c 'read -r l; echo \$RANK:\$l:\$?'; echo over" /dev/null; }
    expect terminal-background 0 '0::1' background
    expect terminal-color 0 $'\e''[[]33m[[]rank 1[]]'$'\e''[[]0m 1:' terminal
    expect terminal-no-color 0 '^[[]rank 1[]] 1:' env NO_COLOR=1 script -qec "$command run --ranks=2 --oversubscribe -- sh -c 'echo \$RANK:'" /dev/null
else
    for name in terminal-input terminal-color terminal-no-color; do skip $name "script (util-linux) is not installed"; done
fi

# ---- ends ----

# The rank in its first argument ends as the second says, when all have come to their wait.
script end <<'SH_'
touch "$4.$RANK"
[ "$3" != stubborn ] || trap '' TERM
if [ "$RANK" = "$1" ]; then
    for ((r = 0; r < WORLD_SIZE; r++)); do until [ -e "$4.$r" ]; do sleep 0.05; done; done
    case $2 in kill-*) kill -"${2#kill-}" $$ ;; *) exit "$2" ;; esac
fi
bash -c "exec sleep 300 $0" bash 2>/dev/null &
(setsid bash -c 'while :; do sleep 300; done' "$0" &)
while :; do sleep 300; done
SH_
ends() # NAME STATUS PATTERN RANKS RANK HOW MANNER
{
    ! is_left_out "$1" || return 0
    rm -f "$work"/met.*
    expect "$1" "$2" "$3" run "$4" end "$5" "$6" "$7" "$work/met"
    gone "$1-gone"
}
ends dies-of-kill 137 '^breakgraph run: rank 2 \(process [0-9]+\) was ended by SIGKILL, so the other ranks were ended$' 4 2 kill-KILL gentle
ends dies-of-fault 139 'rank 0 \(process [0-9]+\) was ended by SIGSEGV, so the other ranks' 2 0 kill-SEGV gentle
ends dies-of-status 7 'rank 1 \(process [0-9]+\) ended with status 7, so the other ranks' 2 1 7 gentle
ends others-are-stubborn 3 'rank 3 \(process [0-9]+\) ended with status 3, so' 4 3 3 stubborn
expect alone-fails 5 'rank 0 \(process [0-9]+\) ended with status 5$' ranks 1 -- sh -c 'exit 5'
expect alone-dies 137 'rank 0 \(process [0-9]+\) was ended by SIGKILL$' ranks 1 -- sh -c 'kill -9 $$'
expect ends-well 0 '' ranks 4 -- sh -c 'echo; exit 0'
expect missing 3 "rank 0: '/nowhere' cannot be started" ranks 2 -- /nowhere
script leave <<'SH_'
bash -c "exec -a $0 sleep 300" &
(setsid bash -c "exec -a $0 sleep 300" &)
nohup bash -c "exec -a $0 sleep 300" >/dev/null 2>&1 &
trap '' TERM
(trap '' TERM HUP INT; exec -a "$0" sleep 300) &
echo left
SH_
expect leaves-children 0 '^\[rank 1\] left$' run 2 leave
gone leaves-children-gone
expect last-words 4 '^\[rank 1\] last words$' ranks 2 -- sh -c 'test $RANK = 0 || { printf "last words"; exit 4; }; sleep 300'
expect told-to-end 4 '^\[rank 0\] told$' ranks 2 -- bash -c 'if [ $RANK = 0 ]; then trap "echo told; exit 0" TERM; echo >'"$work/trapped"'; while :; do sleep 0.1; done; fi; until [ -s '"$work/trapped"' ]; do sleep 0.05; done; exit 4'
expect timeout 8 "'bash' ran longer than 3 s and was killed: ranks 1, 2 had not ended" ranks 3 --timeout=3 -- bash -c "[ \$RANK = 0 ] || { : $mark; sleep 300; }"
gone timeout-gone
expect timeout-not-passed 0 '' ranks 2 --timeout=100 -- echo
expect timeout-bad 2 'allowed are seconds' ranks 2 --timeout=never -- true

# ---- the command is interrupted, or killed ----

script stay <<'SH_'
bash -c "while :; do sleep 300; done" "$0" &
case ${2:-} in stubborn) trap '' TERM ;; tells) trap 'touch "$1.told.$RANK"' TERM ;; esac
touch "$1.$RANK"
while :; do sleep 0.1; done
SH_
four() { [ "$(ls "$work/$1".[0-3] 2>/dev/null | wc -l)" -eq 4 ]; }
uptime() { local up; read -r up _ </proc/uptime; echo $((10#${up/./})); } # in 1/100 s
# interrupt NAME STATUS SIGNAL [MANNER [SECOND_SIGNAL [WORD...]]]: ranks that are stubborn; or that tell of SIGTERM, and stay,
# too; the second signal comes then. Words before the command. $took: from the first signal to the end.
interrupt()
{
    local pid status began
    ! is_left_out "$1" || return 0
    rm -f "$work"/here.*
    "${@:6}" "$command" run --ranks=4 --oversubscribe -- bash "$work/stay-$mark.sh" "$work/here" "${4:-}" >"$work/log" 2>&1 </dev/null &
    pid=$!
    await four here
    began=$(uptime)
    kill -"$3" $pid
    if [ -n "${5:-}" ]; then
        await four here.told
        kill -"$5" $pid
    fi
    { wait $pid; } 2>/dev/null
    status=$?
    took=$(($(uptime) - began))
    is "$1" $status "$2"
    gone "$1-gone"
}
interrupt interrupt 130 INT
grep -q 'SIGINT: all ranks were ended' "$work/log" && pass interrupt-said || fail interrupt-said "it does not say so"
interrupt terminate 143 TERM
interrupt terminate-stubborn 143 TERM stubborn
# A second SIGTERM, as timeout sends it, takes nothing of the two seconds that ranks have for their end.
interrupt terminate-twice 143 TERM tells TERM
is_left_out terminate-twice || { [ $took -ge 199 ] && pass terminate-twice-patient; } || fail terminate-twice-patient "ended after $took/100 s"
interrupt interrupt-terminate 130 INT tells TERM
is_left_out interrupt-terminate || { [ $took -ge 199 ] && pass interrupt-terminate-patient; } || fail interrupt-terminate-patient "ended after $took/100 s"
# A second SIGINT ends them at once: to a command whose two seconds never pass.
cat >"$work/still.c" <<'C_'
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static int still;
__attribute__((constructor)) static void start(void)
{
    still = strcmp(program_invocation_short_name, "breakgraph") == 0;
    if (still)
        alarm(300);
}
int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (!still || clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){.tv_sec = 1};
    return 0;
}
C_
if $CC -shared -fPIC -o "$work/still.so" "$work/still.c" 2>"$work/log"; then
    still=(env LD_PRELOAD="$work/still.so" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0")
    interrupt interrupt-twice 130 INT tells INT "${still[@]}"
    interrupt terminate-interrupt 143 TERM tells INT "${still[@]}"
    grep -q 'SIGTERM: all ranks were ended' "$work/log" && pass terminate-interrupt-said || fail terminate-interrupt-said "it does not say so"
else
    fail interrupt-twice "it does not build"
fi
interrupt hang-up 129 HUP
interrupt killed 137 KILL
(trap '' HUP; "$command" run --ranks=2 --oversubscribe -- sh -c 'kill -HUP '"\$PPID"'; echo on' >"$work/log" 2>&1)
is nohup $? 0

# ---- what leaves its session ----

# A daemon, in a session of its own and nobody's child; then the program ends, or stays.
script away <<'SH_'
(setsid bash -c 'trap "" HUP TERM; touch "$1"; while :; do sleep 300; done' "$0" "$1.${RANK:-0}" >/dev/null 2>&1 </dev/null &)
until [ -e "$1.${RANK:-0}" ]; do sleep 0.02; done
echo left
while [ "${2:-}" = stay ]; do sleep 0.1; done
SH_
# away NAME STATUS WORD...: of a command that comes to its end
away()
{
    rm -f "$work"/away.*
    expect "away-$1" "$2" 'left|libbreakgraph' timeout -k 5 300 "$command" "${@:3}" -- bash "$work/away-$mark.sh" "$work/away"
    [ -e "$work/away.0" ] && gone "away-$1-gone" || fail "away-$1-gone" "it has not started"
}
in_its_place() { (cd "$work" && away "$@"); }
command=$(readlink -f "$command")
away run 0 run --ranks=2 --oversubscribe
away check 4 check
away check-ranks 4 check --ranks=2 --oversubscribe
away step 4 step
away report 4 report
in_its_place bisect 4 bisect
away bisect-check 4 bisect --state="$work/state" --check='bash '"$work/away-$mark.sh $work/away"
# away_killed NAME WHOM WORD...: SIGKILL for the command, or, "-", for its process group. Its files go, too.
is_empty() { [ -z "$(ls -A "$1")" ]; }
away_killed()
{
    local pid
    ! is_left_out "away-killed-$1" || return 0
    rm -f "$work"/away.*
    mkdir -p "$work/places"
    TMPDIR="$work/places" setsid "$command" "${@:3}" -- bash "$work/away-$mark.sh" "$work/away" stay >"$work/log" 2>&1 </dev/null &
    pid=$!
    await test -e "$work/away.0"
    kill -KILL -- "$2$pid"
    { wait $pid; } 2>/dev/null
    is "away-killed-$1" $? 137
    gone "away-killed-$1-gone"
    await is_empty "$work/places" && pass "away-killed-$1-files" || fail "away-killed-$1-files" "left: $(ls -A "$work/places")"
}
for whom in '' -; do
    away_killed run$whom "$whom" run --ranks=2 --oversubscribe
    away_killed check$whom "$whom" check
    away_killed step$whom "$whom" step
    away_killed bisect$whom "$whom" bisect --fresh --state="$work/state"
done
# The process in between may end, too.
expect away-keeper-killed 137 'rank 0 \(process [0-9]+\) was ended by SIGKILL' ranks 1 -- bash -c '(setsid sleep 300 '"$mark"' &) 2>/dev/null; kill -KILL $PPID; sleep 300'
gone away-keeper-killed-gone
# Without --ranks the command becomes the program, and there is nothing of it to end, or to outlive.
"$command" run -- sh -c 'echo $$' >"$work/number" &
wait $!
is run-becomes "$(cat "$work/number")" $!

# A stray whose number changes all the time: 100000 generations take longer than it may live.
cat >"$work/chain.c" <<'C_'
#include <unistd.h>
int main(void)
{
    int generation = 0;
    if (fork() > 0 || setsid() < 0)
        return 0;
    while (generation < 100000 && fork() == 0)
        generation++;
    return 0;
}
C_
if $CC -o "$work/chain-$mark" "$work/chain.c" 2>"$work/log"; then
    expect away-chain 4 'libbreakgraph' timeout 300 "$command" check -- "$work/chain-$mark"
    is away-chain-gone "$(alive)" ''
else
    fail away-chain "it does not build"
fi

# Another user's cannot be ended, and is named: the command runs as nobody, its program starts root's.
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$work/open" "$@"; }
mkdir -m 1777 "$work/open" && chmod 755 "$work" && cp "$(command -v setpriv)" "$work/setpriv" && chmod 4755 "$work/setpriv"
is_root=$(as_nobody "$work/setpriv" --reuid=0 id -ru 2>/dev/null)
if [ "$(id -u)" = 0 ] && [ "$is_root" = 0 ] && as_nobody "$command" version >"$work/log" 2>&1; then
    expect away-other-user 4 "check: process [0-9]+ \\(bash\\), left running by 'bash', cannot be ended: it is another user's" as_nobody "$command" check -- \
        bash -c "setsid $work/setpriv --reuid=0 bash -c 'touch $work/open/began; while :; do sleep 300; done' $mark & until [ -e $work/open/began ]; do sleep 0.02; done"
    [ "$(alive)" != '' ] && pass away-other-user-lives || fail away-other-user-lives "it is gone"
    # shellcheck disable=SC2046
    kill -KILL $(alive)
else
    skip away-other-user "it needs root, and programs that may become root"
fi

# A library's thread that takes any signal, as OpenBLAS's do: none is lost, and none ends the command.
cat >"$work/thread.c" <<'C_'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
static void *idle(void *user)
{
    for (;;)
        pause();
    return user;
}
__attribute__((constructor)) static void start(void)
{
    pthread_t thread;
    if (strcmp(program_invocation_short_name, "breakgraph") == 0)
        (void)pthread_create(&thread, NULL, idle, NULL);
}
C_
if $CC -shared -fPIC -pthread -o "$work/thread.so" "$work/thread.c" 2>"$work/log"; then
    threaded() { LD_PRELOAD=$work/thread.so ASAN_OPTIONS=${ASAN_OPTIONS:-}:verify_asan_link_order=0 "$@"; }
    times=$(sized 10 50)
    expect thread 0 '^\[rank 0\] [2-9]' threaded ranks 1 -- sh -c "ls /proc/\$($of_keeper)/task | wc -l"
    for ((tries = 0; tries < times; tries++)); do
        threaded timeout -s KILL 120 "$command" run --ranks=1 -- sh -c 'exec >&- 2>&-; sleep 0.01' >"$work/log" 2>&1 || break
    done
    is thread-ends $tries $times
    threaded timeout -s KILL 120 "$command" check --timeout=100 -- sh -c 'kill -INT $PPID; sleep 600' >"$work/log" 2>&1
    is thread-check-interrupt $? 130
    times=$(sized 5 20)
    for ((tries = 0; tries < times; tries++)); do
        threaded "$command" run --ranks=1 -- sh -c 'kill -TERM $PPID; sleep 600' >"$work/log" 2>&1
        [ $? = 143 ] || break
    done
    is thread-interrupt $tries $times
else
    fail thread "it does not build"
fi
if [ "$DEVICE" = cuda ]; then
    # The command counts devices, and forks after that: what a driver opens and starts must not be in it.
    expect no-driver 0 '^\[rank 0\] 0$' "$command" run --ranks=1 -- sh -c 'ls -l /proc/$PPID/fd | grep -c /dev/nvidia; :'
fi

# ---- reports of ranks ----

# A stand-in for a program with findings: what the library would write.
cat >"$work/found.sh" <<'SH_'
head='"breakgraph": "0.1.0", "report_version": 2'
finding() { echo "{\"kind\": \"freed\", \"severity\": \"fault\", \"call\": \"$1\", \"file\": \"model.c\", \"line\": 52, \"address\": \"0x$2\", \"message\": \"0x$2 is gone, $3\", \"advice\": \"\"}"; }
list=$(finding rope#0 1${RANK}00 all)
[ "$RANK" = 0 ] || list="$list, $(finding rope#1 2${RANK}00 but-0)"
[ "$RANK" != 1 ] || list="$list, $(finding rope#2 3${RANK}00 one), $(finding rope#2 3${RANK}80 one)"
list="$list, $(finding rope#3 400 of-$RANK)"
echo "{$head, \"process\": {\"pid\": $$, \"rank\": $RANK, \"ranks\": $WORLD_SIZE, \"device\": \"host\", \"graphs\": 1, \"replays\": 1, \"ended\": true, \"checks\": {\"replay\": {\"replays\": 1}}}}" >"$BG_REPORT/process-$$.json"
echo "{$head, \"tool\": \"$BG_CHECK\", \"graph\": \"g\", \"lost\": 0, \"findings\": [$list]}" | tee "$BG_REPORT/report-$$-1.json" >"$BG_REPORT/report-$$-2.json"
SH_
sorted() { "$@" >"$work/unsorted" 2>&1; local status=$?; sort "$work/unsorted"; return $status; }
addresses() { "$@" | sed -E 's/0x([0-9])[0-9](00|80)/0x\1R\2/'; return "${PIPESTATUS[0]}"; }
golden ranks-found 1 addresses sorted "$command" check --what=replay --ranks=3 --oversubscribe -- bash "$work/found.sh"
golden ranks-found-alone 1 sorted "$command" check --what=replay --ranks=1 --oversubscribe -- bash "$work/found.sh"
mkdir "$work/reports"
ranks 3 --reports="$work/reports" -- bash "$work/found.sh"
golden ranks-report 1 addresses sorted "$command" report "$work/reports"
expect json-ranks 1 '"ranks":[[:space:]]*\[[12],[[:space:]]*[12]\]' "$command" check --what=replay --json --ranks=3 --oversubscribe -- bash "$work/found.sh"
expect crash-of-a-rank 7 "signal SIGSEGV .* ended 'bash' \\(rank 1\\)" "$command" check --ranks=2 --oversubscribe -- bash -c "[ \$RANK = 0 ] && { : $mark; sleep 300; }; kill -SEGV \$\$"
expect hang-of-a-rank 8 'ran longer than 1 s' "$command" check --timeout=1 --ranks=2 --oversubscribe -- bash -c "[ \$RANK = 0 ] || { : $mark; sleep 300; }"
expect errors-of-ranks 4 '^  rank 1:$' "$command" check --ranks=2 --oversubscribe -- sh -c 'echo e$RANK >&2; exit $RANK'
gone reports-gone

# ---- real graphs ----

build_faulty graphs || exit $bad
in_work() { (cd "$work" && "$@"); }
share=$([ "$DEVICE" = host ] || echo --oversubscribe)
bisect() { rm -f .breakgraph-bisect.json; FAULTY_RANK=$1 "$command" bisect --ranks=2 $share "${@:2}"; }
wrong() { in_work bisect "$1" "${@:2}" -- ./faulty wrong 8 2; }
for rank in 0 1; do
    expect "bisect-rank-$rank" 1 '^culprit step#1 ' wrong $rank
    is_left_out "bisect-rank-$rank" || { grep -q '^confirmed' "$work/log" && pass "bisect-rank-$rank-confirmed"; } || fail "bisect-rank-$rank-confirmed" "not confirmed"
    expect "bisect-shadow-rank-$rank" 1 '^culprit step#1 ' wrong $rank --shadow
done
sed -n 's/^bad: *//p' "$work/log" >"$work/bad"
expect bisect-no-rank 0 'there is no fault to search for' wrong 7
expect bisect-check 1 '^culprit step#1 ' wrong 1 --check='test "$(grep -c "row: 11")" = 2'
wrong 1 >"$work/result" 2>&1
for side in good bad; do
    line=$(sed -n "s/^$side: *//p" "$work/result")
    (cd "$work" && export FAULTY_RANK=1 PATH="${command%/*}:$PATH" && eval "$line") >"$work/log" 2>&1
    is "bisect-line-$side" $? $([ $side = good ] && echo 0 || echo 1)
done
expect bisect-crash 7 "ended './faulty' \\(rank [01]\\)" in_work bisect 1 -- ./faulty crash 8
expect bisect-hang 8 'ran longer' in_work bisect 1 --timeout=2 -- sh -c ": $mark; [ \$RANK = 1 ] || sleep 300"
gone bisect-hang-gone
expect shadow-of-a-rank 1 'fault \[mismatch-origin\] step#1 at .*: rank 1: ' in_work env FAULTY_RANK=1 "$command" report --ranks=2 $share -- ./faulty wrong 8 2
expect shadow-of-all 1 'fault \[mismatch-origin\] step#1 at .*faulty.c:[0-9]*: y of' in_work "$command" report --ranks=2 $share -- ./faulty wrong 8 2
is shadow-of-all-once "$(grep -c '\[mismatch-origin\]' "$work/log")" 1
expect step-ranks 0 '^step: 0 findings' "$command" step --ranks=2 $share -- "$work/faulty" wrong 8
grep -q '^\[rank 1\] last row: 11' "$work/log" && pass step-ranks-output || fail step-ranks-output "no line of rank 1"
expect check-ranks 0 'check graph, replay, recapture, poison, padding: 0 findings' "$command" check --ranks=4 ${share:---oversubscribe} -- "$work/faulty" wrong 8
mkdir "$work/own" && "$command" run --ranks=2 $share --reports="$work/own" -- "$work/faulty" wrong 8 >/dev/null
is process-ranks "$(cat "$work"/own/process-*.json | grep -o '"rank": [0-9]*, "ranks": [0-9]*' | sort | tr '\n' ' ')" '"rank": 0, "ranks": 2 "rank": 1, "ranks": 2 '

# ---- a job within a torchrun's rank ----

expect within-torchrun 0 '^\[rank 1\] none$' env TORCHELASTIC_RUN_ID=outer RANK=1 WORLD_SIZE=2 MASTER_PORT=29500 "$command" run --ranks=2 --oversubscribe -- sh -c 'echo ${TORCHELASTIC_RUN_ID:-none}'
exit $bad
