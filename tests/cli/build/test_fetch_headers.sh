#!/bin/bash
# CUDA's headers from a Python index: tools/fetch-headers with an index of made-up wheels on this machine.
. "$(dirname "$0")/../lib.sh"
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)
if [ -z "$python" ]; then
    skip fetch-headers "its index is a program of Python, and python3 is not there"
    exit 0
fi
# Nothing of this machine's settings: no proxy, no other index.
unset "${!PIP_@}" BREAKGRAPH_NO_INSTALL HEADERS_WHOLE http_proxy HTTP_PROXY all_proxy ALL_PROXY
export HOME=$work no_proxy=127.0.0.1 PIP_CONFIG_FILE=/dev/null CC
tools=$work/tools index=$work/index
mkdir -p "$tools/headers" "$index"
cp tools/fetch-headers tools/zip_parts.c "$tools"
"$python" tests/cli/build/headers_index.py "$index" >"$work/port" &
server=$!
trap 'kill $server; wait $server 2>/dev/null; rm -rf "$work"' EXIT
await test -s "$work/port" || { fail index "the index does not start"; exit 1; }
cp "$index/manifest" "$tools/headers/1.0"
at() { echo "http://127.0.0.1:$(cat "$work/port")/$1/simple"; }

# A PATH with what Debian always has, the compiler, and the programs named: first all, then one downloader alone.
make_path()     # folder, programs
{
    local program
    mkdir -p "$1"
    for program in bash sh env id gzip sha256sum sed grep awk head tail stat cut tr sort mktemp mkdir mv rm ln find cat dirname basename wc sleep xargs date cp "${@:2}"; do
        ln -sf "$(command -v "$program")" "$1/$program"
    done
    # tools/fetch-headers compiles one program, each time in the same way: the first time here, then it gets a copy.
    cat >"$1/cc" <<EOF
#!/bin/sh
PATH='$PATH'
case "\$*" in "-std=c11 -D_GNU_SOURCE -O1 -o "*zip_parts.c) ;; *) exec $CC "\$@" ;; esac
[ -e '$work/zip_parts' ] || $CC -std=c11 -D_GNU_SOURCE -O1 -o '$work/zip_parts' "\$6" || exit
exec cp '$work/zip_parts' "\$5"
EOF
    chmod +x "$1/cc"
}
downloaders=
for program in curl wget python3; do
    if ! command -v $program >/dev/null; then
        skip "$program" "it is not there"
        continue
    fi
    downloaders="$downloaders $program"
    make_path "$work/$program" $program
    [ $program != python3 ] || ln -sf "$python" "$work/python3/python3"
done
make_path "$work/none"
read -r one _ <<<"$downloaders"
# make test: one downloader, which fetches parts, is cut off, gets something else, or may not fetch at all; make, which says so.
deep || downloaders=$one
in_depth='(curl|wget|python3)-(no-ranges|all-whole|cut.*|not-found|broken|redirect|always-cut|login|password)|rooted|no-wheel|unreachable|extra-index.*'
in_depth="$in_depth|damaged.*|short.*|no-member|too-much|above|bomb|after-failures|changed.*|missing|others|empty-folder|dash|no-compiler"
in_depth="$in_depth|no-downloader|installs?|install-fails|pip-index|write|make-(n|lint|clean|cuda|given|forbidden-variable|refused|whole|again|odd-folder.*)"

# try DOWNLOADER WAY [NAME=VALUE...]: fetches into $dir.
dir=$work/out/headers
try() { ${as:-} env PATH="$work/$1" CC=cc PIP_INDEX_URL="${index_url:-$(at "$2")}" "${@:3}" "$tools/fetch-headers" 1.0 "$dir"; }
# What the last try left is the whole of the headers, or nothing at all.
whole() { if diff -r "$index/include" "$dir/include" >"$work/log" 2>&1 && [ "$(ls -A "$work/out")" = headers ]; then pass "$1"; else ls -A "$work/out" >>"$work/log"; fail "$1" "not the headers and nothing else"; fi; }
nothing() { if [ -z "$(ls -A "$work/out" 2>/dev/null)" ]; then pass "$1"; else ls -A "$work/out" >"$work/log"; fail "$1" "something is left"; fi; }
# One sentence, said on one line after what is fetched.
sentence() { if [ "$(grep -cv -e '^  made-' -e '^  in all' -e '^CUDA headers 1.0 from' "$work/log")" = 1 ]; then pass "$1"; else fail "$1" "not one line"; fi; }
fails()     # NAME DOWNLOADER WAY PATTERN [NAME=VALUE...]
{
    ! is_left_out "$1" || return 0
    rm -rf "$work/out"
    expect "$1" 1 "$4" try "$2" "$3" "${@:5}"
    sentence "$1-sentence"
    nothing "$1-leaves-nothing"
}
works()     # NAME DOWNLOADER WAY PATTERN [NAME=VALUE...]
{
    ! is_left_out "$1" || return 0
    rm -rf "$work/out"
    expect "$1" 0 "$4" try "$2" "$3" "${@:5}"
    whole "$1-whole"
}

for downloader in $downloaders; do
    : >"$index/log"
    rm -rf "$work/out"
    expect "$downloader" 0 '^CUDA headers 1.0: 7 files, [0-9]+ bytes fetched in [0-9]+ s$' try "$downloader" relative
    fetched=$(sed -n 's/.*files, \([0-9]*\) bytes.*/\1/p' "$work/log")
    whole "$downloader-whole"
    if [ "${fetched:-0}" -gt 100000 ] && [ "$fetched" -lt 400000 ]; then pass "$downloader-bytes"; else fail "$downloader-bytes" "$fetched bytes fetched"; fi
    if ! grep -v small "$index/log" | grep -q whole; then pass "$downloader-ranges"; else cp "$index/log" "$work/log"; fail "$downloader-ranges" "a large wheel was fetched whole"; fi
    fails "$downloader-no-ranges" "$downloader" noranges 'can only be fetched whole, .*: 21.0 MB of 2[0-9.]* MB for all wheels. To fetch them, type: HEADERS_WHOLE=1 tools/fetch-headers 1.0 .*/out/headers$'
    works "$downloader-all-whole" "$downloader" noranges '7 files, 2[0-9]{7} bytes' HEADERS_WHOLE=1
    fails "$downloader-not-found" "$downloader" notfound 'cannot find the wheel of made-large 1.0. .*/notfound/simple/made-large/: .*404'
    fails "$downloader-broken" "$downloader" broken 'cannot find the wheel of made-large 1.0. .*500'
    works "$downloader-redirect" "$downloader" redirect '7 files'
    works "$downloader-cut" "$downloader" "cut-$downloader" '7 files'
    fails "$downloader-always-cut" "$downloader" always-cut 'cannot fetch bytes [0-9]* to [0-9]* of http'
    fails "$downloader-login" "$downloader" login '/login/simple/made-large/: .*(401|Authentication)'
    index_url=$(at login | sed 's|//|//me:pass%20word@|')
    works "$downloader-password" "$downloader" login '7 files'
    if ! deep; then :
    elif grep -q 'me:' "$work/log"; then fail "$downloader-password-hidden" "it is printed"; else pass "$downloader-password-hidden"; fi
    index_url=
done

if [ -z "$one" ]; then
    skip fetch-headers "none of curl, wget and python3 is there"
    exit $bad
fi

# What a page and a wheel can hold.
works rooted "$one" rooted '7 files'
fails no-wheel "$one" nowheel 'cannot find the wheel of made-large 1.0. .*: it has no made_large-1.0-py3-none-any.whl'
index_url=http://me:p@ss@127.0.0.1:9/simple
fails unreachable "$one" - 'cannot find the wheel of made-large 1.0. http://127.0.0.1:9/simple/made-large/: '
if ! deep; then :
elif grep -q ss@ "$work/log"; then fail unreachable-password-hidden "a part of it is printed"; else pass unreachable-password-hidden; fi
works extra-index "$one" - '7 files' PIP_EXTRA_INDEX_URL="$(at nowheel) $(at good)"
works extra-index-lines "$one" - '7 files' PIP_EXTRA_INDEX_URL="$(at nowheel)"$'\n'"$(at good)"
index_url=
fails damaged "$one" damaged '(cannot be unpacked|is not what tools/headers/1.0 lists|damaged).*'
fails damaged-directory "$one" other "made_large.*: the zip file's directory is damaged"
fails short "$one" short 'can only be fetched whole|cannot fetch|not a zip file'
fails short-whole "$one" short 'cannot fetch .*made_large.*: the connection was cut after' HEADERS_WHOLE=1
sed -i 's/^[0-9a-f]*\(  middle.h\)/'"$(printf '%064d' 1)"'\1/' "$tools/headers/1.0"
fails checksum "$one" good 'what was fetched is not what tools/headers/1.0 lists: the SHA-256 of middle.h differs'
sed -e 's/^\([0-9a-f]*\)  large.h/\1  larger.h/' "$index/manifest" >"$tools/headers/1.0"
fails no-member "$one" good 'made_large.*: not in the zip file: nvidia/made_large/include/larger.h'
# A server that wants more from this machine than headers: the bytes of another file, a folder above, a file that fills the disk.
sed "s/^[0-9a-f]*  large.h/&\n$(printf '%064d' 1)  blob.bin/" "$index/manifest" >"$tools/headers/1.0"
fails too-much "$one" good 'made_large.*: its directory puts headers at bytes [0-9]+ to [0-9]+, which are too many'
sed "s/^[0-9a-f]*  small.h/$(printf '%064d' 1)  ..\/above.txt/" "$index/manifest" >"$tools/headers/1.0"
fails above "$one" good 'made_small.*: a name leads out of the folder: ../above.txt'
sed "s/^[0-9a-f]*  small.h/$(printf '%064d' 1)  bomb.bin/" "$index/manifest" >"$tools/headers/1.0"
fails bomb "$one" good 'what was fetched cannot be unpacked: .*signal'
sed '2s/[0-9]* 1000/many &/' "$index/manifest" >"$tools/headers/1.0"
fails damaged-list "$one" good '^tools/headers/1.0 is damaged: line 2 is neither a wheel nor a checksum$'
cp "$index/manifest" "$tools/headers/1.0"
works after-failures "$one" good '7 files'

# A second time, and over what is not whole.
[ -d "$dir" ] || try "$one" good >/dev/null 2>&1
: >"$index/log"
says again try "$one" good </dev/null
if [ ! -s "$index/log" ]; then pass again-nothing; else fail again-nothing "it fetches something"; fi
says forbidden-and-whole try "$one" good BREAKGRAPH_NO_INSTALL=1 </dev/null
over_what_is_there()
{
    echo >>"$dir/include/small.h"
    expect changed 0 '7 files' try "$one" good
    whole changed-whole
    rm "$dir/include/small.h"
    expect missing 0 '7 files' try "$one" good
    whole missing-whole
    echo changed >>"$dir/include/small.h"
    expect changed-and-failed 1 'cannot find' try "$one" notfound
    if grep -q changed "$dir/include/small.h" && [ "$(ls -A "$work/out")" = headers ]; then pass changed-and-failed-left; else fail changed-and-failed-left "what was there is gone"; fi
    rm -rf "$work/out"

    # What is another's stays, whatever its name.
    mkdir -p "$dir/include"
    echo mine >"$dir/include/small.h"
    expect others 1 'is there, and is not a folder of fetched headers: it stays as it is' try "$one" good
    sentence others-sentence
    if [ "$(cat "$dir/include/small.h")" = mine ] && [ "$(ls -A "$work/out")" = headers ]; then pass others-left; else fail others-left "it is gone"; fi
    rm -rf "$work/out"
    mkdir -p "$dir"
    expect empty-folder 0 '7 files' try "$one" good
    whole empty-folder-whole
    mkdir "$work/dash"
    expect dash 0 '7 files' env -C "$work/dash" PATH="$work/$one" CC=cc PIP_INDEX_URL="$(at good)" "$tools/fetch-headers" 1.0 -x
    if [ "$(ls -A "$work/dash")" = -x ]; then pass dash-name; else fail dash-name "another folder"; fi

    # Two at once.
    rm -rf "$work/out"
    try "$one" good >"$work/log.1" 2>&1 &
    try "$one" good >"$work/log.2" 2>&1
    second=$?
    wait $! && [ $second = 0 ]
    both=$?
    cat "$work/log.1" "$work/log.2" >"$work/log"
    if [ $both = 0 ]; then pass two-at-once; else fail two-at-once "one failed"; fi
    whole two-at-once-whole
}
! deep || over_what_is_there

# A signal ends the script, the downloader, and leaves nothing.
for name in $(sized TERM 'INT TERM'); do
    rm -rf "$work/out"
    : >"$index/log"
    # Bash lets what it starts in the background ignore SIGINT, unless it has a process group of its own.
    set -m
    as=exec
    try "$one" silent >"$work/log" 2>&1 &
    waiting=$!
    as=
    set +m
    until grep -q silent "$index/log"; do kill -0 $waiting 2>/dev/null || break; sleep 0.05; done
    kill -$name $waiting
    wait $waiting 2>/dev/null
    status=$?
    [ $name = INT ] && want=130 || want=143
    if [ $status = $want ]; then pass "signal-$name"; else fail "signal-$name" "exit status $status"; fi
    nothing "signal-$name-leaves-nothing"
    await holds "$index/log" closed
    if grep -q closed "$index/log"; then pass "signal-$name-downloader"; else fail "signal-$name-downloader" "it goes on"; fi
done

# A disk that is too small, wherever it is full; then one that is large enough.
full_disk()
{
    cat >"$work/disks" <<'DISKS'
mkdir -p "$1" && mount -t tmpfs -o size=8k none "$1" || exit 77
for size in 16 48 96 160 224 256 288 320 352 384 448 512 640; do
    mount -o remount,size=${size}k none "$1" || exit 77
    "${@:2}" >"$1.log" 2>&1 && { echo "enough: $size KB"; break; }
    sed "s/^/$size KB: /" "$1.log" | tail -n 1
    grep -Eq '^(cannot compile|cannot write in|cannot make a folder|cannot rename|cannot fetch|what was fetched cannot be unpacked|http.*[^:]: No space left)' "$1.log" || { cat "$1.log"; echo "no sentence"; exit 1; }
    [ -z "$(ls -A "$1")" ] || { ls -AR "$1"; echo "something is left"; exit 1; }
done
mount -o remount,size=64m none "$1" && "${@:2}" && diff -r "$INDEX/include" "$1/headers/include" && echo "in the end whole"
DISKS
    rm -rf "$work/out"
    INDEX=$index PATH="$work/$one:$PATH" CC=cc PIP_INDEX_URL=$(at good) unshare -rm bash "$work/disks" "$work/out" "$tools/fetch-headers" 1.0 "$dir" >"$work/log" 2>&1
    status=$?
    if [ $status = 77 ] || grep -q unshare: "$work/log"; then
        skip full-disk "no namespace of mounts: $(tail -n 1 "$work/log")"
    elif [ $status = 0 ] && [ "$(grep -c ' KB: ' "$work/log")" -ge 5 ]; then
        pass full-disk
    else
        fail full-disk "exit status $status"
    fi
}
! deep || full_disk

mkdir -p "$work/out"
expect no-folder 1 'cannot make a folder in .*: ' env BREAKGRAPH_NO_INSTALL=0 PATH="$work/$one" CC=cc PIP_INDEX_URL="$(at good)" "$tools/fetch-headers" 1.0 /dev/null/x/headers
fails no-compiler "$one" good 'cannot compile tools/zip_parts.c with false' CC=false

# What may be installed and fetched.
: >"$index/log"
fails forbidden "$one" good 'CUDA headers 1.0 are not in .*, and BREAKGRAPH_NO_INSTALL=1 forbids fetching them. Type: env -u BREAKGRAPH_NO_INSTALL tools/fetch-headers 1.0 ' BREAKGRAPH_NO_INSTALL=1
if [ ! -s "$index/log" ]; then pass forbidden-fetches-nothing; else fail forbidden-fetches-nothing "it does"; fi
fails no-downloader none good "curl, wget or python3, and none of them is there. Type: sudo sh -c 'apt-get update && apt-get install -y"
if ! deep; then :
elif [ "$(id -u)" -eq 0 ]; then
    make_path "$work/apt"
    printf '#!/bin/sh\n[ "$1" != install ] || ln -s "%s" "%s"\n' "$(command -v "$one")" "$work/apt/$one" >"$work/apt/apt-get"
    chmod +x "$work/apt/apt-get"
    if [ "$one" = curl ]; then works installs apt good '^apt-get update && apt-get install -y --no-install-recommends curl ca-certificates$'; else skip installs "there is no curl"; fi
    printf '#!/bin/sh\necho "E: no network"; exit 100\n' >"$work/apt/apt-get"
    rm -f "$work/apt/$one"
    rm -rf "$work/out"
    expect install-fails 1 '^E: no network$' try apt good
else
    skip installs "only root installs"
fi

# The index that pip is told to use.
make_path "$work/pip" "$one"
[ "$one" != python3 ] || ln -sf "$python" "$work/pip/python3"
printf '#!/bin/sh\n[ "$*" != "config get global.index-url" ] || echo "%s"\n' "$(at good)" >"$work/pip/pip3"
chmod +x "$work/pip/pip3"
rm -rf "$work/out"
expect pip-index 0 "from the Python index $(at good), with $one" env PATH="$work/pip" CC=cc "$tools/fetch-headers" 1.0 "$dir"

# Wrong words.
expect unknown-version 1 'there is no tools/headers/9.9. usage: fetch-headers VERSION DIR .* VERSION: 1.0$' "$tools/fetch-headers" 9.9 "$dir"
expect usage 1 '^usage: fetch-headers VERSION DIR' "$tools/fetch-headers" 1.0
expect no-version 1 'there is no tools/headers/' "$tools/fetch-headers" '' "$dir"
expect no-folder-named 1 '^usage: fetch-headers VERSION DIR' "$tools/fetch-headers" 1.0 ''

# Sizes and checksums are written as they were made up, but for how many bytes are fetched.
if ! deep; then :
elif command -v curl >/dev/null; then
    says write env PIP_INDEX_URL="$(at good)" "$tools/fetch-headers" --write 1.0 </dev/null
    if diff <(awk '$1 == "wheel" { $4 = "" } { print }' "$index/manifest" | sort) <(awk '$1 == "wheel" { $4 = "" } { print }' "$tools/headers/1.0" | sort) >"$work/log"; then
        pass write-same
    else
        fail write-same "another manifest"
    fi
else
    skip write "there is no curl"
fi

# make without a toolkit: headers, where something is built that needs them.
tree=$work/tree
mkdir "$tree"
cp -r Makefile include src hostcuda kernels debug examples tests tools packaging python mk "$tree"
cp "$index/manifest" "$tree/tools/headers/13.0"
make_path "$work/make" "$one" make mount readlink nproc timeout touch cmp ls
[ "$one" != python3 ] || ln -sf "$python" "$work/make/python3"
cat >"$work/without" <<'WITHOUT'
for toolkit in /usr/local/cuda*/; do
    [ ! -d "$toolkit" ] || mount -t tmpfs none "$(readlink -f "$toolkit")" 2>/dev/null || [ -z "$(ls -A "$toolkit")" ] || exit 77
done
unset CUDA_HOME MAKEFLAGS MFLAGS MAKELEVEL
cd "$1" && shift && exec make BUILD="$PWD/build" CC=cc "$@"
WITHOUT
without() { PATH="$work/$one:$PATH" unshare -rm env PATH="$work/make" PIP_INDEX_URL="${index_url:-$(at good)}" "${settings[@]}" bash "$work/without" "$tree" "$@"; }
settings=()
without help >"$work/log" 2>&1
status=$?
if [ $status = 77 ] || grep -q unshare: "$work/log"; then
    skip make-without-toolkit "no namespace of mounts: $(tail -n 1 "$work/log")"
else
    : >"$index/log"
    needs='no CUDA toolkit .*tools/fetch-headers 13.0 '
    expect make-n 2 "$needs" without -n all
    expect make-lint 2 "$needs" without DEVICE=host tidy
    expect make-clean 0 'rm -rf' without clean
    expect make-cuda 2 'no CUDA toolkit' without DEVICE=cuda all
    expect make-given 2 'no CUDA toolkit .*Looked in CUDA_HOME: /nowhere' without CUDA_HOME=/nowhere DEVICE=host all
    settings=(BREAKGRAPH_NO_INSTALL=1)
    expect make-forbidden 2 'and BREAKGRAPH_NO_INSTALL=1 forbids fetching them' without DEVICE=host all
    settings=()
    expect make-forbidden-variable 2 'and BREAKGRAPH_NO_INSTALL=1 forbids fetching them' without BREAKGRAPH_NO_INSTALL=1 DEVICE=host all
    if [ ! -s "$index/log" ] && [ ! -e "$tree/build/headers" ]; then pass make-fetches-nothing; else cp "$index/log" "$work/log"; fail make-fetches-nothing "something is fetched"; fi
    index_url=$(at noranges)
    expect make-refused 2 "type: HEADERS_WHOLE=1 tools/fetch-headers 13.0 $tree/build/headers/13.0" without DEVICE=host "$tree/build/host/found.device"
    if ! deep; then :
    elif grep -q 'Or fetch its headers' "$work/log"; then fail make-refused-once "it says to fetch what it could not"; else pass make-refused-once; fi
    expect make-whole 0 'CUDA headers 13.0: 7 files, 2[0-9]{7} bytes' without HEADERS_WHOLE=1 DEVICE=host "$tree/build/host/found.device"
    rm -rf "$tree/build"
    index_url=
    expect make-fetches 0 "^✓ CUDA headers 13.0 from the Python index, in $tree/build/headers/13.0" without DEVICE=host "$tree/build/host/found.device"
    if diff -r "$index/include" "$tree/build/headers/13.0/include" >"$work/log"; then pass make-headers; else fail make-headers "others"; fi
    : >"$index/log"
    rm "$tree/build/host/found.device"
    expect make-again 0 '^✓ CUDA headers 13.0' without DEVICE=host "$tree/build/host/found.device"
    deep || exit $bad
    if [ ! -s "$index/log" ]; then pass make-again-fetches-nothing; else fail make-again-fetches-nothing "it does"; fi
    mv "$tree" "$work/it's a tree"
    tree="$work/it's a tree"
    rm -r "$tree/build"
    settings=(BREAKGRAPH_NO_INSTALL=1)
    expect make-odd-folder-says 2 'Type: env -u BREAKGRAPH_NO_INSTALL tools/fetch-headers 13.0 build/headers/13.0' without BUILD=build DEVICE=host all
    settings=()
    expect make-odd-folder 0 '^✓ CUDA headers 13.0 from the Python index, in build/headers/13.0$' without BUILD=build DEVICE=host build/host/found.device
fi
exit $bad
