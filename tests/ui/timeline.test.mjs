// The timeline and the minimap: zoom, pan, selection, aggregates, tracks, export, keyboard.
import assert from 'node:assert/strict';
import { nanoseconds, suite } from './harness.mjs';

const { test } = suite();

/** The first thread's name, which says below how many ops are merged. */
const thread0 = (v) => v.page.locator('.tl-gutter .tl-title', { hasText: /^thread 0/ }).first();

/** The timeline of a trace, with its ops drawn: of all the run, also where the prompt took most of it. */
async function timeline(open, name = 'tiny', fragment = 'window=all', options = {}) {
    const v = await open([name], { fragment: `view=timeline&${fragment}`, ...options });
    await thread0(v).waitFor();
    await drawn(v);
    return v;
}

/** The timeline with a part of one token in sight, in which ops stand on their own. */
async function closeTimeline(open, share = 1) {
    const v = await timeline(open, 'tiny');
    const { batches } = await v.api('traces/0/summary');
    const [begin, end] = [batches.start_relative_ns[3], batches.end_relative_ns[3]];
    const window = `${Math.round(begin)}~${Math.round(begin + share * (end - begin))}`;
    await v.show(`view=timeline&window=${window}`);
    await settled(v);
    await drawn(v);
    return v;
}

async function drawn(v) {
    await v.until(async () => (await v.page.locator('.timeline .equivalent caption').count()) > 0, 'the table is there');
    await v.until(async () => (await inkOf(v)).pixels > 500, 'something is drawn');
    await v.until(() => v.page.evaluate(() => !document.querySelector('.tl-waiting')), 'all pictures have come');
}

/** How much of the canvas of rectangles is painted, and a sum that changes with it. */
function inkOf(v) {
    return v.page.evaluate(() => {
        const canvas = document.querySelector('.timeline .canvas-proxy canvas');
        const copy = document.createElement('canvas');
        copy.width = canvas.width;
        copy.height = canvas.height;
        const c = copy.getContext('2d', { willReadFrequently: true });
        c.drawImage(canvas, 0, 0);
        const { data } = c.getImageData(0, 0, copy.width, copy.height);
        let pixels = 0;
        let alpha = 0;
        let sum = 0;
        for (let i = 0; i < data.length; i += 4) {
            pixels += data[i + 3] > 0;
            alpha += data[i + 3];
            sum = (sum * 31 + data[i] + 3 * data[i + 1] + 7 * data[i + 2] + 11 * data[i + 3]) % 1e9;
        }
        return { pixels, alpha, sum };
    });
}

/** What is shown, ns, by the address; without it all of the run, or what follows its prompt, if that took most of it. */
async function shown(v) {
    const text = v.fragment().get('window');
    if (text && text !== 'all') return text.split('~').map(Number);
    const s = await v.api('traces/0/summary');
    const first = s.batches.start_relative_ns[s.batches.phase.indexOf('generate')] ?? s.start_relative_ns;
    const from = !text && first - s.start_relative_ns > (s.end_relative_ns - s.start_relative_ns) / 2 ? first : s.start_relative_ns;
    return [from, s.end_relative_ns];
}

/** Once the address says what `is` wants of [from, to]; it is written a little later than drawn. */
async function untilShown(v, is, what) {
    await v.until(async () => is(...(await shown(v))), what);
    return settled(v);
}

/** When nothing has moved for a while. */
async function settled(v) {
    await v.still(async () => (await shown(v)).join(), 500, 'nothing moves');
    return shown(v);
}

const canvas = (v) => v.page.locator('.timeline .canvas-proxy').boundingBox();

/** The place of a row in the window. */
async function rowMiddle(v, title) {
    const box = await v.page.locator('.tl-name', { hasText: title }).boundingBox();
    return box.y + box.height / 2;
}

/** A slice of lane 0 that is wide enough to be clicked, and where it is. */
async function widest(v) {
    const [from, to] = await settled(v);
    const box = await canvas(v);
    const rows = await v.page.evaluate(async ([a, b]) => {
        const reply = await fetch(`/api/v1/traces/0/timeline?from_ns=${a}&to_ns=${b}&buckets=1024&tracks=0`);
        const data = await reply.arrayBuffer();
        const view = new DataView(data);
        const n = view.getUint32(44, true);
        const at = 72;
        return Array.from({ length: n }, (_, i) => ({
            start: view.getFloat64(at + 8 * i, true),
            busy: view.getFloat64(at + 8 * (n + i), true),
            run: view.getUint32(at + 24 * n + 4 * i, true),
            node: view.getUint32(at + 24 * n + Math.ceil((4 * n) / 8) * 8 + 4 * i, true),
        }));
    }, [from, to]);
    // One that can come to the middle: at an end of the run the window stops before that.
    const { start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
    const half = (to - from) / 2;
    const fits = (s) => s.start + s.busy / 2 - half > start_relative_ns && s.start + s.busy / 2 + half < end_relative_ns;
    const slice = rows.filter((s) => s.start > from && s.start + s.busy < to && fits(s)).reduce((a, b) => (b.busy > a.busy ? b : a));
    return { ...slice, x: box.x + ((slice.start + slice.busy / 2 - from) / (to - from)) * box.width, y: await rowMiddle(v, 'thread 0') };
}

for (const renderer of ['webgl', 'canvas'])
    test(`the lanes are drawn (${renderer})`, async ({ open }) => {
        const v = await timeline(open, 'moe', `window=all${renderer === 'canvas' ? '&renderer=canvas' : ''}`);
        const rows = await v.page.locator('.tl-title').allTextContents();
        for (const title of ['tokens', 'layers', 'thread 0', 'thread 1', 'tokens/s', 'minor faults/s'])
            assert.ok(rows.some((row) => row.startsWith(title)), `${title} among ${rows}`);
        const kind = await v.page.evaluate(() => (document.querySelector('.timeline .canvas-proxy canvas').getContext('2d') ? '2d' : 'webgl'));
        assert.equal(kind, renderer === 'canvas' ? '2d' : 'webgl');
        const before = await inkOf(v);
        await v.press('KeyW', 'KeyW', 'KeyW');
        await v.until(async () => (await inkOf(v)).sum !== before.sum, 'zooming in changes the picture');
    });

test('a browser without WebGL gets the other renderer', async ({ open }) => {
    await timeline(open, 'tiny', '', { noWebgl: true });
});

test('counters that were not observed are not there', async ({ open }) => {
    const v = await timeline(open, 'tiny');
    const rows = await v.page.locator('.tl-title').allTextContents();
    assert.ok(!rows.some((row) => /faults|bytes read|CPU/.test(row)), `${rows}`);
    const { counters } = await v.api('traces/0/counters');
    assert.ok(!('minor_faults_per_s' in counters) && 'tokens_per_s' in counters);
});

test('keys zoom and pan', async ({ open }) => {
    const v = await timeline(open);
    const all = await settled(v);
    await v.press('KeyW', 'KeyW', 'KeyW', 'KeyW');
    const closer = await untilShown(v, (from, to) => to - from < 0.98 * (all[1] - all[0]), 'it has zoomed in');
    const size = async () => {
        const [from, to] = await shown(v);
        return to - from;
    };
    await v.hold('ArrowUp', () => v.until(async () => (await size()) < 0.5 * (closer[1] - closer[0]), 'a held key goes on'));
    const close = await settled(v);
    await v.hold('KeyD', () => v.until(async () => (await shown(v))[0] > close[0], 'it moves to what is later'));
    const later = await settled(v);
    assert.ok(Math.abs(later[1] - later[0] - (close[1] - close[0])) < 2, 'panning keeps the scale');
    await v.hold('ArrowLeft', () => v.until(async () => (await shown(v))[0] < later[0], 'it moves back'));
    await settled(v);
    const part = await size();
    await v.press('-');
    await v.until(async () => (await size()) > part, '- zooms out');
    const wider = await size();
    await v.press('+', '+');
    await v.until(async () => (await size()) < wider, '+ zooms in');
    await v.press('Shift+Digit0');
    const { start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
    await untilShown(v, (from, to) => Math.abs(from - start_relative_ns) < 2 && Math.abs(to - end_relative_ns) < 2, '0 shows all of the run');
});

test('at first the generated tokens are shown where the prompt took most of the time', async ({ open, t }) => {
    for (const name of ['tiny', 'moe', 'values']) {
        const v = await timeline(open, name, '');
        const { batches, start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
        const first = batches.start_relative_ns[batches.phase.indexOf('generate')];
        const share = (first - start_relative_ns) / (end_relative_ns - start_relative_ns);
        t.diagnostic(`${name}: the prompt took ${(100 * share).toFixed(0)} %`);
        // The axis has no mark for it: a drag over all of it selects what it shows.
        await v.press('KeyM');
        await v.until(() => v.fragment().get('time'), 'what is shown is selected');
        const [from, to] = v.fragment().get('time').split('~').map(Number);
        assert.ok(Math.abs(from - (share > 0.5 ? first : start_relative_ns)) < 2, `${name}: from ${from}`);
        assert.ok(Math.abs(to - end_relative_ns) < 2, `${name}: to ${to}`);
    }
});

test('lanes use the height that is there; counters that do not change share a line', async ({ open }) => {
    const rows = (v) => v.page.locator('.tl-name').evaluateAll((all) => all.map((e) => [e.querySelector('.tl-title').firstChild.textContent, e.getBoundingClientRect()]).map(([title, r]) => ({ title, top: r.top, height: r.height, bottom: r.bottom })));
    const v = await timeline(open, 'moe');
    await v.page.locator('.tl-gutter').getByText('constant', { exact: true }).waitFor();
    const high = await rows(v);
    for (const lane of high.filter((r) => r.title.startsWith('thread'))) assert.ok(lane.height >= 64, `${lane.title}: ${lane.height} px`);
    const box = await canvas(v);
    assert.ok(high.every((r) => r.bottom <= box.y + box.height), 'all rows are in view');
    const { counters } = await v.api('traces/0/counters?buckets=1536');
    const isFlat = (values) => new Set(values.filter((x) => x !== null)).size <= 1;
    const varying = Object.values(counters).filter((values) => !isFlat(values)).length;
    const others = high.filter((r) => !/^(tokens|layers|thread \d|constant)$/.test(r.title));
    assert.equal(others.length, varying);
    assert.ok(varying < Object.keys(counters).length, 'some do not change');
    await v.page.getByRole('button', { name: 'Unfold constant' }).click();
    await v.until(async () => (await rows(v)).length === high.length + Object.keys(counters).length - varying, 'each has a row now');
    await v.page.setViewportSize({ width: 1440, height: 460 });
    await v.until(async () => (await rows(v)).find((r) => r.title === 'thread 0').height === 34, 'a low window has low lanes');
});

test('the wheel scrolls, with Ctrl it zooms at the pointer, with Shift it pans', async ({ open }) => {
    const v = await timeline(open);
    const all = await settled(v);
    const box = await canvas(v);
    await v.page.mouse.move(box.x + box.width * 0.3, box.y + 80);
    await v.page.keyboard.down('Control');
    await v.page.mouse.wheel(0, -240);
    await v.page.mouse.wheel(0, -240);
    await v.page.keyboard.up('Control');
    const close = await untilShown(v, (from, to) => to - from < 0.5 * (all[1] - all[0]), 'it has zoomed in');
    const under = (r) => r[0] + 0.3 * (r[1] - r[0]);
    assert.ok(Math.abs(under(close) - under(all)) < 0.01 * (all[1] - all[0]), 'what is under the pointer stays there');
    await v.page.keyboard.down('Shift');
    await v.page.mouse.wheel(0, 200);
    await v.page.keyboard.up('Shift');
    const later = await untilShown(v, (from) => from > close[0], 'it has moved to what is later');
    await v.page.mouse.wheel(0, 100);
    assert.deepEqual(await settled(v), later, 'scrolling moves no time');
});

test('tracks that do not fit scroll, and a pinned one stays', async ({ open }) => {
    const v = await timeline(open, 'moe', 'window=all&pins=lane1&folds=constant', { viewport: { width: 1000, height: 400 } });
    const box = await canvas(v);
    const top = (await rowMiddle(v, 'thread 0')) - 0;
    const pinned = await rowMiddle(v, 'thread 1');
    assert.ok(pinned < top, 'the pinned lane is above');
    await v.page.mouse.move(box.x + 200, box.y + 60);
    await v.page.mouse.wheel(0, 60);
    await v.until(async () => (await rowMiddle(v, 'thread 0')) < top - 20, 'thread 0 has moved up');
    assert.equal(await rowMiddle(v, 'thread 1'), pinned);
    await v.press('Shift+ArrowUp', 'Shift+ArrowUp', 'Shift+ArrowUp');
    await v.page.locator('.tl-current').waitFor();
});

test('a click selects an op, period and comma step, F centres and fits, a reload restores it', async ({ open }) => {
    const v = await closeTimeline(open);
    const slice = await widest(v);
    const before = await inkOf(v);
    await v.page.mouse.click(slice.x, slice.y);
    await v.untilFragment('op', `${slice.run}.${slice.node}`);
    const op = await v.api(`traces/0/op?run=${slice.run}&node=${slice.node}`);
    assert.equal(v.fragment().get('token'), String(op.batch_id));
    assert.equal(v.fragment().get('layer'), op.log.layer_id === null ? null : String(op.log.layer_id));
    assert.equal(v.fragment().get('tensor'), op.tensor);
    await v.until(async () => (await v.said()).includes(op.log.name), 'the op is said');
    await v.until(async () => (await inkOf(v)).alpha < before.alpha * 0.9, 'the others are dimmed');

    const next = op.lanes[0].behind;
    await v.press('Period');
    await v.untilFragment('op', `${next.run}.${next.node}`);
    await v.press('Comma');
    await v.untilFragment('op', `${slice.run}.${slice.node}`);

    await v.press('KeyF');
    const fitted = await untilShown(v, (from, to) => to - from < 1.5 * (op.end_relative_ns - op.start_relative_ns) && from <= op.start_relative_ns && to >= op.end_relative_ns, 'F fits it at once');
    await v.page.reload();
    await v.ready();
    await drawn(v);
    assert.equal(v.fragment().get('op'), `${slice.run}.${slice.node}`);
    assert.deepEqual(await settled(v), fitted);
    await v.press('Escape');
    await v.untilFragment('op', null);
});

test('a selected op is framed also where it is merged with others', async ({ open }) => {
    const v = await timeline(open, 'tiny');
    const overlay = () =>
        v.page.evaluate(() => {
            const canvas = document.querySelectorAll('.timeline .canvas-proxy canvas')[1];
            const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
            const mark = getComputedStyle(document.documentElement).getPropertyValue('--mark').trim();
            const want = [1, 3, 5].map((i) => parseInt(mark.slice(i, i + 2), 16));
            let n = 0;
            for (let i = 0; i < data.length; i += 4)
                n += want.every((c, k) => Math.abs(data[i + k] - c) < 12) && data[i + 3] > 200;
            return n;
        });
    assert.equal(await overlay(), 0);
    const run = 3;
    const node = await v.page.evaluate(async () => {
        for (let n = 0; n < 200; n++) if ((await fetch(`/api/v1/traces/0/op?run=3&node=${n}`)).ok) return n;
        return -1;
    });
    v.allow(/404/);
    await v.show(`view=timeline&op=${run}.${node}`);
    await v.until(async () => (await overlay()) > 20, 'a frame is drawn');
});

test('a drag adds up time and lanes, and the sums are those of the log', async ({ open }) => {
    const v = await timeline(open, 'tiny');
    const [from, to] = await settled(v);
    const box = await canvas(v);
    const y = await rowMiddle(v, 'thread 1');
    await v.page.mouse.move(box.x + box.width * 0.2, y);
    await v.page.mouse.down();
    await v.page.mouse.move(box.x + box.width * 0.5, y, { steps: 5 });
    await v.page.mouse.move(box.x + box.width * 0.7, y, { steps: 5 });
    await v.page.mouse.up();
    await v.until(() => v.fragment().get('time') !== null, 'time is selected');
    assert.equal(v.fragment().get('lanes'), 'lane1');
    const time = v.fragment().get('time').split('~').map(Number);
    assert.ok(Math.abs(time[0] - (from + 0.2 * (to - from))) < 0.01 * (to - from));
    await v.page.locator('.tl-panel tfoot').waitFor();
    const whole = await v.api(`traces/0/timeline/aggregate?from_ns=${time[0]}&to_ns=${time[1]}&tracks=1`);
    const both = await v.api(`traces/0/timeline/aggregate?from_ns=${time[0]}&to_ns=${time[1]}`);
    // Half of a run may be a few ops that took long.
    assert.ok(whole.count > 0 && whole.count < both.count);
    assert.equal(whole.ops.reduce((sum, op) => sum + op.count, 0), whole.count);
    const cell = await v.page.locator('.tl-panel tfoot td').nth(1).textContent();
    assert.equal(cell.replaceAll(',', ''), String(whole.count));
    // A lane can do no more than there is time. The bounds are rounded to ticks of the clock, which
    // are shorter than a nanosecond: a lane that was busy all the time may exceed it by one.
    assert.ok(whole.busy_ns + whole.wait_ns <= time[1] - time[0] + 1);
    await v.page.getByRole('button', { name: 'Close' }).click();
    await v.untilFragment('time', null);
    await v.press('KeyM');
    await v.until(() => v.fragment().get('time') !== null, 'what is shown is selected by key');
    assert.equal(v.fragment().get('lanes'), null);
});

test('time inside an op: its op is counted everywhere, and the ends are told apart', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log&token=0' });
    const { ops, run } = await v.api('traces/0/log/rows?batch=0&op=MUL_MAT&first=0&n=40');
    const { n_lanes } = await v.api('traces/0/summary');
    // The one that all threads are in for longest: between their ends another op may have begun.
    const all = [];
    for (const [i, { node }] of ops.entries()) {
        const { lanes } = await v.api(`traces/0/op?run=${run[i]}&node=${node}`);
        if (lanes.length === n_lanes)
            all.push({ i, begin: Math.max(...lanes.map((l) => l.start_relative_ns)), end: Math.min(...lanes.map((l) => l.start_relative_ns + l.busy_ns)) });
    }
    const { i: at, begin, end } = all.reduce((a, b) => (b.end - b.begin > a.end - a.begin ? b : a));
    const op = ops[at];
    const from = Math.round(begin + (end - begin) / 4);
    const to = Math.round(begin + (end - begin) / 2);
    await v.show(`view=timeline&time=${from}~${to}`);
    const panel = v.page.locator('.tl-panel');
    await panel.getByText('MUL_MAT', { exact: true }).waitFor();
    const part = v.page.getByRole('complementary', { name: 'Inspector' }).getByRole('region', { name: 'Time', exact: true });
    const figure = (name) => part.locator('.figure', { hasText: name }).locator('dd');
    await v.until(async () => (await figure(/^Ops/).textContent()) === '1', 'the inspector counts the op');
    const ends = [await figure(/^From/).textContent(), await figure(/^To/).textContent()];
    assert.notEqual(ends[0], ends[1]);
    const told = ends.map(nanoseconds);
    assert.ok(Math.abs(told[0] - from) < (to - from) / 5 && Math.abs(told[1] - to) < (to - from) / 5, `${ends} are ${from} and ${to}`);
    // The log and the memory's heat say the same as the panel.
    assert.equal((await v.api(`traces/0/log/count?from_ns=${from}&to_ns=${to}`)).rows, 1);
    const rows = await v.api(`traces/0/log/rows?from_ns=${from}&to_ns=${to}&first=0&n=2`);
    assert.deepEqual([rows.run[0], rows.ops[0].node], [run[at], op.node]);
    await part.getByRole('button', { name: 'Stats' }).click();
    await v.page.getByText(`ops with some time from ${ends[0]} to ${ends[1]}`).first().waitFor();
});

test('an op of experts: the tooltip has the bytes that were read, not the whole stack', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=log' });
    const { ops, run } = await v.api('traces/0/log/rows?batch=3&layer=1&op=MUL_MAT_ID&first=0&n=1');
    const [source] = ops[0].sources;
    assert.ok(source.read_bytes < source.size_bytes && source.experts.length > 0);
    const { lanes } = await v.api(`traces/0/op?run=${run[0]}&node=${ops[0].node}`);
    const [begin, took] = [ops[0].start_relative_ns, ops[0].duration_ns];
    await v.show(`view=timeline&window=${Math.round(begin - took)}~${Math.round(begin + 2 * took)}`);
    await settled(v);
    await drawn(v);
    const box = await canvas(v);
    const y = await rowMiddle(v, `thread ${lanes[0].lane}`);
    const middle = lanes[0].start_relative_ns + lanes[0].busy_ns / 2;
    await v.page.mouse.move(box.x + (box.width * (middle - (begin - took))) / (3 * took), y);
    const tip = v.page.locator('.tooltip');
    const kib = (bytes) => `${(bytes / 1024).toFixed(0)} KiB of ${(source.size_bytes / 2 ** 20).toFixed(2)} MiB`;
    await v.until(async () => (await tip.count()) > 0 && (await tip.textContent()).includes(kib(source.read_bytes)), `the tooltip says ${kib(source.read_bytes)}`);
    assert.ok((await tip.textContent()).includes(`experts ${source.experts.map((e) => e.expert_id).join(', ')}`), await tip.textContent());
});

test('a double click zooms, and fits an op', async ({ open }) => {
    const v = await closeTimeline(open);
    const slice = await widest(v);
    await v.page.mouse.dblclick(slice.x, slice.y);
    const { start_relative_ns, end_relative_ns } = await v.api(`traces/0/op?run=${slice.run}&node=${slice.node}`);
    const fitted = await untilShown(v, (from, to) => to - from < 1.5 * (end_relative_ns - start_relative_ns), 'the op fits the window');
    assert.ok(fitted[0] <= slice.start && fitted[1] >= slice.start + slice.busy);
});

test('F and a double click on a token show that token, however far out', async ({ open }) => {
    const v = await timeline(open);
    const { batches, start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
    const took = (i) => batches.end_relative_ns[i] - batches.start_relative_ns[i];
    // The address has tenths.
    const fits = (i) => (from, to) => from <= batches.start_relative_ns[i] + 1 && to >= batches.end_relative_ns[i] - 1 && to - from < 1.5 * took(i);
    // Wide enough for the pointer, and less than half of the run.
    const [one, other] = batches.batch_id.map((_, i) => i).filter((i) => batches.phase[i] === 'generate' && took(i) < (end_relative_ns - start_relative_ns) / 2).sort((i, k) => took(k) - took(i));
    await v.show(`view=timeline&token=${batches.batch_id[one]}&window=all`);
    await v.until(async () => new RegExp(`Token ${batches.batch_id[one]}\\b`).test(await v.page.locator('.scrubber').textContent()), 'it is selected');
    await settled(v);
    await v.press('KeyF');
    await untilShown(v, fits(one), 'F fits it at once');
    await v.press('Shift+Digit0');
    const [begin, end] = await untilShown(v, (from, to) => to - from > 0.99 * (end_relative_ns - start_relative_ns), 'all of the run');
    await drawn(v);
    const box = await canvas(v);
    const middle = (batches.start_relative_ns[other] + batches.end_relative_ns[other]) / 2;
    await v.page.mouse.dblclick(box.x + (box.width * (middle - begin)) / (end - begin), (await v.page.locator('.tl-name', { has: v.page.getByText('tokens', { exact: true }) }).boundingBox()).y + 10);
    await untilShown(v, fits(other), 'a double click fits another');
});

test('tracks are pinned and folded by key and button, and the address keeps it', async ({ open }) => {
    const v = await timeline(open);
    await v.page.locator('.tl-name', { hasText: 'thread 1' }).locator('.tl-title').click();
    await v.press('Shift+KeyP');
    await v.untilFragment('pins', 'lane1');
    assert.ok((await rowMiddle(v, 'thread 1')) < (await rowMiddle(v, 'thread 0')));
    await v.press('KeyC');
    await v.untilFragment('folds', 'lane1');
    await v.page.getByRole('button', { name: 'Unfold thread 1' }).click();
    await v.untilFragment('folds', null);
    await v.page.getByRole('button', { name: 'Pin thread 1' }).click();
    await v.untilFragment('pins', null);
});

test('the same as a table, from which an op is chosen by keyboard alone', async ({ open }) => {
    const v = await closeTimeline(open, 0.3);
    await v.page.locator('.timeline .equivalent summary').focus();
    await v.press('Enter');
    const button = v.page.locator('.timeline .equivalent tbody button').first();
    await button.waitFor();
    await button.focus();
    const name = await button.textContent();
    await v.press('Enter');
    await v.until(() => v.fragment().get('op') !== null, 'an op is selected');
    const [run, node] = v.fragment().get('op').split('.');
    assert.equal((await v.api(`traces/0/op?run=${run}&node=${node}`)).log.name, name);
});

test('the line below the tokens moves the window, under every view', async ({ open }) => {
    const v = await timeline(open);
    await settled(v);
    const { batches } = await v.api('traces/0/summary');
    await v.page.getByRole('tab', { name: 'Log' }).click();
    await v.untilFragment('view', 'log');
    const box = await v.page.locator('.rail').boundingBox();
    const pitch = Math.min(110, box.width / batches.batch_id.length);
    // The middle of a token's bar is the middle of its time.
    const at = (token) => box.x + (token + 0.5) * pitch;
    const time = (token) => (batches.start_relative_ns[token] + batches.end_relative_ns[token]) / 2;
    const took = (token) => batches.end_relative_ns[token] - batches.start_relative_ns[token];
    const near = (ns, token) => Math.abs(ns - time(token)) < 0.1 * took(token);
    const dragged = async (from, to) => {
        await v.page.mouse.move(at(from), box.y + 5);
        await v.page.mouse.down();
        await v.page.mouse.move(at(to), box.y + 5, { steps: 4 });
        await v.page.mouse.up();
    };
    // Three tokens and a window of as many, with room behind it to be moved: not around one that took longest.
    const nth = batches.batch_id.map((_, i) => i);
    const one = nth.find((i) => i > 0 && time(i + 3) + time(i + 5) - time(i + 2) < batches.end_relative_ns.at(-1));
    assert.ok(one !== undefined, 'there is room');
    await dragged(one, one + 3);
    const [first, last] = await untilShown(v, (from, to) => near(from, one) && near(to, one + 3), 'what was dragged over is the window');
    await dragged(one + 2, one + 5);
    const by = time(one + 5) - time(one + 2);
    // A pixel of the bar of a long token is much time.
    const same = (a, b) => Math.abs(a - b) < 0.1 * Math.max(took(one + 2), took(one + 5));
    const moved = await untilShown(v, (from, to) => same(from, first + by) && same(to, last + by), 'the window was dragged');
    await v.page.getByRole('tab', { name: 'Timeline' }).click();
    await v.page.locator('.tl-gutter').waitFor();
    const [from, to] = await settled(v);
    assert.ok(same(from, moved[0]) && same(to, moved[1]), 'the timeline shows that part');
});

test('what is selected elsewhere comes into sight', async ({ open }) => {
    const v = await closeTimeline(open);
    const s = await v.api('traces/0/summary');
    const last = s.batches.batch_id.length - 1;
    await v.show(`view=timeline&window=${v.fragment().get('window')}&token=${s.batches.batch_id[last]}`);
    await v.until(async () => {
        const [from, to] = await shown(v);
        return from < s.batches.end_relative_ns[last] && to > s.batches.start_relative_ns[last];
    }, 'the last token is in sight');
});

test('its picture names the tracks and the colours', async ({ open }) => {
    const v = await timeline(open, 'hostile');
    const svg = (await v.shared('SVG')).data.toString();
    for (const name of ['thread 0', 'tokens', 'attention', 'waits']) assert.match(svg, new RegExp(`>${name}</text>`), name);
});

test('hostile names are text', async ({ open }) => {
    const v = await timeline(open, 'hostile');
    const box = await canvas(v);
    for (let x = 10; x < box.width; x += 40) {
        await v.page.mouse.move(box.x + x, await rowMiddle(v, 'thread 0'));
        if (await v.page.locator('.tooltip').count()) break;
    }
    await v.page.locator('.tooltip').waitFor();
    assert.equal(await v.page.locator('.tooltip img, .tooltip script').count(), 0);
});

test('a trace that was cut off before any op says so', async ({ open }) => {
    const v = await open(['cut'], { fragment: 'view=timeline' });
    await thread0(v).waitFor();
    assert.equal((await v.api('traces/0/summary')).n_ops, 0);
    await v.page.getByText('No ops were recorded').waitFor();
});

test('parameters that make no sense are refused', async ({ open }) => {
    const v = await timeline(open);
    const status = (path) => v.page.evaluate(async (at) => (await fetch(`/api/v1/traces/0/${at}`)).status, path);
    v.allow(/400|404/);
    for (const path of [
        'timeline?from_ns=5&to_ns=5', 'timeline?buckets=0', 'timeline?buckets=8193', 'timeline?tracks=9', 'timeline?tracks=1,,2',
        'timeline?tracks=1..0', 'timeline?layer=-1', 'timeline?layers=2', 'timeline?from_ns=nan', 'timeline?width=3',
        'timeline/aggregate?tracks=x', 'timeline/overview?buckets=4097', 'counters?buckets=9999', 'op', 'op?run=0', 'op?run=0&node=-1',
    ])
        assert.equal(await status(path), 400, path);
    assert.equal(await status('op?run=99999&node=0'), 404);
    assert.equal(await status('op?run=0&node=1048000'), 404);
});
