// The graph of a token: what is in it, opening it, walking it, and graphs that cannot be.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function graphJson(name, token) {
    const text = execFileSync(process.env.TT_BIN, ['graph', '--json', '-t', String(token), trace(name)], {
        maxBuffer: 1 << 28,
        stdio: ['ignore', 'pipe', 'ignore'],
    });
    return JSON.parse(text);
}

async function openGraph(open, name, fragment = '', options = {}) {
    const v = await open([name], { fragment: `view=graph${fragment}`, ...options });
    await v.page.locator('.graph-view').waitFor();
    await settled(v);
    return v;
}

/** Nothing is being laid out, and the address (written 0.7 s after the camera has come to rest) stays. */
async function settled(v) {
    await v.until(async () => (await v.page.locator('.graph-busy progress').count()) === 0, 'the layout is done');
    await v.still(() => v.page.url(), 850, 'the address stays');
}

const proxy = (v) => v.page.getByRole('application', { name: /^Graph of the token/ });
const label = (v) => proxy(v).getAttribute('aria-label');

async function walkTo(v, key, pattern) {
    await v.press(key);
    await v.until(async () => pattern.test(await label(v)), `${key} leads to ${pattern} (it is ${await label(v)})`);
}

test('counts are those of graph --json, in the API and in words', async ({ open }) => {
    for (const [name, token] of [['tiny', 0], ['tiny', 5], ['moe', 3]]) {
        const told = graphJson(name, token);
        const v = await openGraph(open, name, `&token=${token}`);
        const reply = await v.api(`traces/0/graph?batch=${token}`);
        for (const key of ['nodes_total', 'leafs_total', 'edges_total', 'ops_recorded', 'fused_ops', 'graph_run', 'graph_id'])
            assert.equal(reply[key], told[key], `${name} ${token}: ${key}`);
        assert.equal(reply.tensors.name.length, told.nodes.length);
        assert.equal(reply.edges.source.length, told.edges.length);
        const keyOf = (e) => `${e.source} ${e.target} ${e.label} ${e.is_view}`;
        const edges = reply.edges.source.map((source, i) => {
            const slot = reply.edges.slot[i];
            return keyOf({ source, target: reply.edges.target[i], label: slot === null ? 'view' : `src ${slot}`, is_view: reply.edges.is_view[i] });
        });
        assert.deepEqual(edges.sort(), told.edges.map(keyOf).sort());
        told.nodes.forEach((n, i) => {
            assert.equal(reply.tensors.name[i], n.name);
            if (n.kind !== 'node') return;
            assert.equal(reply.tensors.duration_ns[i], n.duration_ns);
            assert.equal(reply.tensors.fused_into[i], n.fused_into);
            assert.equal(reply.tensors.weight_bytes[i], n.weight_bytes);
        });
        const facts = await v.page.locator('.graph-facts').first().textContent();
        const grouped = new Intl.NumberFormat('en');
        assert.match(facts, new RegExp(`token ${token} `));
        assert.ok(facts.includes(`${grouped.format(told.nodes_total)} nodes, ${grouped.format(told.leafs_total)} leafs, ${grouped.format(told.edges_total)} edges`), facts);
    }
});

test('the critical path is one: each step needs the one before, and no longer than the run', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5');
    const g = await v.api('traces/0/graph?batch=5');
    const path = g.critical_path;
    assert.ok(path.nodes.length > 10);
    assert.ok(path.total_ns <= g.duration_ns && path.total_ns > 0);
    const sum = path.nodes.reduce((all, n) => all + g.tensors.duration_ns[n], 0);
    assert.ok(Math.abs(sum - path.total_ns) <= path.nodes.length, `${sum} is not ${path.total_ns}`);
    assert.equal(path.ignored_sources, 0);
    await proxy(v).focus();
    await v.press('KeyC');
    await v.untilFragment('graph.path', '0');
    assert.equal(await v.page.getByLabel('Critical path').isChecked(), false);
});

test('layers open by keys, ops are walked to and selected, and a reload shows the same', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5');
    await proxy(v).focus();
    await walkTo(v, 'ArrowDown', /Input: /);
    await walkTo(v, 'ArrowDown', /Layer 0: /);
    await walkTo(v, 'ArrowRight', /Layer 1: /);
    await walkTo(v, 'ArrowUp', /Layer 0: /);
    await v.press('Enter');
    await v.untilFragment('graph.open', '0');
    await settled(v);
    await walkTo(v, 'ArrowDown', /RMS_NORM\+MUL .*computed from .*blk\.0\.attn_norm\.weight \((file|buffer)\)/);
    await walkTo(v, 'ArrowDown', /MUL_MAT .*cur-0, Layer 0/);
    await walkTo(v, 'ArrowUp', /RMS_NORM\+MUL/);
    await v.press('Enter');
    await v.untilFragment('tensor', 'blk.0.attn_norm.weight');
    assert.equal(v.fragment().get('layer'), '0');
    const [run, node] = v.fragment().get('op').split('.').map(Number);
    const g = await v.api('traces/0/graph?batch=5');
    assert.equal(run, g.run);
    assert.match(g.tensors.name[node], /norm-0/);
    await settled(v);
    const before = v.page.url();
    const [x, y, scale] = v.fragment().get('graph.at').split('_').map(Number);
    assert.ok(Number.isFinite(x) && Number.isFinite(y) && scale > 0);
    await v.page.reload();
    await v.ready();
    await v.page.locator('.graph-view').waitFor();
    await settled(v);
    assert.equal(v.page.url(), before);
    // Escape clears what is selected, not what is open.
    await v.press('Escape');
    await v.untilFragment('op', null);
    assert.equal(v.fragment().get('graph.open'), '0');
});

test('another token keeps what is open and where one looks; only times change', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5&graph.open=1');
    const at = v.fragment().get('graph.at');
    const times = [];
    for (const token of [6, 7]) {
        await v.press('KeyN');
        await v.untilFragment('token', String(token));
        await v.until(async () => (await v.page.locator('.graph-facts').first().textContent()).startsWith(`token ${token} `), 'its graph is shown');
        await settled(v);
        times.push(await v.page.locator('.graph-facts').first().textContent());
    }
    assert.notEqual(times[0], times[1]);
    assert.equal(v.fragment().get('graph.open'), '1');
    assert.equal(v.fragment().get('graph.at'), at);
});

/** What the tooltip says in the middle of the picture. */
async function underTheMiddle(v) {
    await settled(v);
    const box = await proxy(v).boundingBox();
    await v.page.mouse.move(box.x + box.width / 2 + 3, box.y + box.height / 2);
    await v.page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const tip = v.page.locator('.tooltip');
    await tip.waitFor();
    return tip.textContent();
}

test('what another view selected comes into sight, its layer opened for that; F fits it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log&token=5&tensor=blk.2.ffn_up.weight' });
    const part = v.page.getByRole('region', { name: 'Tensor', exact: true });
    await part.getByRole('button', { name: 'Graph' }).click();
    await v.untilFragment('graph.open', '2');
    await v.until(async () => /blk\.2\.ffn_up\.weight/.test(await label(v)), 'the cursor is at the weight');
    assert.match(await underTheMiddle(v), /blk\.2\.ffn_up\.weight/);
    await v.until(() => v.fragment().get('graph.at') !== null, 'the place is in the address');
    await settled(v);
    const one = v.fragment().get('graph.at');
    // Another token does not move the picture.
    await v.press('KeyN');
    await settled(v);
    assert.equal(v.fragment().get('graph.at'), one);
    await v.press('KeyF');
    await v.until(async () => v.fragment().get('graph.at') !== one, 'F comes nearer');
    await settled(v);
    const near = v.fragment().get('graph.at');
    await v.page.reload();
    await v.ready();
    await settled(v);
    assert.equal(v.fragment().get('graph.at'), near);
});

test('F fits at the first press, whatever is open and wherever one looks', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5', { reducedMotion: true });
    const { nodes } = graphJson('tiny', 5);
    const node = nodes.find((n) => n.kind === 'node' && n.name === 'ffn_out-2').id;
    const reply = await v.api('traces/0/graph?batch=5');
    for (const [opened, eye] of [['', '0_0_1'], ['2', '-40_-40_0.5'], ['0.2', '900_500_4']]) {
        await v.show(`view=graph&token=5&op=${reply.run}.${node}&layer=2&graph.open=${opened}&graph.at=${eye}`);
        await v.page.reload();
        await v.ready();
        await settled(v);
        await proxy(v).focus();
        await v.press('KeyF');
        assert.match(await underTheMiddle(v), /ffn_out-2/);
        const at = v.fragment().get('graph.at');
        assert.equal(Number(at.split('_')[2]), 2.5, `from ${opened || 'all closed'}, ${eye}`);
        await v.press('KeyF');
        await settled(v);
        assert.equal(v.fragment().get('graph.at'), at, 'there is nothing left for a second press');
    }
});

/** "26.9 us": three digits, as the page writes times. */
function timeWords(ns) {
    const [unit, name] = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']].find(([each]) => ns >= each);
    return `${(ns / unit).toPrecision(3)} ${name}`;
}

test('boxes show their times: all that are large enough for two lines, the slowest op before others', async ({ open }) => {
    for (const [name, token] of [['moe', 3], ['tiny', 5]]) {
        const { nodes } = graphJson(name, token);
        const ops = nodes.filter((n) => n.kind === 'node' && n.duration_ns !== null && (n.fused_into ?? n.id) === n.id && n.layer_id !== null);
        const slowest = ops.reduce((most, n) => (n.duration_ns > most.duration_ns ? n : most));
        const layer = slowest.layer_id;
        const v = await openGraph(open, name, `&token=${token}&layer=${layer}`, { reducedMotion: true, viewport: { width: 1900, height: 1400 } });
        await v.page.addInitScript(() => {
            window.drawn = [];
            const real = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
                window.drawn.push(text);
                return real.call(this, text, ...rest);
            };
        });
        const { run } = await v.api(`traces/0/graph?batch=${token}`);
        const address = `view=graph&token=${token}&op=${run}.${slowest.id}&layer=${layer}&graph.open=${layer}`;
        await v.show(address);
        await v.page.reload();
        await v.ready();
        await settled(v);
        await proxy(v).focus();
        await v.press('KeyF');
        await settled(v);
        const [x, y, fitted] = v.fragment().get('graph.at').split('_').map(Number);
        const box = await proxy(v).boundingBox();
        for (const scale of [0.65, 0.8, 1, 2]) {
            // The place where F leads, at another scale.
            const moved = (at, length) => Math.round(at + length / 2 / fitted - length / 2 / scale);
            await v.show(`${address}&graph.at=${moved(x, box.width)}_${moved(y, box.height)}_${scale}`);
            await v.page.reload();
            await v.ready();
            await settled(v);
            const drawn = await v.page.evaluate(() => window.drawn);
            const words = timeWords(slowest.duration_ns);
            assert.ok(drawn.includes(words), `${name}, scale ${scale}: ${slowest.op_desc} ${words} is not among ${[...new Set(drawn)].join(' | ')}`);
            if (scale > 0.65 && scale < 2)
                for (const each of new Set(ops.filter((n) => n.layer_id === layer && drawn.includes(n.name)).map((n) => n.name))) {
                    // Several ops may have one name, not all of them in sight.
                    const times = ops.filter((n) => n.name === each).map((n) => timeWords(n.duration_ns));
                    assert.ok(times.some((time) => drawn.includes(time)), `scale ${scale}: ${each} without ${times}`);
                }
        }
    }
});

test('an op that another view selected comes into sight, also without weights', async ({ open }) => {
    const v = await open(['nan'], { fragment: 'view=values' });
    await v.page.getByRole('button', { name: 'Show it in the graph' }).click();
    await v.until(() => v.fragment().get('graph.open') !== null, 'its layer is opened');
    const [run, node] = v.fragment().get('op').split('.');
    const { log } = await v.api(`traces/0/op?run=${run}&node=${node}`);
    assert.ok((await underTheMiddle(v)).includes(log.name), `${log.name} is in the middle`);
    // A weight where it is read.
    await v.show('view=graph&token=3&tensor=blk.1.ffn_down.weight&graph.weights=0');
    await v.until(() => (v.fragment().get('graph.open') ?? '').includes('1'), 'the other layer is opened');
    assert.match(await underTheMiddle(v), /ffn_out-1.*MUL_MAT|MUL_MAT.*ffn_out-1/s);
});

test('searching counts, goes round, opens where it leads, and selects', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5');
    await proxy(v).focus();
    await v.press('Slash');
    await v.page.keyboard.type('ffn down');
    const found = await v.api('traces/0/graph/search?batch=5&q=ffn%20down');
    assert.ok(found.total >= 8, 'an op and a weight of each layer');
    await v.until(async () => (await v.page.locator('#main').getByRole('search').textContent()).includes(String(found.total)), 'the count is told');
    await v.page.keyboard.press('Enter');
    await v.until(async () => (await v.page.locator('#main').getByRole('search').textContent()).includes(`1 of ${found.total}`), 'the first is shown');
    const g = await v.api('traces/0/graph?batch=5');
    const isOp = (id) => g.tensors.kind?.[id] === 'node' || id < g.nodes_total;
    const first = found.ids[0];
    if (isOp(first)) await v.untilFragment('op', `${g.run}.${first}`);
    else await v.untilFragment('tensor', g.tensors.weight[first] ?? g.tensors.name[first]);
    // In another token's graph, which is searched again, it is still the first.
    const again = v.page.waitForResponse(/graph\/search/);
    const next = v.fragment();
    next.set('token', '6');
    next.delete('op');
    await v.show(next.toString());
    await again;
    await v.rest();
    assert.match(await v.page.locator('#main').getByRole('search').textContent(), new RegExp(`1 of ${found.total}`));
    await v.page.locator('#main').getByRole('search').getByRole('searchbox').focus();
    await v.page.keyboard.press('Shift+Enter');
    await v.until(async () => (await v.page.locator('#main').getByRole('search').textContent()).includes(`${found.total} of ${found.total}`), 'the last is shown');
    const last = found.ids.at(-1);
    await v.untilFragment('tensor', g.tensors.weight[last] ?? g.tensors.name[last]);
    await v.page.getByRole('complementary').getByRole('heading', { name: `Tensor ${g.tensors.weight[last]}` }).waitFor();
    await v.until(() => v.fragment().get('graph.open') !== null, 'parts were opened');
    assert.equal(v.fragment().get('graph.q'), 'ffn down');
});

test('a drag moves, the wheel scrolls and zooms, a double click opens', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5');
    await v.press('Shift+Digit0');
    await settled(v);
    const box = await proxy(v).boundingBox();
    const at = () => v.fragment().get('graph.at');
    const first = at();
    await v.page.mouse.move(box.x + 20, box.y + box.height - 20);
    await v.page.mouse.down();
    await v.page.mouse.move(box.x + 120, box.y + box.height - 60, { steps: 4 });
    await v.page.mouse.up();
    await v.until(() => at() !== first, 'a drag moves');
    await settled(v);
    const second = at();
    await v.page.mouse.wheel(0, 120);
    await v.until(() => at() !== second, 'the wheel scrolls');
    assert.equal(at().split('_')[2], second.split('_')[2], 'and does not zoom');
    await v.page.keyboard.down('Control');
    await v.page.mouse.wheel(0, -240);
    await v.page.keyboard.up('Control');
    await v.until(() => Number(at().split('_')[2]) > Number(second.split('_')[2]), 'Ctrl and the wheel zoom');
    await v.press('Shift+Digit0');
    await v.until(() => at() === first, 'all is shown again');
    // The first part: 320 x 46 at the top of the picture.
    const [x, y, scale] = at().split('_').map(Number);
    const spot = { x: box.x + (160 - x) * scale, y: box.y + (23 - y) * scale };
    await v.page.mouse.dblclick(spot.x, spot.y);
    await v.untilFragment('graph.open', 'in');
});

test('the table has every node, its inputs and its place', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5');
    await v.page.getByText('As a table').click();
    const grid = v.page.getByRole('grid', { name: /^Nodes and leafs/ });
    const g = await v.api('traces/0/graph?batch=5');
    assert.equal(Number(await grid.getAttribute('aria-rowcount')) >= g.tensors.name.length, true);
    const row = grid.getByRole('row').nth(2);
    const words = await row.textContent();
    assert.ok(words.includes(g.tensors.name[1]), words);
    await row.click();
    await v.until(() => v.fragment().get('op') !== null, 'a click selects');
    // The second node is the first norm: with its MUL one op.
    assert.equal(v.fragment().get('op').split('.')[1], '1');
});

test('the picture has all of the graph, also what the window does not show, and DOT is what Graphviz reads', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&graph.open=in.0.1.2.3.out');
    const svg = String((await v.shared('SVG')).data);
    const texts = await v.page.evaluate((text) => [...new DOMParser().parseFromString(text, 'image/svg+xml').querySelectorAll('text')].map((e) => e.textContent), svg);
    const g = await v.api('traces/0/graph');
    const ops = g.tensors.executes.filter((e, i) => e && g.tensors.fused_into[i] === null).length;
    const boxes = texts.filter((text) => /^[A-Z][A-Z_+]+$/.test(text)).length;
    assert.ok(boxes >= ops, `${boxes} boxes for ${ops} ops`);
    const waiting = v.page.waitForEvent('download');
    await v.page.getByRole('link', { name: 'DOT', exact: true }).click();
    assert.match(String(readFileSync(await (await waiting).path())), /^digraph tensortrace \{/);
});

/** A reply like the server's, of a graph of any form. */
function madeUp(n, sources) {
    const fill = (value, of = n) => Array.from({ length: of }, () => value);
    const edges = { source: [], target: [], slot: [], is_view: [] };
    for (let i = 0; i < n; i++)
        sources(i).forEach((source, slot) => {
            edges.source.push(source);
            edges.target.push(i);
            edges.slot.push(slot);
            edges.is_view.push(false);
        });
    return {
        graph_id: 1, batch_id: 5, phase: 'generate', run: 5, graph_run: 6, runs: 1, tokens: 1, nodes_total: n, leafs_total: 0,
        edges_total: edges.source.length, views_total: 0, ops_recorded: n, missing_ops: 0, fused_ops: 0, fused_nodes: 0,
        start_relative_ns: 0, duration_ns: 1e6, total_ns: 1e6, batch_runs: [],
        words: ['ADD', 'f32', 'other', 'x', 'unknown', 'CPU'],
        tensors: {
            name: Array.from({ length: n }, (_, i) => `node_${i}`), op: fill(0), op_desc: fill(0), type: fill(1), ne: fill(1, 4 * n),
            layer_id: fill(null), category: fill(2), component: fill(3), flag: fill(''), size_bytes: fill(4), origin: fill(4),
            computed: fill(true), weight: fill(null), model_file_id: fill(null), file_offset_bytes: fill(null), buffer: fill(null),
            buffer_offset_bytes: fill(null), view_of_id: fill(null), backend: fill(5), part: fill(0), executes: fill(true),
            fused_into: fill(null), op_nodes: fill(1), duration_ns: fill(100), weight_bytes: fill(0), weight_bytes_at_most: fill(false),
        },
        edges,
        parts: { layer_id: [null], behind: [false], shape: [0], nodes: [n], executes: [n], ops: [n], total_ns: [1e6], weight_bytes: [0], weight_bytes_at_most: [false] },
        shapes: [`made-up-${n}`], structure: `made-up-${n}`, passages: { source: [], target: [], id: [] },
        critical_path: { nodes: [0, n - 1], total_ns: 200, untimed_ops: 0, ignored_sources: 0 }, buffers: [],
    };
}

async function openMadeUp(open, reply, fragment) {
    const v = await open(['tiny'], { fragment: 'view=log&token=5' });
    await v.page.route(/\/graph\?/, (route) => route.fulfill({ json: reply }));
    await v.show(`view=graph&token=5${fragment}`);
    await v.page.locator('.graph-view').waitFor();
    return v;
}

test('a layout that takes long says so and can be cancelled; the page goes on', async ({ open }) => {
    // Each of 2,400 nodes needs three others: dagre takes long for that.
    const v = await openMadeUp(open, madeUp(2400, (i) => (i < 40 ? [] : [i - 1 - (i * 7) % 37, i - 1 - (i * 11) % 29, i - 3])), '');
    await settled(v);
    await proxy(v).focus();
    await v.press('KeyE');
    const cancel = v.page.getByRole('button', { name: 'Cancel' });
    await cancel.waitFor();
    await cancel.click();
    await v.until(async () => (await cancel.count()) === 0, 'nothing is laid out any more');
    await v.untilFragment('graph.open', null);
    await v.until(async () => /cancelled/.test(await v.said()), 'it is said');
    await walkTo(v, 'ArrowDown', /Graph: 2,400 nodes/);
});

test('too many lines to be seen are left out, which is said until one looks from nearer', async ({ open }) => {
    // Rows of 52 boxes: all of them are in sight at once.
    const v = await openMadeUp(open, madeUp(2600, (i) => (i < 52 ? [] : [i - 52, i - 51])), '&graph.open=in');
    await settled(v);
    await proxy(v).focus();
    await v.press('Shift+Digit0');
    const said = v.page.getByText(/^[\d,]+ lines inside layers not drawn/);
    await said.waitFor();
    await settled(v);
    const n = Number((await said.textContent()).replace(/ lines.*/, '').replaceAll(',', ''));
    assert.ok(n > 3000 && n <= 2 * 2548, `${n} lines`);
    await walkTo(v, 'ArrowDown', /Graph: /);
    await walkTo(v, 'ArrowDown', /ADD node_/);
    await v.press('KeyF');
    await said.waitFor({ state: 'hidden' });
});

test('of a token of several runs one is chosen, or that of the selected op', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log&token=5' });
    const asked = [];
    const runs = [
        { run: 5, graph_run: 6, graph_id: 1, nodes_total: 20, duration_ns: 1e6 },
        { run: 6, graph_run: 7, graph_id: 1, nodes_total: 20, duration_ns: null },
    ];
    await v.page.route(/\/graph\?/, (route) => {
        const run = Number(new URL(route.request().url()).searchParams.get('run') ?? 5);
        asked.push(run);
        return route.fulfill({ json: { ...madeUp(20, (i) => (i ? [i - 1] : [])), run, graph_run: run + 1, batch_runs: runs } });
    });
    await v.show('view=graph&token=5');
    await v.page.locator('.graph-view').waitFor();
    const choice = v.page.getByRole('combobox', { name: 'Run', exact: true });
    assert.deepEqual(await choice.locator('option').allTextContents(), ['6: 20 nodes, 1.00 ms', '7: 20 nodes, not observed']);
    await choice.selectOption('6');
    const facts = v.page.locator('.graph-facts').first();
    await v.until(async () => /run 7/.test(await facts.textContent()), 'the chosen run is shown');
    await v.show('view=graph&token=5&op=5.3&graph.run=6');
    await v.until(async () => /run 6/.test(await facts.textContent()), "the selected op's run wins");
    assert.deepEqual(asked, [5, 6, 5]);
});

test('boxes and lines say what they are under the pointer', async ({ open }) => {
    const v = await openGraph(open, 'tiny', '&token=5');
    const box = await proxy(v).boundingBox();
    // Where one looks is in the address once one has moved.
    await v.page.mouse.move(box.x + 5, box.y + 5);
    await v.page.mouse.wheel(0, 10);
    await v.until(() => v.fragment().has('graph.at'), 'the place is in the address');
    await settled(v);
    const [x, y, scale] = v.fragment().get('graph.at').split('_').map(Number);
    const at = (px, py) => v.page.mouse.move(box.x + (px - x) * scale, box.y + (py - y) * scale);
    await at(160, 23);
    const tip = v.page.locator('.graph-tip');
    await v.until(async () => /Input.*nodes1, of which 1 execute/.test((await tip.textContent()) ?? ''), 'the part is told');
    // Between the first part (46 high) and the second.
    await at(160, 59);
    await v.until(async () => /Input → Layer 0.*f32 \d+, [\d.]+ KiB/.test((await tip.textContent()) ?? ''), 'what passes is told, with its size');
});

test('graphs in circles, in a chain of thousands, of themselves: none hangs', async ({ open }) => {
    const forms = [
        ['circles', madeUp(300, (i) => [(i + 1) % 300, i, (i + 150) % 300])],
        ['a chain', madeUp(12000, (i) => (i ? [i - 1] : []))],
        ['one of all', madeUp(3000, (i) => (i ? [0, 2999] : []))],
    ];
    for (const [what, reply] of forms) {
        const v = await openMadeUp(open, reply, '&graph.open=in');
        await settled(v);
        await proxy(v).focus();
        await walkTo(v, 'ArrowDown', /Graph: /);
        await walkTo(v, 'ArrowDown', /ADD node_/);
        await v.press('Shift+Digit0');
        await settled(v);
        assert.ok(v.fragment().get('graph.at'), what);
        await v.close();
    }
});
