// The memory map: its figures are those of `heat --json`, what is small is found, and choosing in it
// shows everywhere.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function heat(name, ...args) {
    return JSON.parse(execFileSync(process.env.TT_BIN, ['heat', '--json', '--limit', '0', ...args, trace(name)]));
}

/** A reply in columns: { header, columns: { name: [...] } }. */
async function columns(v, path) {
    return v.page.evaluate(async (at) => {
        const data = await (await fetch(`/api/v1/${at}`)).arrayBuffer();
        const length = new DataView(data).getUint32(0, true);
        const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
        const types = { f64: Float64Array, u32: Uint32Array, u8: Uint8Array };
        const found = header.columns.map((c) => [c.name, [...new types[c.type](data, 4 + length + c.offset_bytes, c.n)]]);
        return { header, columns: Object.fromEntries(found) };
    }, path);
}

/** What the page was told of a weight's region, or of one of its experts. */
function unitOf(map, tensors, name, expert) {
    const weight = tensors.name.indexOf(name);
    const region = map.regions.weight.indexOf(weight);
    assert.ok(region >= 0, `${name} has no region`);
    return expert === null ? region : map.regions.first_slice[region] + expert;
}

const view = (v) => v.page.getByRole('region', { name: 'Memory map' });
const canvas = (v) => view(v).getByRole('application');
const tip = (v) => v.page.locator('.tooltip');

async function shown(v) {
    await canvas(v).waitFor();
    await v.until(async () => !/…/.test(await v.page.locator('.legend').innerText()), 'the legend has figures, and those of this part');
}

/** The pixels of the map below the one that shows what is pointed at. */
async function pixels(v, which = 0) {
    v.allow(/willReadFrequently/);
    await v.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return canvas(v).locator('canvas').nth(which).evaluate((c) => {
        const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
        let hash = 0;
        let inked = 0;
        for (let i = 0; i < data.length; i += 4) {
            inked += data[i + 3] > 0;
            hash = (hash * 31 + data[i] * 65536 + data[i + 1] * 256 + data[i + 2]) % 2147483647;
        }
        return { hash, inked };
    });
}

/** Where on the screen the tensor is in its layer's row: the pointer goes there, in the page, where
 * thousands of moves take no time, and the tooltip tells. */
async function pointAt(v, name) {
    const at = await canvas(v).evaluate(async (element, want) => {
        const box = element.getBoundingClientRect();
        const told = async (x, y) => {
            element.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y, bubbles: true }));
            await new Promise((done) => setTimeout(done));
            return document.querySelector('.tooltip strong')?.textContent ?? '';
        };
        const layer = want.split('.').slice(0, 2).join('.');
        for (let y = box.top + 24; y < box.bottom; y += 7) {
            if (!(await told(box.left + box.width / 2, y)).startsWith(layer)) continue;
            for (let x = box.left + 160; x < box.right; x += 3) if ((await told(x, y)) === want) return { x, y };
        }
        return null;
    }, name);
    assert.ok(at, `${name} is nowhere on the map`);
    await v.page.mouse.move(at.x, at.y);
    await v.until(async () => (await tip(v).locator('strong').innerText()) === name, 'the tooltip is about it');
    return at;
}

for (const [name, by, args, query] of [
    ['moe', 'expert', [], ''],
    ['moe', 'tensor', ['--token', '3'], '?batch=3'],
    ['moe', 'expert', ['--token', '2..5'], '?batch=2&batch_to=5'],
    ['tiny', 'tensor', ['--layer', '1'], '?layer=1'],
])
    test(`the figures are those of heat --by ${by} ${args.join(' ')}`, async ({ open }) => {
        const want = heat(name, '--by', by, ...args).rows;
        const v = await open([name]);
        const [map, tensors] = [await v.api('traces/0/memory'), await v.api('traces/0/tensors')];
        const { columns: got } = await columns(v, `traces/0/memory/heat${query}`);
        let read = 0;
        for (const row of want) {
            const at = got.unit.indexOf(unitOf(map, tensors, row.tensor, row.expert_id ?? null));
            assert.equal(at >= 0 ? got.accesses[at] : 0, row.accesses, `${row.tensor} ${row.expert_id}`);
            if (at < 0) continue;
            read++;
            assert.equal(got.read_bytes[at], row.read_bytes);
            assert.equal(got.touched_bytes[at], row.touched_bytes);
            assert.ok(Math.abs(got.time_ns[at] - row.time_ns) < 1);
            assert.equal(got.first_batch_id[at], row.first_batch_id);
            assert.equal(got.last_batch_id[at], row.last_batch_id);
            assert.ok(Math.abs(got.last_relative_ns[at] - row.last_relative_ns) < 1);
        }
        assert.ok(read > 5);
    });

test('the table says what heat --json says', async ({ open }) => {
    const want = new Map(heat('tiny', '--by', 'tensor').rows.map((row) => [row.tensor, row]));
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    await view(v).getByText('As a table').click();
    const rows = await view(v).locator('.map-table [role=row]').evaluateAll((all) =>
        all.slice(1).map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)));
    assert.ok(rows.length >= 5);
    const told = rows.filter((cells) => want.has(cells[1]));
    assert.ok(told.length >= 5);
    for (const cells of told) assert.equal(cells[6], String(want.get(cells[1]).accesses), cells.join(' '));
});

test('what is pointed at is told and what is clicked is selected, in all views', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    const at = await pointAt(v, 'blk.1.ffn_down.weight');
    const facts = await tip(v).innerText();
    for (const fact of ['ffn_down', 'Offset', 'Size', 'Accesses', 'Origin', 'First use', 'Last use']) assert.ok(facts.includes(fact), fact);
    const before = await pixels(v);
    await v.page.mouse.click(at.x, at.y);
    await v.untilFragment('tensor', 'blk.1.ffn_down.weight');
    assert.equal(v.fragment().get('layer'), '1');
    const tensors = await v.api('traces/0/tensors');
    const row = tensors.name.indexOf('blk.1.ffn_down.weight');
    assert.equal(v.fragment().get('region'), `file0:${tensors.file_offset_bytes[row]}-${tensors.file_offset_bytes[row] + tensors.size_bytes[row]}`);
    await v.until(async () => (await pixels(v)).hash !== before.hash, 'the map shows the selection');
    await v.page.getByRole('button', { name: 'Log of the selection' }).click();
    // The log below follows.
    await v.until(
        async () => /^1\b|MUL_MAT/.test(await v.page.locator('.memory-log').innerText()) && !/attn_q/.test(await v.page.locator('.memory-log').innerText()),
        'the log shows the ops of that tensor only',
    );
    // Its head says the filter, and how many ops pass: each batch multiplies by that weight once.
    const batches = (await v.api('traces/0/summary')).batches.batch_id.length;
    const head = v.page.locator('.memory-log-head');
    await v.until(
        async () => (await head.innerText()).includes(`(filtered: layer:1 tensor:blk.1.ffn_down.weight) [${batches} entries]`),
        'the head of the log says its filter and its entries',
    );
    // What a row read, in full: each source with its size, layer and place, and the sum.
    const facts2 = (await v.page.locator('.memory-log [role=row]').nth(1).locator('[title]').last().getAttribute('title')).split('\n');
    const offset = tensors.file_offset_bytes[row].toString(16);
    assert.ok(facts2.some((line) => line.startsWith('blk.1.ffn_down.weight: ') && line.includes(', layer 1, ') && line.includes(`0x${offset}`)), facts2.join('|'));
    assert.match(facts2.at(-1), /^2 sources: [\d.,]+ [KM]?i?B$/);
    await v.press('Escape');
    await v.untilFragment('tensor', null);
    await v.until(async () => /\(all\) \[[\d,]+ entries\]/.test(await head.innerText()), 'without a selection it shows all');
});

test('a tiny tensor is magnified, and its arrow drawn', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    await pointAt(v, 'blk.1.ffn_down.weight');
    const large = (await pixels(v, 1)).inked;
    await pointAt(v, 'blk.1.attn_norm.weight');
    const small = (await pixels(v, 1)).inked;
    // A frame around the one; a box of neighbours and an arrow for the other.
    assert.ok(small > large * 3, `${small} pixels against ${large}`);
});

test('the keyboard goes along tensors and rows, and selects', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    await canvas(v).focus();
    await v.press('ArrowRight');
    await v.until(async () => /token_embd\.weight/.test(await v.said()), 'the first tensor is told');
    await v.press('ArrowDown', 'ArrowDown', 'ArrowUp');
    await v.until(async () => /Row L0/.test(await v.said()), 'the row below is told');
    await v.press('Home', 'Enter');
    await v.until(() => v.fragment().get('layer') === '0', 'a tensor of layer 0 is selected');
    const first = v.fragment().get('tensor');
    await v.press('ArrowRight', 'Enter');
    await v.until(() => v.fragment().get('tensor') !== first, 'the next one is selected');
    // F fits what is selected; 0 shows all again.
    await v.press('KeyF');
    await v.until(() => v.fragment().get('memory_x') !== null, 'zoomed');
    await v.press('Shift+Digit0');
    await v.untilFragment('memory_x', null);
    await v.hold('KeyW', () => v.until(() => v.fragment().get('memory_x') !== null, 'zoomed by holding W'));
});

test('experts are reached by keys', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_log=1&tensor=blk.0.ffn_down_exps.weight' });
    await shown(v);
    await v.page.locator('.memory-log [role=row]').nth(1).waitFor();
    await canvas(v).focus();
    await v.press('Shift+ArrowRight', 'Shift+ArrowRight');
    await v.until(async () => /Expert: 1 \(0 to/.test(await v.said()), 'the second expert is told');
    await v.press('Enter');
    await v.until(() => v.fragment().get('region') !== null, 'its bytes are selected');
    const [from, to] = v.fragment().get('region').split(':')[1].split('-').map(Number);
    const tensors = await v.api('traces/0/tensors');
    const row = tensors.name.indexOf('blk.0.ffn_down_exps.weight');
    const each = Math.floor(tensors.size_bytes[row] / tensors.ne[row][2]);
    assert.equal(from, tensors.file_offset_bytes[row] + each);
    assert.equal(to - from, each);
    // The log has the ops that read this expert, and no others.
    assert.equal(v.fragment().get('slice'), '1');
    const log = JSON.parse(execFileSync(process.env.TT_BIN, ['log', '--json', '--limit', '0', '-T', 'blk.0.ffn_down_exps.weight', trace('moe')])).ops;
    const reads = log.filter((op) => op.sources.some((s) => s.name === 'blk.0.ffn_down_exps.weight' && s.experts?.some((e) => e.expert_id === 1)));
    assert.ok(reads.length > 0 && reads.length < log.length);
    const rows = v.page.locator('.memory-log [role=grid], .memory-log [role=table]').first();
    await v.until(async () => Number(await rows.getAttribute('aria-rowcount')) === reads.length + 1, `${reads.length} rows`);
});

test('tokens animate the heat; experts that a token did not use are never touched', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&token=2&tensor=blk.0.ffn_down_exps.weight' });
    await shown(v);
    const legend = () => v.page.locator('.legend').innerText();
    const map = await v.api('traces/0/memory');
    const first = unitOf(map, await v.api('traces/0/tensors'), 'blk.0.ffn_down_exps.weight', 0);
    const used = async (token) => new Set((await columns(v, `traces/0/memory/heat?batch=${token}`)).columns.unit);
    const [two, three] = [await used(2), await used(3)];
    const expert = [...Array(8).keys()].find((e) => !two.has(first + e) && three.has(first + e));
    assert.notEqual(expert, undefined, 'tokens 2 and 3 use the same experts');
    await canvas(v).focus();
    for (let e = 0; e <= expert; e++) await v.press('Shift+ArrowRight');
    const told = async () => (await canvas(v).getAttribute('aria-label')) ?? '';
    await v.until(async () => (await told()).endsWith(`expert ${expert}: never`), 'token 2 never touched it');
    const one = await pixels(v);
    await v.press('KeyN');
    await v.untilFragment('token', '3');
    await v.until(async () => (await told()).endsWith(`expert ${expert}: 1`), 'token 3 did');
    assert.notEqual((await pixels(v)).hash, one.hash);
    assert.match(await legend(), /token 3/);
    await v.press('KeyU');
    await v.untilFragment('memory_part', 'until');
    await v.until(async () => /tokens 0 to 3/.test(await legend()), 'the legend says up to it');
    const most = async () => (await columns(v, 'traces/0/memory/heat?batch=0&batch_to=3')).columns.accesses;
    assert.ok((await most()).length > (await columns(v, 'traces/0/memory/heat?batch=3')).columns.accesses.length);
});

test('colours by pages and faults where they were observed, and only there', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory' });
    await shown(v);
    const button = (name) => view(v).getByRole('button', { name, exact: true });
    const before = await pixels(v);
    await button('In RAM').click();
    await v.untilFragment('memory_by', 'residency');
    await v.until(async () => /In RAM/.test(await v.page.locator('.legend').innerText()) && (await pixels(v)).hash !== before.hash, 'other colours');
    await pointAt(v, 'blk.0.attn_norm.weight');
    assert.ok(/In RAM/.test(await tip(v).innerText()));
    await button('Page faults').click();
    await v.until(async () => (await v.page.locator('.legend').innerText()).startsWith('Page faults'), 'faults');
    await v.untilFragment('memory_by', 'faults');
    for (const next of ['pages', 'loading', 'accesses']) {
        await v.press('KeyC');
        await v.untilFragment('memory_by', next);
    }
    const w = await open(['tiny'], { fragment: 'view=memory' });
    await shown(w);
    assert.ok(await view(w).getByRole('button', { name: 'In RAM', exact: true }).isDisabled());
    assert.match(await view(w).getByRole('button', { name: 'Page faults', exact: true }).getAttribute('title'), /--faults/);
});

test('all of it is in the address', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_log=1' });
    await shown(v);
    await v.page.locator('.memory-log [role=row]').nth(1).waitFor();
    await v.press('KeyL', 'KeyR', 'KeyX');
    await view(v).getByRole('button', { name: 'Time', exact: true }).click();
    await v.page.getByRole('separator', { name: 'Map and log' }).focus();
    await v.press('ArrowDown');
    await v.until(() => v.fragment().get('memory_split') !== null, 'the divider moved');
    await v.hold('KeyW', () => v.until(() => v.fragment().get('memory_x') !== null, 'zoomed'));
    await v.until(async () => {
        const was = v.page.url();
        await new Promise((done) => setTimeout(done, 700));
        return v.page.url() === was;
    }, 'the zoom has come to rest');
    const want = v.page.url();
    const picture = await pixels(v);
    await v.page.reload();
    await shown(v);
    await v.until(async () => (await pixels(v)).hash === picture.hash, 'the same picture after a reload');
    assert.equal(v.page.url(), want);
    assert.deepEqual(
        ['memory_by', 'memory_scale', 'memory_widths', 'memory_fit'].map((name) => v.fragment().get(name)),
        ['time', 'linear', 'rank', 'same'],
    );
});

test('the strip stands above the other views if it is wanted there, and selects', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    const bar = v.page.getByRole('region', { name: 'Memory, minimised' });
    await v.show('view=stats');
    await v.ready();
    assert.equal(await bar.count(), 0);
    await v.show('view=memory');
    await view(v).locator('.memory-menu summary').click();
    await view(v).getByLabel('Memory strip above the other views').check();
    await v.press('Escape', 'Digit7');
    await v.untilFragment('view', 'stats');
    const proxy = bar.getByRole('application');
    await proxy.focus();
    await v.press('ArrowRight', 'ArrowRight', 'Enter');
    await v.until(() => v.fragment().get('tensor') !== null, 'a tensor is selected');
    assert.equal(v.fragment().get('view'), 'stats');
    await v.press('ArrowDown');
    await v.until(async () => /Row MEMORY/.test(await v.said()), 'the other track is told');
    await bar.getByRole('button', { name: 'Full map' }).click();
    await v.until(() => (v.fragment().get('view') ?? 'memory') === 'memory', 'the whole map');
    await v.until(async () => (await bar.count()) === 0, 'no bar above the map itself');
});

test('the picture has all rows of the map, also those scrolled away', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory', viewport: { width: 1024, height: 400 } });
    await shown(v);
    const svg = (await v.shared('SVG')).data.toString();
    for (const row of ['token_embd', 'L0', 'L3', 'output', 'compute 5']) assert.ok(svg.includes(`>${row}</text>`), row);
});

test('a trace that knows no model file says so, and shows the buffers', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats', ready: false });
    await v.page.route('**/traces/0/memory', async (route) => {
        const reply = await route.fetch();
        const map = await reply.json();
        const n = map.segments.n_regions[0];
        // Regions stay where they are: no segment has those of the file any more.
        for (const column of Object.values(map.segments)) column.shift();
        assert.equal(map.segments.first_region[0], n);
        await route.fulfill({ response: reply, json: map });
    });
    await v.page.reload();
    await v.show('view=memory');
    await shown(v);
    assert.match(await v.page.getByRole('note').innerText(), /no FILE track/);
    await canvas(v).focus();
    await v.press('ArrowRight');
    await v.until(async () => /Row weights/.test(await v.said()), 'the first buffer is told');
});

test('weights that were read from copies: one line says so, and what to do', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    const { notes } = await v.api('traces/0/summary');
    const said = execFileSync(process.env.TT_BIN, ['heat', '--json', '--limit', '0', trace('tiny')]);
    const copied = JSON.parse(said).rows.filter((row) => row.copied_bytes > 0);
    const line = view(v).locator('.memory-note');
    // Which weights an engine repacks depends on the processor.
    assert.equal(notes.length, copied.length > 0 ? 1 : 0);
    assert.equal(await line.count(), notes.length);
    if (notes.length === 0) return;
    assert.match(notes[0], new RegExp(`^${copied.length} weights? \\(.*repacked copies, not from the mapped file: --no-repack`));
    assert.equal(await line.innerText(), `${notes[0]}.`);
    const { height } = await line.boundingBox();
    assert.ok(height < 30, `one line, not ${height} px`);
    // Nothing of a run that reads the file.
    await v.page.route('**/traces/0/summary', async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, json: { ...(await response.json()), notes: [] } });
    });
    await v.page.reload();
    await shown(v);
    assert.equal(await line.count(), 0);
});

test('a server that fails is told, and asked again', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats' });
    v.allow(/500/);
    await v.page.route('**/traces/0/memory', (route) => route.fulfill({ status: 500, json: { error: { status: 500, message: 'the disk is on fire' } } }));
    await v.page.reload();
    await v.show('view=memory');
    await v.page.getByRole('alert').getByText('the disk is on fire').waitFor();
    await v.page.unroute('**/traces/0/memory');
    await v.page.getByRole('button', { name: 'Try again' }).click();
    await shown(v);
});

test('zooming jumps where motion is reduced', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory&tensor=blk.1.ffn_down.weight', reducedMotion: true });
    await shown(v);
    const before = await pixels(v);
    await v.press('KeyF');
    assert.notEqual((await pixels(v)).hash, before.hash);
});

test('a measure that differs is chosen first, with the reason', async ({ open }) => {
    const legend = (v) => v.page.locator('.legend').innerText();
    // Dense: nearly every weight was read once a token.
    const rows = heat('tiny', '--by', 'tensor').rows;
    const tally = new Map();
    for (const row of rows) tally.set(row.accesses, (tally.get(row.accesses) ?? 0) + 1);
    const [usual, times] = [...tally].sort((a, b) => b[1] - a[1])[0];
    assert.ok(times >= rows.length * 0.9, 'the weights of a dense model are read alike');
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    assert.match(await legend(v), /^Time, the whole run/);
    assert.match(await legend(v), new RegExp(`weight was read ${usual} times; coloured by time instead\\.`));
    assert.equal(v.fragment().get('memory_by'), null);
    // Another part of the run does not change it; what is chosen stays, and needs no reason.
    await v.press('KeyN');
    await v.untilFragment('token', '0');
    await v.until(async () => /^Time, token 0/.test(await legend(v)), 'the legend is about the token');
    await view(v).getByRole('button', { name: 'Accesses', exact: true }).click();
    await v.untilFragment('memory_by', 'accesses');
    await v.until(async () => /^Accesses/.test(await legend(v)) && !/instead/.test(await legend(v)), 'accesses, as chosen');
    // Experts differ.
    const w = await open(['moe'], { fragment: 'view=memory' });
    await shown(w);
    assert.match(await legend(w), /^Accesses/);
    assert.doesNotMatch(await legend(w), /instead/);
});

test('accesses are written on tensors that are wide enough', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await shown(v);
    // The picture as it is drawn, as text.
    const texts = [...(await v.shared('SVG')).data.toString().matchAll(/<text x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]*)</g)].map(([, x, y, text]) => ({ x: Number(x), y: Number(y), text }));
    const rows = heat('tiny', '--by', 'tensor').rows;
    for (const tensor of ['ffn_down', 'ffn_up', 'ffn_gate'])
        for (const layer of [0, 3]) {
            const want = rows.find((r) => r.tensor === `blk.${layer}.${tensor}.weight`).accesses;
            const label = texts.find((t) => t.text === `L${layer}`);
            const name = texts.find((t) => t.text === tensor && Math.abs(t.y - label.y) < 6);
            const counts = texts.filter((t) => Math.abs(t.y - name.y) < 2 && t.x > name.x && t.text.endsWith('×')).sort((a, b) => a.x - b.x);
            assert.equal(counts[0].text, `${want}×`, `${tensor} of layer ${layer}`);
        }
});

test('the model in RAM is a number, too, at the selected moment', async ({ open }) => {
    const made = `${process.env.TT_SOURCE_DIR}/tests/golden/good-memory-experts.ttrace`;
    const { samples } = JSON.parse(execFileSync(process.env.TT_BIN, ['faults', '--residency', '--json', made])).residency;
    const v = await open([made], { fragment: 'view=memory&memory_by=residency' });
    await shown(v);
    const shares = new Set();
    for (const token of [0, 2, 5]) {
        // The last sample of the token.
        const want = samples.filter((s) => s.batch_id === token).at(-1);
        assert.equal(want.moment, 'batch_end');
        const share = `${((100 * want.resident_bytes) / want.observed_bytes).toFixed(1)} %`;
        shares.add(share);
        await v.show(`view=memory&memory_by=residency&token=${token}`);
        const said = new RegExp(` in RAM \\(${share}\\) at the end of token ${token}`);
        await v.until(async () => said.test(await v.page.locator('.legend').innerText()), `${said}`);
    }
    assert.ok(shares.size > 1);
});

test('afterglow: what was used longer ago is paler', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&token=6&memory_part=glow&memory_by=accesses&tensor=blk.1.ffn_up_exps.weight' });
    await shown(v);
    assert.match(await v.page.locator('.legend').innerText(), /tokens 3 to 6/);
    const map = await v.api('traces/0/memory');
    const unit = unitOf(map, await v.api('traces/0/tensors'), 'blk.1.ffn_up_exps.weight', 0);
    const { columns: got } = await columns(v, 'traces/0/memory/heat?batch=3&batch_to=6');
    const experts = [...Array(8).keys()].map((e) => ({ e, at: got.unit.indexOf(unit + e) })).filter(({ at }) => at >= 0)
        .map(({ e, at }) => ({ e, last: got.last_batch_id[at], times: got.accesses[at] }));
    const now = experts.find((x) => x.last === 6);
    const old = experts.find((x) => x.last < 6 && x.times === now.times) ?? experts.find((x) => x.last < 6);
    assert.ok(now && old, 'experts of this and of an earlier token');
    // Colours on the screen, of the experts' slices in the row of the selected tensor.
    const at = await pointAt(v, 'blk.1.ffn_up_exps.weight');
    const colourOf = async (e) => {
        let found = null;
        const box = await canvas(v).boundingBox();
        for (let x = at.x; x < box.x + box.width && found === null; x += 4) {
            await v.page.mouse.move(x, at.y);
            const facts = await tip(v).innerText().catch(() => '');
            if (facts.startsWith('blk.1.ffn_up_exps.weight') && facts.includes(`${e} (0 to 7)`)) found = x;
        }
        assert.notEqual(found, null, `expert ${e} is on the screen`);
        v.allow(/willReadFrequently/);
        await v.page.mouse.move(0, 0);
        return canvas(v).locator('canvas').first().evaluate((c, [x, y]) => {
            const { left, top } = c.getBoundingClientRect();
            const ratio = c.width / c.clientWidth;
            // In the lower half of the mark: there are the slices.
            return [...c.getContext('2d').getImageData(Math.round((x + 1 - left) * ratio), Math.round((y - top + 16) * ratio), 1, 1).data.slice(0, 3)];
        }, [found, at.y]);
    };
    const bright = ([r, g, b]) => r + g + b;
    // Dark theme: brighter is stronger.
    const [strong, pale] = [await colourOf(now.e), await colourOf(old.e)];
    assert.ok(bright(strong) > bright(pale), `expert ${now.e} (${strong}) glows more than ${old.e} (${pale})`);
});

test('the picture has room; the log is below it when wanted', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory', viewport: { width: 1024, height: 700 } });
    await shown(v);
    assert.equal(await v.page.locator('.memory-log [role=row]').count(), 0);
    assert.equal(await v.page.locator('.memory-tools').evaluate((e) => e.clientHeight < 40), true, 'the tools take one line');
    const legend = await v.page.locator('.legend').evaluate((e) => ({ height: e.clientHeight, cut: e.scrollWidth - e.clientWidth }));
    assert.ok(legend.height < 64 && legend.cut <= 0, `the legend takes two lines at most, and none is cut: ${JSON.stringify(legend)}`);
    await v.page.getByRole('button', { name: 'Log of the selection' }).click();
    await v.untilFragment('memory_log', '1');
    await v.page.locator('.memory-log [role=row]').nth(1).waitFor();
    await v.page.getByLabel('Colour by').last().selectOption('time');
    await v.untilFragment('memory_by', 'time');
});
