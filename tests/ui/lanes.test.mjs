// The lanes of the timeline: time off CPU, two tokens under each other, the height they use.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { nanoseconds, suite, trace } from './harness.mjs';

const { test } = suite();
const sum = (list) => list.reduce((a, b) => a + b, 0);

/** What the command prints as JSON. */
function said(...args) {
    return JSON.parse(execFileSync(process.env.TT_BIN, [...args, '--json'], { maxBuffer: 1 << 26 }));
}

/** A reply in columns, with its header. */
function columns(v, path) {
    return v.page.evaluate(async (at) => {
        const data = await (await fetch(`/api/v1/traces/0/${at}`)).arrayBuffer();
        const length = new DataView(data).getUint32(0, true);
        const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
        const types = { u32: Uint32Array, f64: Float64Array };
        const all = header.columns.map((c) => [c.name, Array.from(new types[c.type](data, 4 + length + c.offset_bytes, c.n))]);
        return { header, ...Object.fromEntries(all) };
    }, path);
}

async function timeline(open, name, fragment = '', options = {}) {
    const v = await open([name], { fragment: `view=timeline${fragment && `&${fragment}`}`, ...options });
    await drawn(v);
    return v;
}

async function drawn(v) {
    // Its ops per pixel may follow.
    await v.page.locator('.tl-title', { hasText: /^thread 0/ }).first().waitFor();
    await v.until(async () => (await v.page.locator('.timeline .equivalent caption').count()) > 0, 'the table is there');
    await v.until(() => v.page.evaluate(() => !document.querySelector('.tl-waiting')), 'all pictures have come');
    await v.rest();
}

const canvasBox = (v) => v.page.locator('.timeline .canvas-proxy').boundingBox();

/** Where a row is on the page, by the whole of its title. */
async function rowBox(v, title) {
    return v.page.locator('.tl-name', { has: v.page.locator('.tl-title', { hasText: new RegExp(`^${title}(\\d[\\d,]* ops per pixel)?$`) }) }).boundingBox();
}

/** How many pixels of a part of the canvas of rectangles have that colour, or nearly. */
function inkAt(v, { x, y, width, height }, [r, g, b]) {
    return v.page.evaluate(({ left, top, wide, high, want }) => {
        const canvas = document.querySelector('.timeline .canvas-proxy canvas');
        const box = canvas.getBoundingClientRect();
        const ratio = canvas.width / box.width;
        const copy = new OffscreenCanvas(Math.ceil(wide * ratio), Math.ceil(high * ratio)).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, -(left - box.left) * ratio, -(top - box.top) * ratio);
        const { data } = copy.getImageData(0, 0, copy.canvas.width, copy.canvas.height);
        let n = 0;
        for (let i = 0; i < data.length; i += 4)
            n += data[i + 3] > 200 && want.every((c, k) => Math.abs(data[i + k] - c) < 12);
        return n / ratio / ratio;
    }, { left: x, top: y, wide: width, high: height, want: [r, g, b] });
}

const OFF_CPU = [240, 228, 66];
/** Of a recorder that did not record time off CPU. */
const WITHOUT = fileURLToPath(new URL('../golden/good-plain.ttrace', import.meta.url));

test('time off CPU: all of it is served, single or merged, as `stats` sums it', async ({ open }) => {
    for (const name of ['moe', 'boost']) {
        const v = await open([name], { fragment: 'view=timeline' });
        const { total } = said('stats', '--by', 'thread', trace(name));
        assert.ok(total.off_cpu_ns > 0, 'there was some');
        const single = await columns(v, 'timeline/off_cpu?limit=65536');
        assert.equal(single.header.observed, true);
        assert.equal(single.header.n, single.track.length);
        // Each is rounded to a tick.
        assert.ok(Math.abs(sum(single.off_cpu_ns) - total.off_cpu_ns) < 1e-6 * total.off_cpu_ns + 10 * single.track.length, `${name}: ${sum(single.off_cpu_ns)}, ${total.off_cpu_ns}`);
        const merged = await columns(v, 'timeline/off_cpu?limit=0&buckets=333');
        assert.equal(merged.track.length, 0);
        assert.ok(Math.abs(sum(merged.merged_off_cpu_ns) - total.off_cpu_ns) < 1e-6 * total.off_cpu_ns + 10 * single.track.length);
        const { rows } = said('stats', '--by', 'thread', trace(name));
        for (const row of rows) {
            const of = (tracks, values) => sum(values.filter((_, i) => tracks[i] === row.thread_id));
            assert.ok(Math.abs(of(single.track, single.off_cpu_ns) - row.off_cpu_ns) < 1e-6 * row.off_cpu_ns + 10 * single.track.length, `${name}: thread ${row.thread_id}`);
        }
    }
});

for (const renderer of ['webgl', 'canvas'])
    test(`an op off CPU is marked, its tooltip and its row of the table say how long (${renderer})`, async ({ open }) => {
        const v = await timeline(open, 'moe', renderer === 'canvas' ? 'renderer=canvas' : '');
        const off = await columns(v, 'timeline/off_cpu?limit=65536');
        const { start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
        const took = (i) => off.end_relative_ns[i] - off.start_relative_ns[i];
        // In the middle of the window: not at an end of the run.
        const all = off.track.map((_, i) => i).filter((i) => off.start_relative_ns[i] - took(i) > start_relative_ns && off.end_relative_ns[i] + took(i) < end_relative_ns);
        // The higher the band the less its edges matter, and the longer the op the less its ends.
        const shareAt = (i) => off.off_cpu_ns[i] / took(i);
        const highest = all.filter((i) => shareAt(i) > 0.8 * Math.max(...all.map(shareAt)));
        const at = highest.reduce((a, b) => (took(b) > took(a) ? b : a));
        await v.show(`view=timeline&renderer=${renderer === 'canvas' ? 'canvas' : 'auto'}&window=${Math.round(off.start_relative_ns[at] - took(at))}~${Math.round(off.end_relative_ns[at] + took(at))}`);
        await drawn(v);
        const [lane, box] = [await rowBox(v, `thread ${off.track[at]}`), await canvasBox(v)];
        const third = box.width / 3;
        const share = off.off_cpu_ns[at] / took(at);
        const high = Math.max(3, share * Math.min(14, lane.height / 4));
        const band = { x: box.x + third + 8, y: lane.y + lane.height - high, width: third - 16, height: high };
        // Hatched: half of it, less where its edge is between two pixels.
        await v.until(async () => (await inkAt(v, band, OFF_CPU)) > 0.25 * band.width * band.height, 'the band is drawn, as high as its share');
        assert.equal(await inkAt(v, { ...band, y: lane.y, height: lane.height - high - 3 }, OFF_CPU), 0, 'nothing above it');
        await v.page.locator('.tl-legend').getByText('off CPU', { exact: true }).waitFor();

        const { lanes } = await v.api(`traces/0/op?run=${off.run[at]}&node=${off.node[at]}`);
        const { off_cpu_ns, busy_ns } = lanes.find((l) => l.track === off.track[at]);
        assert.ok(Math.abs(off_cpu_ns - off.off_cpu_ns[at]) < 1);
        await v.page.mouse.move(box.x + box.width / 2, lane.y + lane.height / 2);
        const words = /off CPU: ([\d.]+) (ns|us|ms) of its busy time \(([\d.]+) %\)/;
        await v.until(async () => words.test(await v.page.locator('.tooltip').textContent()), 'the tooltip says it');
        const [, value, unit, percent] = words.exec(await v.page.locator('.tooltip').textContent());
        const shown_ns = nanoseconds(`${value} ${unit}`);
        assert.ok(Math.abs(shown_ns - off_cpu_ns) < 0.01 * off_cpu_ns, `${value} ${unit}: ${off_cpu_ns}`);
        assert.ok(Math.abs(Number(percent) - (100 * off_cpu_ns) / busy_ns) < 1, `${percent} %`);

        // The table has the first so many ops in sight: within the op there are few.
        await v.show(`view=timeline&renderer=${renderer === 'canvas' ? 'canvas' : 'auto'}&window=${Math.round(off.start_relative_ns[at] + took(at) / 4)}~${Math.round(off.end_relative_ns[at] - took(at) / 4)}`);
        await drawn(v);
        await v.page.locator('.timeline .equivalent summary').click();
        const table = v.page.locator('.timeline .equivalent table').first();
        const heads = await table.locator('thead th').allTextContents();
        const column = heads.indexOf('of busy, off CPU');
        assert.ok(column > 0, `${heads}`);
        const cells = () => table.locator('tbody tr').evaluateAll((rows, k) => rows.map((row) => row.children[k].textContent), column);
        await v.until(async () => (await cells()).includes(`${value} ${unit}`), `${value} ${unit} is in the table`);
    });

test('where time off CPU was not recorded, the timeline says with which option it is, and asks for nothing', async ({ open }) => {
    const asked = [];
    const v = await open([WITHOUT], { fragment: 'view=timeline' });
    v.page.on('request', (request) => asked.push(request.url()));
    await v.page.reload();
    await v.ready();
    await drawn(v);
    const { off_cpu_recorded, off_cpu_option } = await v.api('traces/0/summary');
    assert.equal(off_cpu_recorded, false);
    assert.equal(off_cpu_option, '--faults=both');
    const sign = v.page.locator('.tl-legend').getByText('off CPU: not recorded', { exact: true });
    assert.match(await sign.getAttribute('title'), /not recorded: run with --faults=both/);
    const table = v.page.locator('.timeline .equivalent table').first();
    assert.match(await table.locator('caption').textContent(), /Time off CPU: not recorded: run with --faults=both\./);
    assert.ok(!(await table.locator('thead th').allTextContents()).includes('of busy, off CPU'));
    assert.ok(!asked.some((url) => url.includes('off_cpu')), 'nothing is asked for');
    assert.equal((await columns(v, 'timeline/off_cpu')).header.observed, false);
    // It takes no row.
    assert.ok(!(await v.page.locator('.tl-title').allTextContents()).some((title) => /off CPU/.test(title)));
    // Whoever records has it.
    const moe = await open(['moe'], { fragment: 'view=timeline' });
    const s = await moe.api('traces/0/summary');
    assert.deepEqual([s.off_cpu_recorded, s.off_cpu_option], [true, null]);
});

/** The op of a token that a thread worked longest on, ns. */
async function longestOp(v, batch, thread) {
    const { ops, run } = await v.api(`traces/0/log/rows?batch=${batch}&thread=${thread}&n=1000`);
    const at = ops.reduce((best, op, i) => (op.busy_ns > ops[best].busy_ns ? i : best), 0);
    return { run: run[at], node: ops[at].node, name: ops[at].name, begin: ops[at].start_relative_ns, busy: ops[at].busy_ns };
}

/** How much of a part of the canvas of rectangles is painted. */
async function paintedIn(v, { x, y, width, height }) {
    return v.page.evaluate(({ left, top, wide, high }) => {
        const canvas = document.querySelector('.timeline .canvas-proxy canvas');
        const box = canvas.getBoundingClientRect();
        const ratio = canvas.width / box.width;
        const copy = new OffscreenCanvas(Math.max(1, Math.floor(wide * ratio)), Math.floor(high * ratio)).getContext('2d', { willReadFrequently: true });
        copy.drawImage(canvas, -(left - box.left) * ratio, -(top - box.top) * ratio);
        const { data } = copy.getImageData(0, 0, copy.canvas.width, copy.canvas.height);
        let n = 0;
        for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
        return n;
    }, { left: x, top: y, wide: width, high: height });
}

/** Two generated tokens, the second the longer one, around whose first there is room for three times the second: none is at an end
 * of the run. */
function pairOf({ batches, start_relative_ns, end_relative_ns }) {
    const took = (i) => batches.end_relative_ns[i] - batches.start_relative_ns[i];
    const generated = batches.batch_id.map((_, i) => i).filter((i) => batches.phase[i] === 'generate').sort((a, b) => took(a) - took(b));
    for (const second of generated)
        for (const first of generated)
            if (took(first) < took(second) && batches.start_relative_ns[first] - 1.1 * took(second) > start_relative_ns && batches.start_relative_ns[first] + 2.2 * took(second) < end_relative_ns) return [first, second].map((i) => batches.batch_id[i]);
    assert.fail('no two tokens have room');
}

for (const renderer of ['webgl', 'canvas'])
    test(`two tokens: the second has a strip below the first, from the same begin on, on the same scale (${renderer})`, async ({ open }) => {
        const with_ = `renderer=${renderer === 'canvas' ? 'canvas' : 'auto'}`;
        const v = await timeline(open, 'moe', with_);
        const summary = await v.api('traces/0/summary');
        const { batches } = summary;
        const [one, other] = pairOf(summary);
        const both = [one, other].map((token) => batches.batch_id.indexOf(token));
        const begin = both.map((i) => batches.start_relative_ns[i]);
        const end = both.map((i) => batches.end_relative_ns[i]);
        const took = Math.max(end[0] - begin[0], end[1] - begin[1]);
        const [from, to] = [Math.round(begin[0] - took), Math.round(begin[0] + 2 * took)];
        const place = `view=timeline&${with_}&token=${one}&window=${from}~${to}`;
        await v.show(place);
        await drawn(v);
        assert.equal(await v.page.locator('.tl-name', { hasText: `${other}: thread` }).count(), 0);
        await v.show(`${place}&token2=${other}`);
        await v.page.locator('.tl-gutter').getByText(new RegExp(`^${other}: thread 0`)).waitFor();
        await drawn(v);
        const { n_lanes } = await v.api('traces/0/summary');
        const box = await canvasBox(v);
        const x = (ns) => box.x + ((ns - from) / (to - from)) * box.width;
        const shift = begin[0] - begin[1];
        for (let thread = 0; thread < n_lanes; thread++) {
            const row = await rowBox(v, `${other}: thread ${thread}`);
            const under = await rowBox(v, `thread ${thread}`);
            assert.ok(row.y > under.y, 'it is below');
            // Of the tokens beside it nothing.
            const part = (a, b) => ({ x: a, y: row.y + 1, width: b - a, height: row.height - 2 });
            assert.equal(await paintedIn(v, part(box.x, x(begin[0]) - 2)), 0, 'nothing before it');
            assert.equal(await paintedIn(v, part(x(begin[0] + end[1] - begin[1]) + 3, box.x + box.width)), 0, 'nothing behind it');
            const op = await longestOp(v, other, thread);
            const middle = x(op.begin + op.busy / 2 + shift);
            assert.ok((await paintedIn(v, part(middle - 1, middle + 1))) > 0, 'its ops are drawn');
        }
        const op = await longestOp(v, other, 0);
        const row = await rowBox(v, `${other}: thread 0`);
        await v.show(`view=timeline&${with_}&token=${one}&token2=${other}&window=${Math.round(op.begin + shift - 2 * op.busy)}~${Math.round(op.begin + shift + 3 * op.busy)}`);
        await drawn(v);
        // It takes the third fifth of the window.
        await v.page.mouse.move(box.x + box.width / 2, row.y + row.height / 2);
        await v.until(async () => {
            const words = (await v.page.locator('.tooltip').textContent()) ?? '';
            return words.includes(op.name) && words.includes(`token ${other}`) && words.includes(`${other}: thread 0`);
        }, 'the tooltip is that op\'s');
        await v.page.mouse.click(box.x + box.width / 2, row.y + row.height / 2);
        await v.untilFragment('op', `${op.run}.${op.node}`);
        assert.equal(v.fragment().get('token'), String(one));
        assert.equal(v.fragment().get('token2'), String(other));
    });

test('two tokens: the address restores the strip, F fits both, the table and the picture have it', async ({ open }) => {
    const v = await timeline(open, 'moe');
    const summary = await v.api('traces/0/summary');
    const { batches } = summary;
    const at = (t) => batches.batch_id.indexOf(t);
    const took = (t) => batches.end_relative_ns[at(t)] - batches.start_relative_ns[at(t)];
    const [first, second] = pairOf(summary);
    await v.show(`view=timeline&token=${first}&token2=${second}`);
    const strip = v.page.locator('.tl-gutter').getByText(new RegExp(`^${second}: thread 0`));
    await strip.waitFor();
    await v.page.reload();
    await v.ready();
    await strip.waitFor();
    await v.press('KeyF');
    const begin = batches.start_relative_ns[at(first)];
    await v.until(() => {
        const [from, to] = (v.fragment().get('window') ?? '0~0').split('~').map(Number);
        return from <= begin && to >= begin + took(second) && to - from < 1.5 * took(second);
    }, 'both are in sight');
    await drawn(v);
    await v.page.locator('.timeline .equivalent summary').click();
    const captions = v.page.locator('.timeline .equivalent caption');
    await v.until(async () => (await captions.allTextContents()).some((text) => text.startsWith(`Token ${second}, under token ${first}: `)), 'it has a table');
    const { rows } = await v.api(`traces/0/log/count?batch=${second}&lanes=1`);
    const [, single, merged] = /: ([\d,]+) ops? of .* ([\d,]+) ops? are merged/.exec((await captions.allTextContents()).find((text) => text.startsWith(`Token ${second},`))).map((text) => Number(text.replace(',', '')));
    assert.equal(single + merged, rows, 'each op of the token is in it');
    const svg = (await v.shared('SVG')).data.toString();
    assert.ok(svg.includes(`>${second}: thread 0<`));
    await v.press('KeyH');
    await v.until(async () => (await v.page.locator('.tl-name', { hasText: `${second}: thread` }).count()) === 0, 'no longer compared, no strip');
});

for (const [name, threads] of [['again', 1], ['moe', 2]])
    test(`no part of the canvas is left empty, with ${threads} ${threads === 1 ? 'thread' : 'threads'} either`, async ({ open }) => {
        const v = await timeline(open, name);
        const rows = () => v.page.locator('.tl-name').evaluateAll((all) => all.map((e) => e.getBoundingClientRect()).map(({ top, bottom, height }) => ({ top, bottom, height })));
        for (const [width, height] of [[1440, 900], [1024, 700], [1920, 1080]]) {
            await v.page.setViewportSize({ width, height });
            await v.until(async () => {
                const box = await canvasBox(v);
                const left = box.y + box.height - Math.max(...(await rows()).map((r) => r.bottom));
                return left >= 0 && left < 30;
            }, `at ${width}x${height} the rows end where the canvas does`);
            const lane = await rowBox(v, 'thread 0');
            const others = (await rows()).map((r) => r.height);
            assert.equal(lane.height, Math.max(...others), 'none is higher than a lane');
        }
        // What is drawn is as high as the row.
        await v.page.setViewportSize({ width: 1440, height: 900 });
        await drawn(v);
        const [lane, box] = [await rowBox(v, 'thread 0'), await canvasBox(v)];
        const strip = (top) => ({ x: box.x, y: top, width: box.width, height: 6 });
        await v.until(async () => (await paintedIn(v, strip(lane.y + 2))) > 50 && (await paintedIn(v, strip(lane.y + lane.height - 8))) > 50, 'ops reach from its top to its bottom');
        assert.equal(await paintedIn(v, { ...strip(lane.y + lane.height + 1), height: 1 }), 0, 'and not beyond');
    });

test('the mark above the bar of a slow token is explained: at the bar, in the legend, for screen readers', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=timeline' });
    const { batches } = await v.api('traces/0/summary');
    const took = batches.end_relative_ns.map((end, i) => end - batches.start_relative_ns[i]);
    const generated = took.filter((_, i) => batches.phase[i] === 'generate').sort((a, b) => a - b);
    // The height of the bars: a quarter more than the 95th percentile, no more than the longest.
    const full = Math.min(1.25 * generated[Math.floor((generated.length - 1) * 0.95)], generated.at(-1));
    const cut = took.map((ns, i) => (ns > full ? i : -1)).filter((i) => i >= 0);
    assert.ok(cut.length < took.length);
    const slider = v.page.getByRole('slider', { name: 'Token', exact: true });
    const box = await slider.boundingBox();
    const pitch = Math.min(110, box.width / batches.batch_id.length);
    const mark = await v.page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue('--mark').trim());
    const want = [1, 3, 5].map((i) => parseInt(mark.slice(i, i + 2), 16));
    // Which bars have the mark, by their pixels.
    const marked = await v.page.evaluate(({ n, step, colour }) => {
        const canvas = document.querySelector('.strip canvas');
        const ratio = canvas.width / canvas.clientWidth;
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, Math.round(4 * ratio));
        return Array.from({ length: n }, (_, i) => i).filter((i) => {
            const at = 4 * (Math.round((i + 0.5) * step * ratio) + canvas.width * Math.round(2 * ratio));
            return colour.every((c, k) => Math.abs(data[at + k] - c) < 12);
        });
    }, { n: took.length, step: pitch, colour: want });
    assert.deepEqual(marked, cut, 'those that are longer have it');
    // A run without one is rare: it has no legend for it.
    if (cut.length === 0) {
        assert.equal(await v.page.locator('.strip-scale').getByText(/^over /).count(), 0);
        return;
    }
    const legend = v.page.locator('.strip-scale').getByText(/^over [\d.]+ (us|ms)$/);
    assert.ok(Math.abs(nanoseconds(await legend.textContent()) / full - 1) < 0.01, `${await legend.textContent()}: ${full}`);
    assert.match(await legend.getAttribute('title'), /took longer than [\d.]+ (us|ms), the height of the bars, so its bar is cut off/);
    for (const i of [cut[0], took.findIndex((ns) => ns <= full)]) {
        await v.page.mouse.move(box.x + (i + 0.5) * pitch, box.y + 12);
        await v.until(async () => ((await v.page.locator('.tooltip').textContent()) ?? '').includes(`oken ${batches.batch_id[i]},`), 'its tooltip');
        assert.equal(/longer than [\d.]+ (us|ms), the height of the bars, so it is cut off/.test(await v.page.locator('.tooltip').textContent()), cut.includes(i));
        await v.show(`view=timeline&token=${batches.batch_id[i]}`);
        await v.until(async () => ((await slider.getAttribute('aria-valuetext')) ?? '').startsWith(`token ${batches.batch_id[i]},`), 'it is selected');
        assert.equal(/so it is cut off/.test(await slider.getAttribute('aria-valuetext')), cut.includes(i));
    }
});
