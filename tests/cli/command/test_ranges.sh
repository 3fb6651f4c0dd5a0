#!/bin/bash
# BG_NVTX: the ranges that a profiler sees, by one that NVTX loads.
# needs: tests/cli/command/ranges nvtx-recorder
. "$(dirname "$0")/../lib.sh"
unset NVTX_INJECTION64_PATH
program=$OUT/tests/cli/command/ranges
recorder=$(realpath -m "$OUT/tests/cli/command/nvtx_recorder.so")

why=
[ -e "$recorder" ] || why="the CUDA toolkit has no nvtx3/nvToolsExt.h"
[ "$DEVICE" = host ] || "$BUILD/find_gpu" >/dev/null 2>&1 || why="there is no GPU"
if [ -n "$why" ]; then
    for name in attached asked sync forward fails fails-later off no-profiler bad-value; do skip $name "$why"; done
    exit 0
fi

# ranges NAME STATUS VARIABLE... -- ARGUMENT...: what the profiler was told is this script's standard input.
ranges()
{
    local name=$1 want=$2 status variables=()
    shift 2
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    shift
    cat >"$work/expected"
    rm -f "$work/record"
    env NVTX_INJECTION64_PATH="$recorder" RECORD="$work/record" ${variables[@]+"${variables[@]}"} "$program" "$@" >"$work/log" 2>&1
    status=$?
    if [ $status -ne "$want" ]; then
        fail "$name" "exit status $status, expected $want"
    elif ! diff "$work/expected" "$work/record" >>"$work/log" 2>&1; then
        fail "$name" "the ranges differ"
    else
        pass "$name"
    fi
}

# Segments begin and end inside ops, so that they are no part of the nesting at capture.
capture='domain breakgraph
begin capture of segment 0 of pass
layer#0 {
  layer#0/norm#0 {
  }
  break 0 of pass {
    end capture of segment 0 of pass
    layer#0/attention#0 {
      layer#0/attention#0/norm#0 {
      }
    }
    begin capture of segment 1 of pass
  }
  layer#0/norm#1 {
  }
}
break 1 of pass {
  end capture of segment 1 of pass
  begin capture of segment 2 of pass
}
norm#0 {
}
break 2 of pass {
  end capture of segment 2 of pass
  sample#0 {
  }'
replay='segment 0 of pass {
}
break 0 of pass {
  layer#0/attention#0 {
    layer#0/attention#0/norm#0 {
    }
  }
}
segment 1 of pass {
}
segment 2 of pass {
}
break 2 of pass {
  sample#0 {
  }
}'
whole="$capture
  begin capture of segment 3 of pass
}
end capture of segment 3 of pass
$replay"
copy='write-back of sample#0 {
}
0 open'
ranges attached 0 -- <<<"$whole
$copy"
ranges asked 0 BG_NVTX=1 -- <<<"$whole
$copy"
ranges fails-later 1 -- fail-later <<<"$whole
0 open"
# What follows the failure falls into a segment that is thrown away.
ranges fails 1 -- fail <<<"$capture
}
begin capture of segment 3 of pass
end capture of segment 3 of pass
0 open"
# The capture is as above.
ranges sync 0 BG_DEBUG=sync -- <<<"${whole%%segment 0 of pass \{*}segment 0 of pass {
}
wait after segment 0 of pass {
}
break 0 of pass {
  layer#0/attention#0 {
    layer#0/attention#0/norm#0 {
    }
  }
}
wait after layer#0/attention#0 {
}
segment 1 of pass {
}
wait after segment 1 of pass {
}
segment 2 of pass {
}
wait after segment 2 of pass {
}
break 2 of pass {
  sample#0 {
  }
}
wait after sample#0 {
}
write-back of sample#0 {
}
0 open"
ranges forward 0 BG_DEBUG=forward -- <<'TEXT'
domain breakgraph
break 0 of pass {
  layer#0 {
    layer#0/norm#0 {
    }
    layer#0/attention#0 {
      layer#0/attention#0/norm#0 {
      }
    }
    layer#0/norm#1 {
    }
  }
  norm#0 {
  }
  sample#0 {
  }
}
the forward pass of pass {
  layer#0 {
    layer#0/norm#0 {
    }
    layer#0/attention#0 {
      layer#0/attention#0/norm#0 {
      }
    }
    layer#0/norm#1 {
    }
  }
  norm#0 {
  }
  sample#0 {
  }
}
0 open
TEXT

# Off, the profiler's library is not even loaded.
rm -f "$work/record"
expect off 0 '^$' env NVTX_INJECTION64_PATH="$recorder" RECORD="$work/record" BG_NVTX=0 sh -c "'$program'; status=\$?; echo; exit \$status"
[ ! -e "$work/record" ] || fail off "the profiler was told something"
expect no-profiler 0 '^$' env BG_NVTX=1 sh -c "'$program'; status=\$?; echo; exit \$status"
expect bad-value 1 'BG_ERROR_INVALID_ARGUMENT: .*BG_NVTX is "yes"; allowed are 0, 1' env BG_NVTX=yes "$program"
exit $bad
