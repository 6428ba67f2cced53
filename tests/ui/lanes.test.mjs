// The lanes of the timeline: time off CPU, two tokens under each other, the height they use.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { suite, trace } from './harness.mjs';

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
    await v.page.locator('.tl-gutter').getByText('thread 0', { exact: true }).first().waitFor();
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
        const { begin_ns, end_ns } = await v.api('traces/0/summary');
        const took = (i) => off.end_ns[i] - off.start_ns[i];
        // In the middle of the window: not at an end of the run.
        const all = off.track.map((_, i) => i).filter((i) => off.start_ns[i] - took(i) > begin_ns && off.end_ns[i] + took(i) < end_ns);
        const at = all.reduce((a, b) => (off.off_cpu_ns[b] > off.off_cpu_ns[a] ? b : a));
        await v.show(`view=timeline&renderer=${renderer === 'canvas' ? 'canvas' : 'auto'}&window=${Math.round(off.start_ns[at] - took(at))}~${Math.round(off.end_ns[at] + took(at))}`);
        await drawn(v);
        const [lane, box] = [await rowBox(v, `thread ${off.track[at]}`), await canvasBox(v)];
        const third = box.width / 3;
        const share = off.off_cpu_ns[at] / took(at);
        const high = Math.max(3, share * Math.min(14, lane.height / 4));
        const band = { x: box.x + third + 8, y: lane.y + lane.height - high, width: third - 16, height: high };
        await v.until(async () => (await inkAt(v, band, OFF_CPU)) > 0.5 * band.width * band.height, 'the band is drawn, as high as its share');
        assert.equal(await inkAt(v, { ...band, y: lane.y, height: lane.height - high - 3 }, OFF_CPU), 0, 'nothing above it');
        await v.page.locator('.tl-legend').getByText('off CPU', { exact: true }).waitFor();

        const { lanes } = await v.api(`traces/0/op?run=${off.run[at]}&node=${off.node[at]}`);
        const { off_cpu_ns, busy_ns } = lanes.find((l) => l.track === off.track[at]);
        assert.ok(Math.abs(off_cpu_ns - off.off_cpu_ns[at]) < 1);
        await v.page.mouse.move(box.x + box.width / 2, lane.y + lane.height / 2);
        const words = /off CPU: ([\d.]+) (ns|us|ms) of its busy time \(([\d.]+) %\)/;
        await v.until(async () => words.test(await v.page.locator('.tooltip').textContent()), 'the tooltip says it');
        const [, value, unit, percent] = words.exec(await v.page.locator('.tooltip').textContent());
        const shown_ns = Number(value) * { ns: 1, us: 1e3, ms: 1e6 }[unit];
        assert.ok(Math.abs(shown_ns - off_cpu_ns) < 0.01 * off_cpu_ns, `${value} ${unit}: ${off_cpu_ns}`);
        assert.ok(Math.abs(Number(percent) - (100 * off_cpu_ns) / busy_ns) < 1, `${percent} %`);

        await v.page.locator('.timeline .equivalent summary').click();
        const table = v.page.locator('.timeline .equivalent table').first();
        const heads = await table.locator('thead th').allTextContents();
        const column = heads.indexOf('of busy, off CPU');
        assert.ok(column > 0, `${heads}`);
        const cells = await table.locator('tbody tr').evaluateAll((rows, k) => rows.map((row) => row.children[k].textContent), column);
        assert.ok(cells.includes(`${value} ${unit}`), `${value} ${unit} among ${cells}`);
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
