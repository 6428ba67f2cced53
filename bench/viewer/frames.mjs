// frames.mjs FOLDER: what each view of the viewer computes for a frame while somebody works with it, in headless
// Chromium. Of FOLDER: view-10000000.ttrace, view-experts.ttrace, view-values.ttrace (bench/viewer/run makes them). Prints CSV:
// view,what,trace,frames,p50_ms,p95_ms,most_ms,longest_ms,own_p50_ms,own_p95_ms. It takes TT_BIN, and playwright-core from tests/ui.
//
// A frame's figure is the processor time (not the wall time) of all tasks of the page's main thread since the frame before:
// script, style, layout, painting, collecting garbage, and reading what the server answered. What other threads and
// processes do, such as drawing without a GPU, is not in it. longest_ms: the longest single task of all. own_*: of that, the
// view's own work: scripts, with what they collect and lay out, style and layout; not the browser's painting and handing over,
// which without a GPU is most of a frame with large canvases.
//
//   VIEWS="map log" WHAT=play node bench/viewer/frames.mjs FOLDER     these only
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { openBrowser } from '../../tests/ui/browser.mjs';
import { startServer } from '../../tests/ui/server.mjs';
import { Viewer } from '../../tests/ui/viewer.mjs';

const folder = process.argv[2];
const MS = process.env.BENCH_QUICK ? 800 : 2500;
const only = process.env.VIEWS?.split(' ').map((view) => view.replaceAll('_', ' '));
const onlyWhat = process.env.WHAT?.split(' ');
const OURS = new Set(['FunctionCall', 'EvaluateScript', 'FireAnimationFrame', 'TimerFire', 'EventDispatch', 'RunMicrotasks', 'MinorGC', 'MajorGC', 'V8.GC_SCAVENGER', 'Layout', 'UpdateLayoutTree']);
const CATEGORIES = ['devtools.timeline', 'disabled-by-default-devtools.timeline', 'disabled-by-default-devtools.timeline.frame'];

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

async function until(ms, step) {
    const end = Date.now() + ms;
    for (let i = 0; Date.now() < end; i++) await step(i);
}

/** The largest canvas of the view, or else its table or all of it. */
async function stage(v) {
    const boxes = await Promise.all((await v.page.locator('main .canvas-proxy, main .vt').all()).map((each) => each.boundingBox()));
    const shown = boxes.filter((box) => box && box.width > 50 && box.height > 20).sort((a, b) => b.width * b.height - a.width * a.height);
    const box = shown[0] ?? (await v.page.locator('#main').boundingBox());
    const { width, height } = v.page.viewportSize();
    return { x: box.x, y: box.y, width: Math.min(box.width, width - box.x), height: Math.min(box.height, height - box.y) };
}

/** Back and forth over the picture, a row lower each time. */
async function hover(v, box) {
    await until(MS, async (i) => {
        const [across, row] = [i % 60, Math.floor(i / 60)];
        const x = box.x + 4 + ((box.width - 8) * (row % 2 ? 59 - across : across)) / 59;
        await v.page.mouse.move(x, box.y + 30 + ((row * 37) % Math.max(1, box.height - 40)));
        await pause(8);
    });
}

async function wheel(v, box, dx, dy, ctrl = false) {
    await v.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    if (ctrl) await v.page.keyboard.down('Control');
    // In for a half of the time, and out again.
    await until(MS, async (i) => {
        const sign = i % 80 < 40 ? 1 : -1;
        await v.page.mouse.wheel(dx * sign, dy * sign);
        await pause(8);
    });
    if (ctrl) await v.page.keyboard.up('Control');
}

async function held(v, keys) {
    for (const key of keys) {
        // As a keyboard repeats it.
        await until(MS / keys.length, async () => {
            await v.page.keyboard.down(key);
            await pause(25);
        });
        await v.page.keyboard.up(key);
    }
}

async function drag(v, box) {
    const y = box.y + box.height / 2;
    await v.page.mouse.move(box.x + box.width / 2, y);
    await v.page.mouse.down();
    await until(MS, async (i) => {
        await v.page.mouse.move(box.x + box.width * (0.5 + 0.4 * Math.sin(i / 15)), y + 20 * Math.sin(i / 7));
        await pause(8);
    });
    await v.page.mouse.up();
}

async function film(v) {
    await v.page.keyboard.press('Space');
    await pause(MS);
    await v.page.keyboard.press('Space');
}

const HOVER = ['hover', hover];
const SCROLL = ['scroll', (v, box) => wheel(v, box, 0, 120)];
const ZOOM = ['zoom', (v, box) => wheel(v, box, 0, -60, true)];
const KEYS = ['pan and zoom by keys', (v) => held(v, ['KeyW', 'KeyD', 'KeyA', 'KeyS'])];
const DRAG = ['drag', drag];
const ROWS = [
    'rows by keys',
    async (v) => {
        await v.page.locator('main .vt').first().focus();
        await held(v, ['ArrowDown', 'PageDown', 'PageUp']);
    },
];
const PLAY = ['play, 64 tokens/s', film, '&speed=16'];
const INSIDE = ['play, inside a token', film, '&speed=t1e-2'];

const BIG = 'view-10000000';
const EXPERTS = 'view-experts';
const VALUES = 'view-values';
/** View, traces, address, what is done in it. */
const PLAN = [
    ['overview', [BIG], 'view=overview', [HOVER, SCROLL, PLAY]],
    ['map', [EXPERTS], 'view=memory', [HOVER, ZOOM, DRAG, KEYS, SCROLL, PLAY, INSIDE]],
    ['path', [BIG], 'view=memory&memory_as=path', [HOVER, ZOOM, KEYS, PLAY]],
    ['tokens', [BIG], 'view=memory&memory_as=tokens', [HOVER, SCROLL, KEYS, PLAY]],
    ['timeline', [BIG], 'view=timeline', [HOVER, ZOOM, DRAG, KEYS, PLAY, INSIDE]],
    ['graph', [EXPERTS], 'view=graph&graph.open=0.1.2.3', [HOVER, ZOOM, DRAG, KEYS, PLAY, INSIDE]],
    ['log', [BIG], 'view=log', [HOVER, SCROLL, ROWS, PLAY, INSIDE]],
    ['stats', [BIG], 'view=stats&stats_by=tensor', [HOVER, SCROLL, ROWS, PLAY]],
    ['one op', [BIG], 'view=stats&stats_show=op&tensor=blk.1.ffn_down.weight', [HOVER, PLAY]],
    ['flame', [BIG], 'view=stats&stats_show=flame&flame=merged', [HOVER, PLAY]],
    ['experts', [EXPERTS], 'view=experts', [HOVER, SCROLL, PLAY]],
    ['experts to keep', [EXPERTS], 'view=experts&experts_show=keep', [HOVER, SCROLL, PLAY]],
    ['buffers', [BIG], 'view=buffers', [HOVER, ZOOM, KEYS, PLAY]],
    ['values', [VALUES], 'view=values', [HOVER, SCROLL, PLAY]],
    ['diff', [BIG, EXPERTS], 'view=diff', [HOVER, SCROLL, PLAY]],
    ['panes', [EXPERTS], 'panes=memory,graph,timeline&view=memory', [HOVER, PLAY, INSIDE]],
];

/** Records what the browser's threads do while `body` runs. */
async function traced(cdp, body) {
    const events = [];
    const take = (data) => events.push(...data.value);
    cdp.on('Tracing.dataCollected', take);
    await cdp.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories: CATEGORIES } });
    await body();
    const complete = new Promise((resolve) => cdp.once('Tracing.tracingComplete', resolve));
    await cdp.send('Tracing.end');
    await complete;
    cdp.off('Tracing.dataCollected', take);
    return events;
}

/** ms of the main thread's processor time: by frame, and by task. */
function framesOf(events) {
    const main = events.find((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain');
    const own = events.filter((e) => e.pid === main?.pid && e.tid === main?.tid);
    const tasks = own.filter((e) => e.name === 'RunTask' && e.tdur !== undefined).sort((a, b) => a.ts - b.ts);
    const begins = own.filter((e) => e.name === 'BeginMainThreadFrame').map((e) => e.ts).sort((a, b) => a - b);
    const ours = outermost(own.filter((e) => OURS.has(e.name) && e.ph === 'X' && e.tdur !== undefined));
    const [frames, pages] = [[], []];
    let [sum, page, at, next] = [0, 0, 0, 0];
    for (const task of tasks) {
        sum += task.tdur / 1000;
        for (; next < ours.length && ours[next].ts < task.ts + task.dur; next++) page += ours[next].tdur / 1000;
        if (!(begins[at] <= task.ts + task.dur)) continue;
        while (begins[at] <= task.ts + task.dur) at++;
        frames.push(sum);
        pages.push(page);
        sum = page = 0;
    }
    return { frames, pages, tasks: tasks.map((t) => t.tdur / 1000) };
}

/** Of what lies within something else, the whole. */
function outermost(events) {
    let end = -Infinity;
    return events.sort((a, b) => a.ts - b.ts || b.dur - a.dur).filter((e) => {
        if (e.ts < end) return false;
        end = e.ts + e.dur;
        return true;
    });
}

function quantile(values, q) {
    const sorted = [...values].sort((a, b) => a - b);
    return (sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0).toFixed(1);
}

function say(view, what, traces, { frames, pages, tasks }) {
    const at = (q) => quantile(frames, q);
    console.log([view, what, traces.join('+'), frames.length, at(0.5), at(0.95), at(1), Math.max(0, ...tasks).toFixed(1), quantile(pages, 0.5), quantile(pages, 0.95)].map((cell) => (`${cell}`.includes(',') ? `"${cell}"` : cell)).join());
}

const browser = await openBrowser();
console.log('view,what,trace,frames,p50_ms,p95_ms,most_ms,longest_ms,own_p50_ms,own_p95_ms');
try {
    for (const [view, names, fragment, all] of PLAN) {
        if ((only && !only.includes(view)) || !names.every((name) => existsSync(join(folder, `${name}.ttrace`)))) continue;
        const server = await startServer(names.map((name) => join(folder, `${name}.ttrace`)));
        for (const [what, act, more = ''] of all) {
            if (onlyWhat && !onlyWhat.includes(what.split(',')[0])) continue;
            // What is played begins at a token, else at the run as a whole.
            const v = await Viewer.open(browser, server, { fragment: fragment + more + (more ? '&token=20' : '') });
            await v.rest('main').catch((error) => console.error(`${view}: ${error.message}`));
            const box = await stage(v);
            const cdp = await v.context.newCDPSession(v.page);
            say(view, what, names.map((name) => basename(name)), framesOf(await traced(cdp, () => act(v, box))));
            await v.close();
        }
        await server.stop();
    }
} finally {
    await browser.close();
}
