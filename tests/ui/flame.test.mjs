// The flame chart of the statistics: widths are the sums of `tensortrace stats`, a click selects what
// is drawn there, Shift zooms.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function sums(name, by, ...options) {
    const text = execFileSync(process.env.TT_BIN, ['stats', '--by', by, '--json', '--limit', '0', ...options, trace(name)], { maxBuffer: 1 << 28 });
    return JSON.parse(text).rows;
}

function logged(name) {
    return JSON.parse(execFileSync(process.env.TT_BIN, ['log', '--json', trace(name)], { maxBuffer: 1 << 28 })).ops;
}

const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 2 + 1e-6 * Math.abs(b), `${what}: ${a}, and ${b}`);
const box = (v) => v.page.locator('.flame .canvas-proxy').boundingBox();
/** Rows are as high as the five levels by token fit, at most 64 px. */
const rowHeight = (b) => Math.max(18, Math.min(64, Math.floor(b.height / 5)));

/** The nodes with their places on the chart: 0 to 1. */
function placed({ nodes }) {
    const used = [];
    return nodes.depth.map((depth, i) => {
        const width = nodes.time_ns[i] / nodes.time_ns[0];
        const from = depth === 0 ? 0 : used[depth - 1].next;
        if (depth > 0) used[depth - 1].next += width;
        used[depth] = { next: from };
        return { i, depth, kind: nodes.kind[i], name: nodes.name[i], first: nodes.first_id[i], last: nodes.last_id[i], from, to: from + width };
    });
}

test('each level adds up to what the command says', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=stats&stats_show=flame' });
    for (const merged of [0, 1]) {
        const { nodes, waits_known } = await v.api(`traces/0/flame?merged=${merged}&least_share=0&limit=20000`);
        assert.ok(waits_known);
        const levels = [['layer', 'layer_id'], ['component', 'component'], ['op', 'op'], ...(merged ? [] : [['batch', 'batch_id']])];
        for (const [by, key] of levels) {
            const rows = sums('moe', by);
            assert.ok(rows.length > 1);
            for (const row of rows) {
                const mine = nodes.kind.flatMap((kind, i) => (kind === by && (nodes.name[i] ?? nodes.first_id[i]) === row[key] ? [i] : []));
                const sum = (column) => mine.reduce((all, i) => all + nodes[column][i], 0);
                near(sum('time_ns'), row.busy_ns + row.wait_ns, `merged=${merged}: ${by} ${row[key]}`);
                near(sum('wait_ns'), row.wait_ns, `waits of ${row[key]}`);
                assert.equal(sum('count'), row.count);
            }
        }
    }
    // Under a filter.
    const [layer] = sums('moe', 'layer', '--batch', '2', '--layer', '1');
    const { nodes } = await v.api('traces/0/flame?batch=2&layer=1&least_share=0');
    near(nodes.time_ns[0], layer.busy_ns + layer.wait_ns, 'layer 1 of batch 2');
});

test('few nodes are those that take most', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=stats&stats_show=flame' });
    const all = (await v.api('traces/0/flame?least_share=0&limit=20000')).nodes;
    const few = (await v.api('traces/0/flame?least_share=0&limit=40')).nodes;
    assert.ok(few.depth.length <= 40 && few.depth.length > 20, `${few.depth.length} nodes`);
    const ranked = [...all.time_ns].sort((a, b) => b - a);
    assert.ok(Math.min(...few.time_ns) >= ranked[40], 'none that is smaller than one left out');
    const merged = (await v.api('traces/0/flame?merged=1')).nodes;
    const layers = merged.time_ns.filter((_, i) => merged.kind[i] === 'layer');
    assert.deepEqual(layers, [...layers].sort((a, b) => b - a), 'the largest is on the left');
});

test('a click selects what is drawn there, Shift zooms, the address keeps it', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=stats&stats_show=flame' });
    await v.page.locator('.flame canvas').waitFor();
    const bars = placed(await v.api('traces/0/flame'));
    const b = await box(v);
    const row = rowHeight(b);
    const click = (bar, from = 0, to = 1, options = {}) =>
        v.page.mouse.click(b.x + (((bar.from + bar.to) / 2 - from) / (to - from)) * b.width, b.y + (bar.depth + 0.5) * row, options);
    // The widest generated token and layer in it: what is too narrow has no bar of its own.
    const widest = (list) => list.reduce((a, b) => (b.to - b.from > a.to - a.from ? b : a));
    const token = widest(bars.filter((x) => x.kind === 'batch' && x.first > 0 && x.last === x.first));
    await click(token);
    await v.untilFragment('token', String(token.first));
    const layer = widest(bars.filter((x) => x.kind === 'layer' && x.first !== null && x.from >= token.from && x.to <= token.to + 1e-9));
    await click(layer);
    await v.untilFragment('layer', String(layer.first));
    await v.page.keyboard.down('Shift');
    await click(token);
    await v.page.keyboard.up('Shift');
    await v.untilFragment('flame_zoom', `batch%20${token.first}`);
    const zoomed = await box(v);
    await v.page.mouse.click(zoomed.x + (((layer.from + layer.to) / 2 - token.from) / (token.to - token.from)) * zoomed.width, zoomed.y + 2.5 * rowHeight(zoomed));
    await v.untilFragment('layer', String(layer.first));
    await v.page.reload();
    await v.ready();
    await v.page.locator('.flame-zoom').getByText(`token ${token.first}`).waitFor();
    await v.page.getByRole('button', { name: 'Show all' }).click();
    await v.untilFragment('flame_zoom', null);
});

test('by keyboard alone, and the same as a table', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=stats&stats_show=flame&flame=merged' });
    const rows = sums('moe', 'layer').map((r) => ({ id: r.layer_id, time: r.busy_ns + r.wait_ns })).sort((x, y) => y.time - x.time);
    const nth = rows.findIndex((r) => r.id !== null);
    await v.page.locator('.flame .canvas-proxy').focus();
    await v.press('ArrowDown', ...Array.from({ length: nth }, () => 'ArrowRight'), 'Enter');
    await v.untilFragment('layer', String(rows[nth].id));
    await v.press('ArrowDown', 'ArrowDown', 'Enter');
    await v.until(() => v.fragment().get('op'), 'the longest op is selected');
    await v.press('Shift+Enter');
    await v.until(() => v.fragment().get('flame_zoom')?.startsWith(`layer%20${rows[nth].id}/`), 'it is zoomed to');
    await v.press('Backspace', 'Backspace', 'Backspace');
    await v.untilFragment('flame_zoom', null);
    await v.page.locator('.flame summary').click();
    const table = v.page.getByRole('grid', { name: 'Times of the flame chart' });
    const { nodes } = await v.api('traces/0/flame?merged=1');
    await v.until(async () => (await table.getAttribute('aria-rowcount')) === String(nodes.depth.length + 1), 'each node is a row');
});

test('under the lanes of the timeline it is of the time in view', async ({ open }) => {
    // Without the window it is of the generated tokens, if the prompt took more than half of the run.
    const v = await open(['moe'], { fragment: 'view=timeline&flame=merged&window=all' });
    const { batches } = await v.api('traces/0/summary');
    await v.press('Shift+KeyF');
    await v.untilFragment('tl_flame', '1');
    const chart = v.page.locator('.tl-flame .canvas-proxy');
    const nodes = async (from, to) => (await v.api(`traces/0/flame?merged=1&from_ns=${Math.round(from)}&to_ns=${Math.round(to)}`)).nodes;
    const says = async (n) => v.until(async () => (await chart.getAttribute('aria-label')).startsWith(`Flame chart of ${n.toLocaleString('en')} ops`), `it is of ${n} ops`);
    await chart.waitFor();
    await says(logged('moe').length);
    const [from, to] = [batches.start_relative_ns[4], batches.end_relative_ns[5]];
    await v.show(`view=timeline&flame=merged&tl_flame=1&window=${Math.round(from)}~${Math.round(to)}`);
    const now = await nodes(from, to);
    const some = now.count[0];
    assert.ok(some > 0 && some < logged('moe').length);
    await says(some);
    // The first of the first level may be ops of no layer.
    const layers = now.first_id.filter((_, i) => now.depth[i] === 1);
    const nth = layers.findIndex((id) => id !== null);
    assert.ok(nth >= 0, `${layers}`);
    await chart.focus();
    await v.press('ArrowDown', ...Array.from({ length: nth }, () => 'ArrowRight'), 'Enter');
    await v.untilFragment('layer', String(layers[nth]));
    await v.press('Shift+KeyF');
    await chart.waitFor({ state: 'detached' });
});
