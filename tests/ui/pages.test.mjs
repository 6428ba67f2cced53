// Page faults and loading page by page: what is drawn is what `faults --pages` and `--loading` list, and
// what the pointer is told is what is drawn. Pixels tell where things are, never the code that answers
// the pointer.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { suite } from './harness.mjs';

const { test } = suite();
const GOLDEN = join(process.env.TT_SOURCE_DIR, 'tests/golden');
const FAULTS = join(GOLDEN, 'good-faults.ttrace');
const LOADING = join(GOLDEN, 'good-loading.ttrace');
const PAGE = 4096;

function faults(path, ...args) {
    const said = execFileSync(process.env.TT_BIN, ['faults', '--json', '--limit', '0', ...args, path], { stdio: ['ignore', 'pipe', 'ignore'] });
    return JSON.parse(said);
}

/** Pages of the model's file that faulted: offset -> [major, minor]. */
function pagesOf(...args) {
    const pages = new Map();
    for (const p of faults(FAULTS, '--pages', ...args).pages)
        if (p.mapping === '/models/synth.gguf') pages.set(p.file_offset_bytes, [p.major_faults, p.minor_faults]);
    return pages;
}

async function columns(v, path) {
    return v.page.evaluate(async (at) => {
        const reply = await fetch(`/api/v1/${at}`);
        const data = await reply.arrayBuffer();
        if (!reply.ok) return { error: new TextDecoder().decode(data) };
        const length = new DataView(data).getUint32(0, true);
        const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
        const types = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array };
        const found = header.columns.map((c) => [c.name, [...new types[c.type](data, 4 + length + c.offset_bytes, c.n)]]);
        return { header, columns: Object.fromEntries(found) };
    }, path);
}

for (const [query, args] of [['', []], ['&batch=2', ['--batch', '2']], ['&batch=1&batch_to=3', ['--batch', '1..3']], ['&layer=1', ['--layer', '1']]])
    test(`bins are the pages of faults --pages ${args.join(' ')}`, async ({ open }) => {
        const v = await open([FAULTS]);
        const want = pagesOf(...args);
        assert.ok(want.size > 1);
        const { header, columns: got } = await columns(v, `traces/0/memory/pages/bins?spans=file0-0-1000000-1${query}`);
        assert.equal(header.page_bytes, PAGE);
        const told = new Map(got.offset_bytes.map((at, i) => [at, [got.major_faults[i], got.minor_faults[i]]]));
        assert.deepEqual([...told].sort((a, b) => a[0] - b[0]), [...want].sort((a, b) => a[0] - b[0]));
        // Wider bins have the same faults.
        const { columns: wide } = await columns(v, `traces/0/memory/pages/bins?spans=file0-0-40000-4_file0-40000-1000000-8${query}`);
        const sum = (list) => list.reduce((a, b) => a + b, 0);
        assert.ok(sum(wide.major_faults) >= sum(got.major_faults) && sum(wide.minor_faults) >= sum(got.minor_faults));
        // The list of pages takes the same filters.
        const { columns: list } = await columns(v, `traces/0/memory/pages?${query.slice(1)}`);
        const inFile = list.file_offset_bytes.filter((_, i) => list.model_file_id[i] === 0);
        assert.deepEqual(inFile.sort((a, b) => a - b), [...want.keys()].sort((a, b) => a - b));
    });

test('a time has the faults of that time; single faults say op and thread', async ({ open }) => {
    const v = await open([FAULTS]);
    const all = faults(FAULTS, '--pages').pages.filter((p) => p.mapping === '/models/synth.gguf' && p.faults === 1);
    const times = all.map((p) => p.first_relative_ns).sort((a, b) => a - b);
    // Between two faults.
    const between = (i) => (times[i] + times[i + 1]) / 2;
    const [from, to] = [between(1), between(times.length - 3)];
    const { columns: got } = await columns(v, `traces/0/memory/pages/bins?spans=file0-0-1000000-1&from_ns=${from}&to_ns=${to}`);
    for (const p of all)
        assert.equal(got.offset_bytes.includes(p.file_offset_bytes), p.first_relative_ns >= from && p.first_relative_ns < to, `${p.file_offset_bytes} at ${p.first_relative_ns}`);
    for (const p of faults(FAULTS, '--pages').pages.filter((each) => each.mapping === '/models/synth.gguf')) {
        const told = await v.api(`traces/0/memory/pages/faults?spans=file0-${p.file_offset_bytes}-${p.file_offset_bytes + 1}-1`);
        assert.equal(told.n, p.faults);
        assert.equal(told.faults.filter((f) => f.major).length, p.major_faults);
        assert.equal(told.faults[0].end_relative_ns, p.first_relative_ns);
        assert.equal(told.faults[0].batch_id, p.first_batch_id);
        assert.equal(told.faults[0].tensor, p.tensor);
        assert.equal(told.faults.filter((f) => f.run !== null).length, p.in_ops);
        for (const f of told.faults) assert.equal(f.op !== null && f.thread_id !== null, f.run !== null);
    }
});

test('what is no span is refused, and says what one is', async ({ open }) => {
    const v = await open([FAULTS]);
    v.allow(/400/);
    for (const spans of ['', 'file0', 'file0-0-4096', 'file9-0-4096-1', 'disk0-0-1-1', 'file0-0-4096-0', 'file0-9-9-1', 'file0-0-4096-1_', 'file0-0-99999999999999999999-1'])
        for (const what of ['pages', 'loading']) {
            const { error } = await columns(v, `traces/0/memory/${what}/bins?spans=${spans}`);
            assert.match(error ?? '', /span/, spans);
        }
});

const view = (v) => v.page.getByRole('region', { name: 'Memory map' });
const canvas = (v) => view(v).getByRole('application');

async function shown(v) {
    await canvas(v).waitFor();
    await v.rest();
}

/** Every point of the map that has one of the colours, on a grid, and what its column has above and below. */
async function coloured(v, step = 5) {
    v.allow(/willReadFrequently/);
    return canvas(v).locator('canvas').first().evaluate((c, step) => {
        const ratio = c.width / c.clientWidth;
        const box = c.getBoundingClientRect();
        const { data, width, height } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
        const kind = (x, y) => {
            const at = (Math.floor((y + 0.5) * ratio) * width + Math.floor((x + 0.5) * ratio)) * 4;
            const [r, g, b] = data.slice(at, at + 3);
            // Brighter ones are the signs of merged marks and of copies.
            if (r > 110 && r < 235 && r - b > 70 && r > g + 20) return 'major';
            return b > 110 && b < 238 && b - r > 50 && g > r ? 'minor' : null;
        };
        const points = [];
        // Signs have slanted edges; lanes look the same above and below, and one point of them is enough.
        const inside = (x, y) => (kind(x, y) === kind(x, y - 1) && kind(x, y) === kind(x, y + 1) ? kind(x, y) : null);
        for (let x = 170; x < width / ratio - 24; x += step)
            for (let y = 40; y < height / ratio - 2; y++)
                if (inside(x, y) && inside(x, y) !== inside(x, y - 1)) points.push({ x: x + box.left + 0.5, y: y + box.top + 0.5, kind: kind(x, y) });
        return points;
    }, step);
}

/** What the tooltip says at each of these points. */
async function told(v, points) {
    return canvas(v).evaluate(async (element, all) => {
        const out = [];
        for (const { x, y } of all) {
            element.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y, bubbles: true }));
            await new Promise((done) => setTimeout(done));
            const facts = [...document.querySelectorAll('.tooltip .facts > div')].map((d) => [d.querySelector('dt').textContent, d.querySelector('dd').textContent]);
            out.push({ title: document.querySelector('.tooltip strong')?.textContent ?? '', ...Object.fromEntries(facts) });
        }
        return out;
    }, points);
}

const number = (text) => Number(text.replace(/,/g, ''));

/** The pages of the file that the picture shows, by pointing at all that is coloured. */
async function pictured(v, step) {
    const points = await coloured(v, step);
    assert.ok(points.length > 20, `${points.length} points are coloured`);
    const answers = await told(v, points);
    const pages = { major: new Set(), minor: new Set() };
    answers.forEach((a, i) => {
        const [, major, minor] = /^([\d,]+) major, ([\d,]+) minor$/.exec(a.Faults ?? '') ?? [];
        assert.ok(major, `${points[i].kind} at ${points[i].x}, ${points[i].y}: ${JSON.stringify(a)}`);
        assert.ok(number(points[i].kind === 'major' ? major : minor) > 0, `${points[i].kind}: ${JSON.stringify(a)}`);
        const [, from, to] = /^([\d,]+) to ([\d,]+) /.exec(a['File offset'] ?? '') ?? [];
        // A page may reach over two tensors: each shows its part.
        if (from) for (let page = Math.floor(number(from) / PAGE); page * PAGE < number(to); page++) pages[points[i].kind].add(page * PAGE);
    });
    return pages;
}

function same(got, want, what) {
    const numbers = (set) => [...set].sort((a, b) => a - b);
    assert.deepEqual(numbers(got.major), numbers([...want].filter(([, [major]]) => major).map(([at]) => at)), `${what}, major`);
    assert.deepEqual(numbers(got.minor), numbers([...want].filter(([, [, minor]]) => minor).map(([at]) => at)), `${what}, minor`);
}

for (const more of ['', '&memory_widths=rank', '&memory_fit=same', '&theme=dark&memory_split=0.85'])
    test(`the picture has the pages of faults --pages, and tells them where they are drawn ${more}`, async ({ open }) => {
        const v = await open([FAULTS], { fragment: `view=memory&memory_by=pages${more}` });
        await shown(v);
        // At one scale pages are three or four pixels wide.
        same(await pictured(v, more.includes('same') ? 2 : 5), pagesOf(), 'whole run');
    });

test('the picture follows the token, and its film', async ({ open }) => {
    const v = await open([FAULTS], { fragment: 'view=memory&memory_by=pages&token=2' });
    await shown(v);
    same(await pictured(v), pagesOf('--batch', '2'), 'token 2');
    await v.show('view=memory&memory_by=pages&token=2&memory_part=until');
    await v.rest();
    same(await pictured(v), pagesOf('--batch', '0..2'), 'up to token 2');
});

test('zoomed in, a page is as wide as it is long, and is told alone', async ({ open }) => {
    const v = await open([FAULTS], { fragment: 'view=memory&memory_by=pages&memory_x=0.2~0.3' });
    await shown(v);
    const points = await coloured(v);
    const answers = await told(v, points);
    const want = pagesOf();
    let single = 0;
    answers.forEach((a) => {
        const [, from, to] = /^([\d,]+) to ([\d,]+) /.exec(a['File offset'] ?? '') ?? [];
        if (!from) return;
        assert.ok(number(to) - number(from) <= PAGE, JSON.stringify(a));
        const [major, minor] = want.get(Math.floor(number(from) / PAGE) * PAGE);
        assert.equal(a.Faults, `${major} major, ${minor} minor`);
        single++;
    });
    assert.ok(single > 10, `${single} points`);
});

for (const ratio of [1, 2])
    test(`the canvas has the pixels of the screen at ${ratio} device pixels a pixel`, async ({ open }) => {
        const v = await open([FAULTS], { fragment: 'view=memory&memory_by=pages' });
        const session = await v.page.context().newCDPSession(v.page);
        await session.send('Emulation.setDeviceMetricsOverride', { width: 1024, height: 700, deviceScaleFactor: ratio, mobile: false });
        await shown(v);
        for (const isOpen of [false, true]) {
            await v.page.evaluate((is) => document.querySelectorAll('.equivalent').forEach((d) => (d.open = is)), isOpen);
            await v.until(
                () => canvas(v).locator('canvas').evaluateAll((all) => all.every((c) => Math.abs(c.width - c.clientWidth * devicePixelRatio) <= 1 && Math.abs(c.height - c.clientHeight * devicePixelRatio) <= 1)),
                'backing is as large as what is shown',
            );
        }
    });

test('a click selects the page; the inspector lists its faults, and leads to their ops', async ({ open }) => {
    const v = await open([FAULTS], { fragment: 'view=memory&memory_by=pages' });
    await shown(v);
    const inOps = faults(FAULTS, '--pages').pages.filter((p) => p.mapping === '/models/synth.gguf' && p.in_ops > 0);
    const points = (await coloured(v)).filter((p) => p.kind === 'major' || p.kind === 'minor');
    const answers = await told(v, points);
    const at = answers.findIndex((a) => inOps.some((p) => number(/^[\d,]+/.exec(a['File offset'] ?? '-1')?.[0] ?? '-1') === p.file_offset_bytes));
    assert.ok(at >= 0);
    await v.page.mouse.click(points[at].x, points[at].y);
    const from = number(/^[\d,]+/.exec(answers[at]['File offset'])[0]);
    await v.until(() => v.fragment().get('region')?.startsWith(`file0:${from}-`), 'the page is selected');
    const want = inOps.find((p) => p.file_offset_bytes === from);
    const list = v.page.locator('.inspector .page-faults li');
    await list.first().waitFor();
    assert.equal(await list.count(), want.faults);
    const text = (await list.allInnerTexts()).join('\n');
    assert.match(text, /token \d+, (OS )?thread \d+/);
    await list.getByRole('button').first().click();
    await v.until(() => /^\d+\.\d+$/.test(v.fragment().get('op') ?? ''), 'an op is selected');
});

test('keys go from page to page, and the table has the same pages', async ({ open }) => {
    const v = await open([FAULTS], { fragment: 'view=memory&memory_by=pages' });
    await shown(v);
    await canvas(v).focus();
    await v.press('ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown');
    const seen = new Set();
    for (let i = 0; i < 40 && !/No more pages/.test(await v.said()); i++) {
        const before = await v.said();
        await v.press('Shift+ArrowRight');
        await v.until(async () => (await v.said()) !== before && /Faults: |No more pages/.test(await v.said()), 'another page is said, or that there is none');
        const [, offset] = /offset: ([\d,]+) to/i.exec(await v.said()) ?? [];
        if (offset) seen.add(number(offset));
    }
    assert.ok(seen.size > 1, `${seen.size} pages`);
    await v.press('Shift+ArrowLeft', 'Enter');
    await v.until(() => v.fragment().get('region') !== null, 'a page is selected');
    await view(v).getByText('As a table').click();
    const grid = view(v).getByRole('grid');
    await grid.waitFor();
    const rows = await grid.locator('[role=row]').evaluateAll((all) => all.slice(1).map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)));
    const want = pagesOf();
    let compared = 0;
    for (const cells of rows.filter((each) => each[0] === 'file0')) {
        const [major, minor] = want.get(Math.floor(number(cells[1]) / PAGE) * PAGE);
        assert.deepEqual([number(cells[4]), number(cells[5])], [major, minor], cells.join(' '));
        compared++;
    }
    assert.ok(compared > 3);
});

test('what was not recorded is said, with the flag that records it', async ({ open }) => {
    const v = await open([FAULTS, LOADING], { fragment: 'view=memory&memory_by=loading' });
    await v.until(async () => /--residency/.test(await v.page.locator('.legend').innerText()), 'the flag is named');
    await v.show('view=memory&memory_by=pages&trace=1');
    await v.until(async () => /--faults/.test(await v.page.locator('.legend').innerText()), 'the flag is named');
});

test('loading: bins add up to the rows of faults --loading, and are told where they are drawn', async ({ open }) => {
    const v = await open([LOADING], { fragment: 'view=memory&memory_by=loading' });
    const rows = new Map(faults(LOADING, '--loading').loading.map((row) => [row.phase, row]));
    const { columns: got } = await columns(v, 'traces/0/memory/loading/bins?spans=file0-0-1000000-1');
    const sum = (name) => got[name].reduce((a, b) => a + b, 0);
    assert.equal(sum('resident_bytes'), rows.get('opened').resident_bytes);
    assert.equal(sum('mapped_bytes'), rows.get('mapped').fetched_bytes);
    assert.equal(sum('loaded_bytes'), rows.get('loaded').fetched_bytes);
    for (const name of ['used_bytes', 'unused_bytes', 'evicted_bytes', 'fetched_again_bytes'])
        assert.equal(sum(name), ['opened', 'mapped', 'loaded'].reduce((all, phase) => all + rows.get(phase)[name], 0), name);
    await shown(v);
    const points = await coloured(v);
    const answers = await told(v, points.filter((_, i) => i % 12 === 0));
    const words = ['resident when opened', 'fetched by mapping', 'fetched after that'];
    assert.ok(answers.length > 20);
    for (const a of answers) assert.ok(words.some((word) => a[word]), JSON.stringify(a));
    for (const word of [...words, 'used', 'not used', 'evicted before use', 'fetched again']) assert.ok(answers.some((a) => a[word]), `${word} is nowhere`);
});
