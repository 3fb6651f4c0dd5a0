#!/bin/bash
# make wheel: its files need glibc alone; installed into a fresh virtual environment, its command finds what is wrong in a program.
# needs-all: wheel-files
. "$(dirname "$0")/../lib.sh"
here_libraries=${LD_LIBRARY_PATH:-} # where this machine may have those that static libraries need
unset PYTHONPATH PYTHONHOME LD_LIBRARY_PATH PKG_CONFIG_PATH "${!PIP_@}"
export PIP_CONFIG_FILE=/dev/null PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH=1700000000

if ! command -v python3 >/dev/null; then
    skip wheel "there is no python3"
    exit 0
fi
if ! run_make -s DEVICE="$DEVICE" wheel WHEEL_DIR="$work/dist" >"$work/log" 2>&1; then
    reason=$(grep -o 'does not find lib.*\.a, to be linked.*' "$work/log")
    [ -n "$reason" ] && skip wheel "the compiler $reason" || fail wheel "make wheel"
    exit $bad
fi
wheel=$(ls "$work"/dist/*.whl)
pass wheel

# The same bytes again, and the time that was asked for.
run_make -s DEVICE="$DEVICE" wheel WHEEL_DIR="$work/again" >"$work/log" 2>&1
if ! cmp "$wheel" "$work"/again/*.whl >>"$work/log" 2>&1; then
    fail wheel-reproducible "two wheels of the same files differ"
elif [ "$(python3 -m zipfile -l "$wheel" | awk 'NR > 1 { print $2, $3 }' | sort -u)" != '2023-11-14 22:13:20' ]; then
    fail wheel-reproducible "SOURCE_DATE_EPOCH is not the time of its files"
else
    pass wheel-reproducible
fi

# Several at once, and one that is interrupted. Bash lets what it starts in the background ignore SIGINT, unless it has a group.
write_wheel() { exec packaging/wheel --version 1 --module python/breakgraph.py --readme README.md --license LICENSE --to "$work/$1" "$OUT/wheel/tree"; }
mkdir "$work/many" "$work/interrupted"
writers=
for _ in 1 2 3; do
    (write_wheel many) >>"$work/log" 2>&1 &
    writers="$writers $!"
done
failed=
for writer in $writers; do wait "$writer" || failed=yes; done
if [ -z "$failed" ] && [ "$(ls "$work/many" | wc -l)" = 1 ] && python3 -m zipfile -t "$work"/many/*.whl >>"$work/log"; then
    pass wheel-many
else
    fail wheel-many "one of three at once failed, or is not whole"
fi
set -m
(write_wheel interrupted) >"$work/log" 2>&1 &
set +m
until [ -n "$(ls "$work/interrupted")" ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -INT $!
wait $! 2>/dev/null
if ! ls "$work/interrupted" | grep -qv '\.whl$'; then pass wheel-interrupted; else ls "$work/interrupted" >"$work/log"; fail wheel-interrupted "something is left"; fi

# RECORD has each file with its hash; the name is that of METADATA and WHEEL.
cat >"$work/record.py" <<'END_OF_PYTHON'
import base64, csv, hashlib, os, sys, zipfile

path = sys.argv[1]
name, version, tag = os.path.basename(path)[: -len(".whl")].split("-", 2)
info = "%s-%s.dist-info/" % (name, version)
archive = zipfile.ZipFile(path)
rows = {row[0]: row[1:] for row in csv.reader(archive.read(info + "RECORD").decode().splitlines())}
assert archive.testzip() is None
assert len(set(archive.namelist())) == len(archive.namelist()) and sorted(rows) == sorted(archive.namelist()), "RECORD lacks a file, or has one more"
for file, (digest, size) in rows.items():
    content = archive.read(file)
    wanted = "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert file == info + "RECORD" or (digest == wanted and int(size) == len(content)), file
metadata, wheel = archive.read(info + "METADATA").decode(), archive.read(info + "WHEEL").decode()
assert "\nName: %s\nVersion: %s\n" % (name, version) in metadata and "\n# breakgraph\n" in metadata
assert "\nTag: %s\n" % tag in wheel and "\nRoot-Is-Purelib: false\n" in wheel
print("%d files" % len(rows))
END_OF_PYTHON
expect wheel-record 0 '^[0-9]+ files$' python3 "$work/record.py" "$wheel"

venv=$work/venv
if ! python3 -m venv "$venv" >"$work/log" 2>&1; then
    skip wheel-venv "python3 makes no virtual environment: $(grep -m 1 . "$work/log")"
    exit $bad
fi
expect wheel-pip 0 '' "$venv/bin/python" -m pip install --no-index --no-deps "$wheel"
[ -x "$venv/bin/breakgraph" ] || exit $bad

# What a file needs is in the wheel, or glibc's.
needed=$(find "$venv/bin/breakgraph" "$venv/lib" -path '*/python3*' -prune -o -type f -print | while read -r file; do
    readelf --dynamic "$file" 2>/dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
done | sort -u | grep -Ev '^(libc\.so\.6|libm\.so\.6|libdl\.so\.2|librt\.so\.1|libpthread\.so\.0|ld-linux-x86-64\.so\.2|ld-linux-aarch64\.so\.1)$')
for library in $needed; do
    case $library in
    libcuda.so.1 | libhostcuda.so.1 | libhostcuda_blas.so | libcjson.so.1) ;; # the first is the shim's SONAME
    *) fail wheel-needs "a file needs $library" ;;
    esac
    [ "$library" = libcuda.so.1 ] || [ -n "$(find "$venv/lib" -name "$library")" ] || fail wheel-needs "$library is not in the wheel"
done
[ $bad -ne 0 ] || pass wheel-needs

version=$(sed -n 's/^VERSION := //p' Makefile)
expect wheel-command 0 "^breakgraph ${version//./\\.} \\($DEVICE\\)$" env -i "$venv/bin/breakgraph" --version
expect wheel-module 0 "^breakgraph ${version//./\\.} \\($DEVICE\\)$" "$venv/bin/python" -m breakgraph --version
expect wheel-import 0 "^False $venv/lib/.*/site-packages/breakgraph.py$" "$venv/bin/python" -c \
    'import breakgraph; print(breakgraph.attached(), breakgraph.__file__)'
ln -s "$venv/bin/breakgraph" "$work/linked" # as pipx does
gpu=$("$BUILD/find_gpu" 2>/dev/null) || gpu=
if [ "$DEVICE" = cuda ] && [ -z "$gpu" ]; then
    expect wheel-doctor 1 '^  GPU +none: ' "$work/linked" doctor
else
    expect wheel-doctor 0 "^✓ --attach +its libraries are in $venv/lib/breakgraph," "$work/linked" doctor
fi

# A program against the wheel's libraries. CUDA's headers are the toolkit's; on a GPU, the runtime, too.
found=$(tools/find_cuda "$DEVICE" "${CUDA_HOME:-}")
cuda=${found%%|*}
runtime="-L${found##*|} -Wl,-rpath,${found##*|} -lcudart"
export PKG_CONFIG_PATH=$venv/lib/pkgconfig
flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -isystem $cuda/include"
[ "$DEVICE" = cuda ] || runtime=$(pkg-config --libs hostcuda)
static=$(pkg-config --static --libs breakgraph | sed 's/-lbreakgraph/-l:libbreakgraph.a/')
# shellcheck disable=SC2046,SC2086
if ! $CC $flags tests/cli/build/consumer.c $(pkg-config --cflags --libs breakgraph) $runtime -o "$work/consumer" 2>"$work/log" ||
    ! $CC $flags tests/cli/build/consumer.c $(pkg-config --cflags breakgraph) $static $runtime -o "$work/static" 2>"$work/log" ||
    ! $CC $flags tests/cli/attach/programs/graphs.c $runtime -o "$work/graphs" 2>"$work/log"; then
    fail wheel-programs "programs do not build with what is in the wheel"
elif [ "$DEVICE" = cuda ] && [ -z "$gpu" ]; then
    expect wheel-library 3 'no GPU: ' "$work/consumer"
    expect wheel-library-static 3 'no GPU: ' env LD_LIBRARY_PATH="$here_libraries" "$work/static"
    skip wheel-check "there is no GPU"
else
    expect wheel-library 0 '2 segments, 1 break: 50 60 70 80' "$work/consumer"
    expect wheel-library-static 0 '2 segments, 1 break: 50 60 70 80' env LD_LIBRARY_PATH="$here_libraries" "$work/static"
    expect wheel-check 1 'fault \[(dangling|freed|reused)\] memcpy#0 .* was freed after the capture' \
        env COLUMNS=10000 "$venv/bin/breakgraph" check --attach -- "$work/graphs" freed
    expect wheel-check-clean 0 '^check replay: 0 findings$' "$venv/bin/breakgraph" check --attach -- "$work/graphs" none
    expect wheel-report 0 '^graph#0: 1 node, launched 2 times' "$work/linked" report --attach -- "$work/graphs" updated
    # Also in a Python that is not that of the environment.
    expect wheel-attached 5 'captures no graph' "$venv/bin/breakgraph" report --attach -- python3 -c 'import breakgraph, ctypes, sys
ctypes.CDLL("libcuda.so.1").cuInit(0)
print(breakgraph.attached(), file=open(sys.argv[1], "w"))' "$work/attached"
    [ "$(cat "$work/attached" 2>"$work/log")" = True ] || fail wheel-attached "breakgraph.attached() is not True there"
fi
exit $bad
