// The pool of `boost` in the timeline: reads, how full it is, what ops waited for.
import assert from 'node:assert/strict';
import { suite } from './harness.mjs';

const { test } = suite();

/** A reply in columns, with its header. */
function columns(v, path) {
    return v.page.evaluate(async (at) => {
        const reply = await fetch(`/api/v1/traces/0/${at}`);
        const data = await reply.arrayBuffer();
        const length = new DataView(data).getUint32(0, true);
        const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
        const types = { u8: Uint8Array, u32: Uint32Array, f64: Float64Array };
        const all = header.columns.map((c) => [c.name, Array.from(new types[c.type](data, 4 + length + c.offset_bytes, c.n))]);
        return { header, ...Object.fromEntries(all) };
    }, path);
}

async function timeline(open, fragment = '', options = {}) {
    const v = await open(['boost'], { fragment: `view=timeline${fragment && `&${fragment}`}`, ...options });
    await v.page.locator('.tl-gutter').getByText('boost reads', { exact: true }).waitFor();
    await v.page.locator('.tl-legend').getByText('chosen').waitFor();
    await v.until(() => v.page.evaluate(() => !document.querySelector('.tl-waiting')), 'all pictures have come');
    return v;
}

const sum = (list) => list.reduce((a, b) => a + b, 0);
const KEYS = ['kept', 'ahead', 'chosen', 'at_op'];

/** Where a row is in the window. */
const rowBox = (v, title) => v.page.locator('.tl-name', { hasText: title }).boundingBox();

async function canvasBox(v) {
    return v.page.locator('.timeline .canvas-proxy').boundingBox();
}

/** What is painted in a row, on both canvases: pixels that are not the ground, and a sum. */
async function inkOf(v, title) {
    const [row, box] = [await rowBox(v, title), await canvasBox(v)];
    return v.page.evaluate(([top, height]) => {
        let pixels = 0;
        let total = 0;
        for (const canvas of document.querySelectorAll('.timeline .canvas-proxy canvas')) {
            const ratio = canvas.height / canvas.clientHeight;
            const copy = new OffscreenCanvas(canvas.width, Math.round(height * ratio)).getContext('2d', { willReadFrequently: true });
            copy.drawImage(canvas, 0, -Math.round(top * ratio));
            const { data } = copy.getImageData(0, 0, canvas.width, Math.round(height * ratio));
            for (let i = 0; i < data.length; i += 4) {
                pixels += data[i + 3] > 0;
                total = (total * 31 + data[i] + 3 * data[i + 1] + 7 * data[i + 2] + 11 * data[i + 3]) % 1e9;
            }
        }
        return { pixels, total };
    }, [row.y - box.y, row.height]);
}

test('what is served adds up to what faults --pool says', async ({ open }) => {
    const v = await timeline(open);
    const { total, causes, n, rows, n_tokens, read_bytes_per_token } = await v.api('traces/0/pool');
    assert.ok(total.read_bytes > 0 && total.reads > 50 && n === rows.length, JSON.stringify(total));
    assert.equal(sum(rows.map((r) => r.read_bytes)), total.read_bytes);
    assert.equal(sum(causes.map((c) => c.read_bytes)), total.read_bytes);
    assert.ok(Math.abs(read_bytes_per_token * n_tokens - total.read_bytes) < 1);
    const generated = await v.api('traces/0/pool?phase=generate');
    assert.ok(generated.n_tokens < n_tokens && generated.total.reads < total.reads && generated.n < n);

    const reads = await columns(v, 'pool/reads?from_ns=-1e12&to_ns=1e12&limit=65536');
    assert.equal(reads.read.length, total.reads);
    assert.equal(sum(reads.size_bytes), total.read_bytes);
    const bins = await columns(v, 'pool/bins?from_ns=-1e12&to_ns=1e12&buckets=777');
    KEYS.forEach((key, i) => assert.ok(Math.abs(sum(bins[`${key}_bytes`]) - causes[i].read_bytes) < 1 + 1e-6 * total.read_bytes, key));
    assert.ok(bins.present_bytes.every((b, i) => Number.isNaN(b) || (b >= 0 && b <= bins.budget_bytes[i])), 'never fuller than allowed');
    const few = await columns(v, 'pool/reads?limit=3');
    assert.equal(few.read.length, 0);
    assert.ok(few.header.n > 3);
});

test('each wait is of an op, and ends with a read that the op waited for', async ({ open }) => {
    const v = await timeline(open);
    const reads = await columns(v, 'pool/reads?limit=65536');
    const waits = await columns(v, 'pool/waits?limit=65536');
    const awaited = reads.read.filter((_, i) => reads.waiters[i] > 0);
    assert.ok(awaited.length > 0 && waits.track.length > 0 && !waits.header.cut, `${awaited.length} reads were awaited`);
    const found = new Set();
    for (let i = 0; i < Math.min(30, waits.track.length); i++) {
        const at = reads.read.indexOf(waits.read[i]);
        const end = reads.start_relative_ns[at] + reads.duration_ns[at];
        assert.ok(Math.abs(end - waits.end_relative_ns[i]) < 2, 'it ends with the read');
        assert.equal(reads.cause[at], waits.cause[i]);
        const op = await v.api(`traces/0/op?run=${waits.run[i]}&node=${waits.node[i]}`);
        const lane = op.lanes.find((each) => each.track === waits.track[i]);
        assert.ok(waits.start_relative_ns[i] >= (lane.before?.end_relative_ns ?? 0) - 2 && waits.end_relative_ns[i] <= lane.start_relative_ns + lane.busy_ns + 2, 'within the op');
        assert.ok(Math.abs(lane.read_wait_ns - (waits.end_relative_ns[i] - waits.start_relative_ns[i])) < 2);
        // What it reads is what it waited for. A page that neighbours share is named after one of them.
        const sources = op.log.sources.filter((s) => s.origin === 'file');
        assert.ok(op.awaited_reads.length > 0);
        for (const r of op.awaited_reads) {
            const meets = (s) => s.file_offset_bytes < r.file_offset_bytes + r.size_bytes && r.file_offset_bytes < s.file_offset_bytes + s.size_bytes;
            assert.ok(/exps/.test(r.tensor) || sources.some(meets), `${r.tensor} of ${sources.map((s) => s.name)}`);
        }
        found.add(waits.read[i]);
    }
    // The clock of the pool itself, which also counts how long a woken thread takes to run again.
    const { total } = await v.api('traces/0/pool');
    const waited = sum(waits.start_relative_ns.map((begin, i) => waits.end_relative_ns[i] - begin));
    assert.ok(waited <= 1.5 * total.waited_ns && waited >= 0.05 * total.waited_ns, `${waited} of ${total.waited_ns} ns`);
    const merged = await columns(v, 'pool/waits?limit=0&buckets=100');
    const inBins = sum(KEYS.map((key) => sum(merged[`${key}_ns`])));
    assert.equal(merged.track.length, 0);
    assert.ok(Math.abs(inBins - waited) < 1e-6 * waited + 1, `${inBins} in bins, ${waited} one by one`);
});

for (const renderer of ['webgl', 'canvas'])
    test(`reads, the pool and waits are drawn (${renderer})`, async ({ open }) => {
        const v = await timeline(open, renderer === 'canvas' ? 'renderer=canvas' : '');
        const rows = await v.page.locator('.tl-title').allTextContents();
        for (const title of ['boost reads', 'boost pool']) assert.ok(rows.some((row) => row.startsWith(title)), `${title} among ${rows}`);
        await v.until(async () => (await inkOf(v, 'boost reads')).pixels > 50, 'reads are drawn');
        await v.until(async () => (await inkOf(v, 'boost pool')).pixels > 1000, 'the pool is drawn');
    });

test('a trace without boost has neither the rows nor the legend nor the requests', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=timeline' });
    const asked = [];
    v.page.on('request', (request) => asked.push(request.url()));
    await v.page.reload();
    await v.ready();
    await v.rest();
    const rows = await v.page.locator('.tl-title').allTextContents();
    assert.ok(!rows.some((row) => /boost/.test(row)), `${rows}`);
    assert.equal(await v.page.locator('.tl-legend').getByText('chosen').count(), 0);
    assert.ok(!asked.some((url) => /\/pool/.test(url)), `${asked}`);
    assert.equal((await v.api('traces/0/pool')).observed, false);
});

/** The window around a read that was awaited, and where on the page it is. */
async function readInSight(v) {
    const reads = await columns(v, 'pool/reads?limit=65536');
    const { start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
    let at = -1;
    for (let i = 0; i < reads.read.length; i++) {
        const [begin, took] = [reads.start_relative_ns[i], reads.duration_ns[i]];
        if (reads.waiters[i] === 0 || reads.weight[i] === 0xffffffff) continue;
        if (begin - took < start_relative_ns || begin + 2 * took > end_relative_ns) continue;
        if (at < 0 || took > reads.duration_ns[at]) at = i;
    }
    assert.ok(at >= 0, 'a read was awaited');
    const [begin, took] = [reads.start_relative_ns[at], reads.duration_ns[at]];
    await v.show(`view=timeline&window=${Math.round(begin - took)}~${Math.round(begin + 2 * took)}`);
    await v.rest();
    const [row, box] = [await rowBox(v, 'boost reads'), await canvasBox(v)];
    const high = (row.height - 2) / reads.header.slots;
    return { reads, at, x: box.x + box.width / 2, y: row.y + 1 + (reads.slot[at] + 0.5) * high };
}

test('a read tells what it is, and a click selects its tensor, expert and the op that waited', async ({ open }) => {
    const v = await timeline(open);
    const { reads, at, x, y } = await readInSight(v);
    const tensors = await v.api('traces/0/tensors');
    const name = tensors.name[reads.weight[at]];
    await v.page.mouse.move(x, y);
    const tip = v.page.locator('.tooltip');
    await tip.waitFor();
    const words = await tip.textContent();
    assert.ok(words.includes(name) && /waited for it/.test(words) && /chosen|ahead|kept|at op/.test(words), words);
    const before = await inkOf(v, 'boost reads');
    await v.page.mouse.click(x, y);
    await v.untilFragment('tensor', name);
    const expert = reads.expert_id[at];
    assert.equal(v.fragment().get('slice'), Number.isNaN(expert) ? null : String(expert));
    await v.until(async () => (await inkOf(v, 'boost reads')).total !== before.total, 'it is marked');
    const op = v.fragment().get('op');
    if (op) {
        const [run, node] = op.split('.');
        const { awaited_reads } = await v.api(`traces/0/op?run=${run}&node=${node}`);
        await v.page.locator('.inspector').getByText('Waited for', { exact: true }).waitFor();
        assert.ok(awaited_reads.length > 0);
    }
});

test('the tables have the reads, the computations and what ops waited', async ({ open }) => {
    const v = await timeline(open);
    const { reads } = await readInSight(v);
    await v.page.locator('.timeline .equivalent summary').click();
    const table = v.page.locator('.timeline .equivalent table');
    await v.until(async () => (await table.count()) === 3, 'three tables');
    const captions = await v.page.locator('.timeline .equivalent caption').allTextContents();
    assert.ok(captions.some((text) => /reads? of boost in view/.test(text)) && captions.some((text) => /The pool of boost/.test(text)), `${captions}`);
    await v.until(async () => (await table.nth(2).locator('tbody tr').count()) > 0, 'a computation is listed');
    const cells = await table.nth(1).locator('tbody tr').first().locator('td').allTextContents();
    assert.match(cells[1], /kept|ahead|chosen|at op/);
    assert.match(await table.nth(0).locator('thead').textContent(), /for reads/);
    await table.nth(1).locator('tbody button').first().click();
    await v.until(() => v.fragment().get('tensor') !== null || reads.weight.includes(0xffffffff), 'a button selects');
});

test('reads and waits that are too many are drawn by stretches of time', async ({ open }) => {
    const v = await timeline(open);
    const single = await inkOf(v, 'boost reads');
    const waits = await columns(v, 'pool/waits?limit=65536');
    await v.page.route(/\/pool\/(reads|waits)/, (route) =>
        route.continue({ url: route.request().url().replace(/limit=\d+/, 'limit=0') }),
    );
    await v.page.reload();
    await v.ready();
    await v.rest();
    await v.until(async () => {
        const { pixels, total } = await inkOf(v, 'boost reads');
        return pixels > 50 && total !== single.total;
    }, 'it is drawn in another way');
    await v.page.locator('.timeline .equivalent summary').click();
    await v.page.getByText('too many to be listed').waitFor();
    await v.page.locator('.timeline .equivalent summary').click();
    const { start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
    const box = await canvasBox(v);
    for (let i = 0; i < waits.track.length; i++) {
        const row = await rowBox(v, `thread ${waits.track[i]}`);
        const at = ((waits.start_relative_ns[i] + waits.end_relative_ns[i]) / 2 - start_relative_ns) / (end_relative_ns - start_relative_ns);
        await v.page.mouse.move(box.x + at * box.width, row.y + row.height / 2);
        await v.page.waitForTimeout(100);
        if ((await v.page.locator('.tooltip').getByText('for reads').count()) > 0) return;
    }
    assert.fail('nothing tells what ops waited for reads');
});

test('the run and a saved drawing tell of the pool', async ({ open }) => {
    const v = await timeline(open);
    const part = v.page.getByRole('region', { name: 'Boost' });
    await part.getByText('Read per token').waitFor();
    const words = await part.textContent();
    assert.match(words, /Experts present\d/);
    const svg = (await v.shared('SVG')).data.toString();
    for (const name of ['boost reads', 'boost pool', 'chosen']) assert.ok(svg.includes(`>${name}</text>`), name);
});

test('parameters that make no sense are refused', async ({ open }) => {
    const v = await timeline(open);
    const status = (path) => v.page.evaluate(async (at) => (await fetch(`/api/v1/traces/0/${at}`)).status, path);
    v.allow(/400/);
    for (const path of ['pool?limit=10001', 'pool?phase=x', 'pool?from_ns=5&to_ns=1', 'pool/bins?buckets=0', 'pool/bins?buckets=4097', 'pool/bins?from_ns=5&to_ns=5',
        'pool/reads?limit=65537', 'pool/reads?tracks=0', 'pool/waits?tracks=9', 'pool/waits?buckets=9999', 'pool/waits?limit=x'])
        assert.equal(await status(path), 400, path);
});
