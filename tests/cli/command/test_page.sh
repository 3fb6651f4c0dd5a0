#!/bin/bash
# The pages of reports, in a real browser: all is drawn, no script fails, nothing is wider than the screen, all text has
# contrast, nothing that a report holds is run.
# needs: tests/cli/command/pages
. "$(dirname "$0")/../lib.sh"
program=$OUT/tests/cli/command/pages
fixtures=$PWD/tests/cli/command/pages
pages='shadow buckets bisect graphs names runner runners fused clean unlooked looked quiet hostile large huge'
painted='shadow fused buckets large huge'

chromium=
for name in chromium chromium-browser google-chrome; do
    [ -n "$chromium" ] || chromium=$(command -v $name)
done
why=
[ -n "$chromium" ] || why="there is no chromium, chromium-browser or google-chrome"
if [ -n "$why" ]; then
    for name in $pages; do for part in written drawn fits; do skip "$name-$part" "$why"; done; done
    for name in $painted; do skip "$name-picture" "$why"; done
    for name in low ordered sorted apart kernels searched scrolled opens keys broken; do skip $name "$why"; done
    exit 0
fi

# browse ARGUMENT... ADDRESS: in a home of its own; 1 is light, 0 is dark.
browse()
{
    HOME=$work timeout 60 "$chromium" --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars \
        --no-first-run --user-data-dir="$work/profile" "$@" 2>>"$work/browser"
}

# dom NAME: what the browser made of the page, in $work/NAME.dom; without its scripts, and so its report, in NAME.drawn.
dom()
{
    browse --virtual-time-budget=5000 --dump-dom "file://$work/$1.html" >"$work/$1.dom"
    sed -E -e 's#<(no)?script#\n&#g' -e 's#</(no)?script>#\n&\n#g' "$work/$1.dom" |
        sed -E -e '/^<(no)?script/,/^<\/(no)?script>/d' >"$work/$1.drawn"
}

# holds NAME TEXT COUNT: how often the text stands in the page as drawn.
holds()
{
    local found
    found=$(grep -oF -e "$2" "$work/$1.drawn" | wc -l)
    [ "$found" -eq "$3" ] || echo "'$2' stands there $found times, not $3"
}

# drawn NAME: the page is whole; reads lines "COUNT TEXT" that it must hold.
drawn()
{
    local count text
    dom "$1"
    : >"$work/log"
    grep -q '<html[^>]* data-ready="true"' "$work/$1.dom" || echo "it is not ready" >>"$work/log"
    ! grep '<html[^>]* data-\(error\|broken\)' "$work/$1.dom" >>"$work/log"
    while read -r count text; do holds "$1" "$text" "$count" >>"$work/log"; done
    if [ -s "$work/log" ]; then fail "$1-drawn" "the page is not what it must be"; else pass "$1-drawn"; fi
}

# What asks the page about itself, from a frame as wide as a narrow screen, which a window cannot be. Contrast is WCAG's,
# of each text against the nearest background behind it.
cat >"$work/probe" <<'HTML'
<script>
const channels = color => color.match(/[\d.]+/g).map(Number);
function light(color) {
    const [r, g, b] = channels(color).map(c => c / 255).map(c => c <= .04045 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b;
}
function behind(element) {
    for (; element; element = element.parentElement) {
        const color = getComputedStyle(element).backgroundColor, [, , , alpha] = channels(color);
        if (alpha === undefined || alpha === 1) return color;
    }
    return "rgb(255, 255, 255)";
}
function faint() {
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
    let texts = 0;
    while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || element.closest("script, noscript")) continue;
        const a = light(getComputedStyle(element).color), b = light(behind(element));
        const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
        texts++;
        if (ratio < 4.5) found.push(walk.currentNode.data.trim().slice(0, 20) + " " + ratio.toFixed(2));
    }
    return [texts, ...found.slice(0, 3)].join("; ");
}
/* Beyond the screen, or cut, and not in a box that scrolls. */
function cut() {
    return [...document.body.querySelectorAll("*")].filter(element => {
        if (element.closest("script, noscript, thead") || element.parentElement.closest(".pass, .box, .list")) return false;
        const hides = ["hidden", "clip"].includes(getComputedStyle(element).overflowX) && element.scrollWidth > element.clientWidth + 1;
        return hides || element.getBoundingClientRect().right > innerWidth + 1;
    }).map(element => element.tagName + "." + element.className).slice(0, 3).join();
}
const wide = document.documentElement.scrollWidth;
parent.postMessage("width " + wide + " of " + innerWidth + (wide <= innerWidth && !cut() ? " fits" : " overflows " + cut()) +
                   (matchMedia("(prefers-color-scheme: dark)").matches ? " dark" : " light") + ", texts " + faint(), "*");
</script>
HTML

# framed NAME WIDTH...: a page with the page in frames of these widths, and what each of them says.
framed()
{
    local name=$1 width
    shift
    cat <<'HTML'
<!DOCTYPE html><meta name="color-scheme" content="light dark"><style>body { margin: 0 } iframe { border: 0; display: block }</style>
<div id="said" style="display: none"></div>
<script>onmessage = event => { said.append(Object.assign(document.createElement("p"), {textContent: event.data})); };</script>
HTML
    for width; do echo "<iframe width=\"$width\" height=\"1600\" src=\"$name\"></iframe>"; done
}

# fits NAME: at both widths, light and dark.
fits()
{
    local width shade scheme=0
    : >"$work/log"
    cat "$work/$1.html" "$work/probe" >"$work/probed.html"
    framed probed.html 400 1200 >"$work/frame.html"
    for shade in dark light; do
        browse --blink-settings=preferredColorScheme=$scheme --virtual-time-budget=5000 --dump-dom "file://$work/frame.html" >"$work/frame.dom"
        for width in 400 1200; do
            grep -Eq "width [0-9]+ of $width fits $shade, texts [1-9][0-9]*<" "$work/frame.dom" ||
                echo "$width, $shade: $(grep -o 'id="said".*</div>' "$work/frame.dom")" >>"$work/log"
        done
        scheme=1
    done
    if [ -s "$work/log" ]; then fail "$1-fits" "text is too wide, or too faint"; else pass "$1-fits"; fi
}

# paint FILE WIDTH SCHEME: a screenshot of $work/frame.html.
paint()
{
    rm -f "$1"
    browse --blink-settings=preferredColorScheme=$3 --virtual-time-budget=5000 --window-size=$2,1600 \
        --screenshot="$1" "file://$work/frame.html" >/dev/null
}

# picture NAME: what is painted is more than an empty screen is, and dark is not light.
picture()
{
    local width scheme blank bytes
    : >"$work/log"
    for width in 400 1200; do
        for scheme in 0 1; do
            if [ ! -e "$work/blank-$width.png" ]; then
                framed about:blank $width >"$work/frame.html"
                paint "$work/blank-$width.png" $width 1
            fi
            framed "$1.html" $width >"$work/frame.html"
            paint "$work/frame-$scheme.png" $width $scheme
            blank=$(stat -c %s "$work/blank-$width.png") bytes=$(stat -c %s "$work/frame-$scheme.png")
            [ "${bytes:-0}" -gt $((${blank:-1000000} + 6000)) ] ||
                echo "$width, $scheme: ${bytes:-no} bytes, ${blank:-no} of an empty screen" >>"$work/log"
        done
        ! cmp -s "$work/frame-0.png" "$work/frame-1.png" || echo "$width: dark is as light" >>"$work/log"
    done
    if [ -s "$work/log" ]; then fail "$1-picture" "the screen is empty"; else pass "$1-picture"; fi
}

# after NAME PAGE PATTERN: with the script that is standard input behind it, the drawn page holds the pattern.
after()
{
    { cat "$work/$2.html"; echo '<script>'; cat; echo '</script>'; } >"$work/$1.html"
    expect "$1" 0 "$3" dom_text "$1"
}
dom_text() { dom "$1" && grep '<html' "$work/$1.dom"; }

cp "$fixtures"/*.json "$work"
"$program" large "$work/large.json" 500 60 || fail large "its report cannot be written"
"$program" large "$work/huge.json" 64000 1000 || fail huge "its report cannot be written"
for name in $pages; do
    expect "$name-written" 0 '^$' sh -c "'$program' page '$work/$name.json' '$work/$name.html' && echo"
done

drawn shadow <<'TEXT'
1 <h1>shadow of llama</h1>
1 3 faults, 1 warning, 1 note
1 First: unstable-pointer at qkv#1 (model.c:48)
5 <section
6 class="segment
4 class="bar eager
1 class="bar break
3 class="bar small
3 class="group marked fault"
1 aria-label="rope#2, model.c:52 · in segment 2 · 2 nodes: 2 × bgk_rope, fault mismatch-origin"
1 class="bar eager marked note
1 class="group marked warning
1 id="finding-5"
0 id="finding-6"
3 <li class="fault" id=
3 <tr class="beyond">
51 <td class="mono">
1 aria-sort="descending"
1 class="number worst" data-name="NaN">0 →
1 class="number worst" data-name="infinite">0 →
10 class="measure"
TEXT
drawn bisect <<'TEXT'
4 <section
12 class="strip"
5 <li class="bad">
6 <li class="good">
1 <li class="skip">
1 rope#2 ▲
1 39 of 40 eager
TEXT
drawn graphs <<'TEXT'
3 class="strip"
1 3 of 4 eager
1 beta#1 ▲
TEXT
# A cause is found by a name that holds what ends names in messages; a long one takes no more room than others.
drawn names <<'TEXT'
2 class="fault below"
TEXT
after low names 'data-seen="true"' <<'HTML'
const high = name => document.querySelector(name).offsetHeight;
document.documentElement.dataset.seen = high(".pass") < 400 && high(".list") < 600 && document.querySelector(".row").offsetHeight < 100;
HTML
drawn runner <<'TEXT'
1 <section
1 above 16
1 700</td>
1 eager: 12 too large, 8 veto
1 24.4 % of the rows are padding
1 <tr class="best"><td class="mono" data-name="sizes">5,16<small>recommended
1 data-name="padding">4.26 %
1 >export BG_RUNNER_SCHEDULE=5,16</code>
9 data-name="tokens">
TEXT
# Runners of several ranks and processes, none of which has replayed.
drawn runners <<'TEXT'
1 <h2>Runner runner#0 of rank 0</h2>
1 <h2>Runner runner#0 of rank 1</h2>
1 <h2>Runner draft of rank 0, process 11</h2>
0 rows are padding
1 Schedules for 6 batches of all ranks
1 schedule of 214 sizes
1 >config.schedule = "16,1024";</code>
TEXT
# A run of calls that one op stands for is one box with its calls. A finding about one of these is there, one about a run
# that is not fused at its first call.
drawn fused <<'TEXT'
1 class="group run"
1 class="group run marked fault"
2 class="text">plus_norm</span>
2 class="text fused">plus#0</span>
1 class="group marked fault"
1 aria-label="plus_norm[layer#1/plus#0, layer#1/norm#0], model.c:31 · one op in place of 2 calls · in segment 0 · 1 node: fused(
2 in plus_norm#1<
1 level 2, 9 nodes before rules
1 2 applied; 2 proofs in 6.6 ms
TEXT
drawn clean <<'TEXT'
1 Nothing found.
0 <section
0 undefined
TEXT
# Green is for what was looked at.
drawn unlooked <<'TEXT'
0 Nothing found.
1 class="verdict skip"
1 Nothing was compared or checked.
2 class="severity skip"
2 not compared
TEXT
drawn looked <<'TEXT'
1 class="verdict good"
1 Nothing found.
1 Looked at: graph 2 graphs; shadow 100 replays.
2 class="severity good"
TEXT
drawn quiet <<'TEXT'
0 Nothing found.
1 class="verdict warning"
1 No finding is left: 3 were lost
1 1 of 2 compared outputs beyond the tolerance
TEXT
drawn hostile <<'TEXT'
6 <section
0 <b>bold
0 <img
2 id="finding-
1 3 more were lost
TEXT
drawn large <<'TEXT'
5 <section
30 id="finding-
20 class="strip"
200 <td class="mono">
1 show 200 more of 300
TEXT
# Two graphs and one without findings, each by itself; what is wrong comes before what follows from it.
drawn buckets <<'TEXT'
3 <section class="graph"
1 id="overview"
1 id="graph-1-findings"
1 id="graph-2-findings"
0 id="graph-3-findings"
6 id="finding-
3 class="fault below"
TEXT
# A pass of 64,000 calls: only what is in view is drawn.
drawn huge <<'TEXT'
1 64,000 op calls
30 id="finding-
200 <td class="mono">
TEXT

# What rules have put into a graph is last in it, and comes first here.
after ordered fused 'data-seen="plus_norm,plus_norm,plus#0,no op,norm#0,plus#0,norm#0"' <<'HTML'
const groups = [...document.querySelectorAll(".group")].sort((a, b) => a.style.gridColumn - b.style.gridColumn);
document.documentElement.dataset.seen = groups.map(group => group.querySelector(".text").textContent).join();
HTML
after sorted shadow 'data-seen="attention#0,gate#2,embed#0,ascending"' <<'HTML'
const heads = [...document.querySelectorAll("#comparisons th")], seen = [];
for (const i of [0, 9, 9]) {
    heads[i].firstChild.click();
    seen.push(document.querySelector("#comparisons td").firstChild.data);
}
document.documentElement.dataset.seen = seen + "," + heads[9].getAttribute("aria-sort");
HTML

# Of each graph its own, and what is wrong before what follows from it.
after apart buckets 'data-seen="graph-1-findings: frozen-value, mismatch-origin, mismatch; graph-2-findings: race, nan-origin, not-repeatable; 3 2 0; 8 8 8"' <<'HTML'
const each = (part, name) => [...document.querySelectorAll(".graph")].map(graph => graph.querySelectorAll(part + name).length).join(" ");
const seen = [...document.querySelectorAll("[id$=findings]")].map(part => part.id + ": " + [...part.querySelectorAll(".kind")].map(kind => kind.textContent).join(", "));
document.documentElement.dataset.seen = [...seen, each("[id$=comparisons] ", "tbody tr"), each("[id$=timings] ", "tbody tr")].join("; ");
HTML

# The kernels of a segment, below it: the name whole, and the time where one was taken.
after kernels buckets 'data-seen="segment 04 nodes, each run alone 10; embed_rows.float., int const., int.embed#0 2; .*flash::Flash_fwd_params.block#0/qkv#0 5.25; call attention#0 6;.*" data-folded="5"' <<'HTML'
const rows = () => [...document.querySelectorAll("#graph-1-timings tbody tr")], root = document.documentElement.dataset;
root.seen = rows().map(row => row.cells[0].textContent + " " + row.cells[2].textContent).join("; ");
rows()[0].querySelector("button").click();
root.folded = rows().length;
HTML

# From the search to the call in the pass, by keys alone.
after searched huge 'data-seen="1 of 64,000; down#7142; down#7142; true"' <<'HTML'
const input = document.querySelector(".search"), rows = () => [...document.querySelectorAll(".list .row .mono")].map(row => row.textContent).join();
const key = key => input.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
input.value = "DOWN#7142";
input.dispatchEvent(new Event("input"));
const seen = [document.querySelector(".find [role=status]").textContent, rows()];
key("ArrowDown");
key("Enter");
seen.push(document.querySelector(".about b").textContent, document.querySelectorAll("*").length < 8000);
document.documentElement.dataset.seen = seen.join("; ");
HTML

# A list that is scrolled to its end, and a pass that is scrolled to its end, show it.
after scrolled huge 'data-seen="up#9142; segment 999"' <<'HTML'
const list = document.querySelector(".list"), pass = document.querySelector(".pass");
list.scrollTop = list.scrollHeight;
list.dispatchEvent(new Event("scroll"));
document.querySelector(".map").dispatchEvent(new MouseEvent("click", {clientX: document.querySelector(".map").getBoundingClientRect().left + document.querySelector(".map").offsetWidth * .98}));
for (let i = 0; i < 500; i++) {
    pass.scrollLeft += 400;
    pass.dispatchEvent(new Event("scroll"));
}
document.documentElement.dataset.seen = [...list.querySelectorAll(".row .mono")].pop().textContent + "; " + [...pass.querySelectorAll(".segment b")].pop().textContent;
HTML

# It opens, and has at most 20 MB. How long that takes, by the browser's clock, is told and not judged.
opens()
{
    local taken bytes
    bytes=$(stat -c %s "$work/huge.html")
    { cat "$work/huge.html"; echo '<script>document.documentElement.dataset.opened = Math.round(performance.now());</script>'; } >"$work/opened.html"
    taken=$(browse --dump-dom "file://$work/opened.html" | sed -n 's/.*<html[^>]* data-opened="\([0-9]*\)".*/\1/p')
    echo "# huge: $bytes bytes, opened after $taken ms"
    if [ -n "$taken" ] && [ "$bytes" -lt 20000000 ]; then pass opens; else fail opens "64,000 calls: $bytes bytes, opened after '$taken' ms"; fi
}
! deep || opens

# From a finding to its call in the pass, and from there to the one before, the last and no further.
after keys shadow 'data-seen="qkv#1,rms_norm#1,segment 0,segment 0,softmax#0; 1"' <<'HTML'
const about = () => document.querySelector(".about b").textContent, seen = [];
document.querySelector("#finding-1 .link").click();
seen.push(about());
for (const key of ["ArrowLeft", "Home", "ArrowLeft", "End"]) {
    document.activeElement.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
    seen.push(about());
}
document.documentElement.dataset.seen = seen + "; " + document.querySelectorAll(".pass [tabindex='0']").length;
HTML

# A section that fails takes no other with it, and is told of.
sed 's/^function draw_pass(g) {/& throw new Error("torn");/' "$work/shadow.html" >"$work/torn.html"
after broken torn 'data-error=.* data-sections="4"' <<'HTML'
document.documentElement.dataset.sections = document.querySelectorAll("section").length;
HTML

for name in $pages; do
    fits $name
done
for name in $painted; do
    picture $name
done
exit $bad
