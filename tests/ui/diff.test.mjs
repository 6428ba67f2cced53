// Two runs on the same axes: the figures are those of `diff --json`, and choosing in the view shows
// in the others.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

/** `tensortrace diff --json`, whatever it exits with. */
function said(a, b) {
    try {
        return JSON.parse(execFileSync(process.env.TT_BIN, ['diff', '--json', trace(a), trace(b)], { stdio: ['ignore', 'pipe', 'ignore'] }));
    } catch (error) {
        return JSON.parse(error.stdout);
    }
}

async function shown(v) {
    await v.page.locator('.diff-verdict').waitFor();
    // The page finds its size first.
    await v.until(async () => (await rows(v)).length >= 3, 'the table has rows');
}

/** The cells of the table of what differs most, as far as it is drawn. */
async function rows(v) {
    return v.page
        .locator('.diff-table [role=row]')
        .evaluateAll((all) => all.slice(1).map((row) => [...row.querySelectorAll('[role=gridcell]')].map((cell) => cell.textContent)));
}

function duration(ns) {
    for (const [unit, name] of [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']])
        if (Math.abs(ns) >= unit) {
            const x = ns / unit;
            return `${x.toFixed(Math.abs(x) >= 100 ? 0 : Math.abs(x) >= 10 ? 1 : 2)} ${name}`;
        }
    return '0 ns';
}

test('the figures are those of diff --json', async ({ open }) => {
    const diff = said('tiny', 'again');
    const v = await open(['tiny', 'again'], { fragment: 'view=diff' });
    await shown(v);
    const verdict = (await v.page.locator('.diff-verdict').innerText()).toLowerCase();
    for (const part of diff.verdict.text.split(/\. (?=Most of the difference )/))
        assert.ok(verdict.includes(part.replaceAll('->', '\u2192').toLowerCase()), `${verdict}\nis not\n${diff.verdict.text}`);
    assert.ok(verdict.includes(diff.verdict.structure_text));
    const main = diff.phases.find((p) => p.phase === diff.verdict.phase);
    const own = (r) => (r.expected_ns !== null ? Math.abs(r.b.time_ns - r.expected_ns) : r.delta_ns === null ? -1 : Math.abs(r.delta_ns));
    const want = [...main.components].sort((x, y) => own(y) - own(x));
    const got = await rows(v);
    assert.ok(got.length >= 3);
    got.forEach((cells, i) => {
        assert.equal(cells[0], want[i].component);
        assert.equal(cells[1], want[i].a.time_ns === null ? '-' : duration(want[i].a.time_ns));
        assert.equal(cells[2], want[i].b.time_ns === null ? '-' : duration(want[i].b.time_ns));
    });
    // The medians of the lines, token by token, are those of the whole.
    const tokens = await v.api('traces/0/diff/batches?other=1');
    const lines = tokens.phases.find((p) => p.phase === diff.verdict.phase);
    for (const side of ['a', 'b']) {
        const times = [...lines[side].time_ns].sort((x, y) => x - y);
        const median = times[(times.length - 1) >> 1];
        assert.ok(Math.abs(median - main.total[side].median_ns) < 1e-5 * median);
    }
    // Settings that differ, among them the number of threads.
    const settings = await v.page.getByRole('region', { name: 'Settings that differ' }).innerText();
    assert.ok(diff.settings.length > 0);
    for (const each of diff.settings) assert.ok(settings.includes(each.setting), each.setting);
});

test('sureness is not more than the statistics carry', async ({ open }) => {
    const diff = said('tiny', 'again');
    const v = await open(['tiny', 'again'], { fragment: 'view=diff&diff_by=layers' });
    await shown(v);
    const main = diff.phases.find((p) => p.phase === diff.verdict.phase);
    for (const cells of await rows(v)) {
        const layer = cells[0] === '(no layer)' ? null : Number(cells[0].replace('layer ', ''));
        const row = main.layers.find((r) => r.layer_id === layer);
        const word = cells.at(-1);
        assert.equal(/^!/.test(word), row.matters, word);
        assert.equal(/^\*/.test(word), row.significant && !row.matters, word);
        assert.equal(word === 'not tested', !row.significant && row.blocks === null, word);
    }
});

test('a layer has its number, its stack and, of several, its model', async ({ open }) => {
    const v = await open(['tiny', 'again'], { fragment: 'view=overview' });
    /* What the server says of an encoder's and a decoder's layers, and of a draft's: docs/api-http.md. */
    await v.page.route(/\/diff\?/, async (route) => {
        const reply = await (await route.fetch()).json();
        for (const p of reply.phases) {
            const some = p.layers.filter((r) => r.layer_id !== null).slice(0, 2);
            some.forEach((r, i) => Object.assign(r, { layer_id: i, stack: 'dec', layer_key: 131072 + i, model_file: '/m/t5.gguf' }));
            p.layers = [...some, { ...some[0], layer_id: 3, stack: null, layer_key: 2097152 + 3, model_file: '/m/draft.gguf' }];
        }
        await route.fulfill({ json: reply });
    });
    await v.page.evaluate(() => (location.hash = '#view=diff&diff_by=layers'));
    await shown(v);
    assert.deepEqual((await rows(v)).map((cells) => cells[0]).sort(), ['layer 3 of draft.gguf', 'layer dec 0 of t5.gguf', 'layer dec 1 of t5.gguf']);
});

test('a node chosen here is selected everywhere, in either run', async ({ open }) => {
    const v = await open(['tiny', 'again'], { fragment: 'view=diff&diff_by=nodes&diff_of=component%3Dffn_up&token=5' });
    await shown(v);
    await v.page.locator('.diff-table [role=row]').filter({ hasText: 'ffn_up-2' }).click();
    await v.untilFragment('layer', '2');
    await v.until(() => v.fragment().get('tensor') === 'blk.2.ffn_up.weight', 'its weight is selected');
    const [runA] = v.fragment().get('op').split('.');
    const pair = await v.api(`traces/0/diff/pair?other=1&batch=5&name=ffn_up-2`);
    assert.equal(v.fragment().get('op'), `${pair.a.op.run}.${pair.a.op.node}`);
    assert.equal(runA, String(pair.a.op.run));
    // The other run, at the token and op that belong to these.
    await v.press('KeyT');
    await v.untilFragment('trace', '1');
    await v.untilFragment('token', String(pair.b.batch_id));
    await v.until(() => v.fragment().get('op') === `${pair.b.op.run}.${pair.b.op.node}`, "B's op is selected");
    assert.equal(v.fragment().get('tensor'), 'blk.2.ffn_up.weight');
    // All of it is in the address.
    await v.page.reload();
    await shown(v);
    assert.equal(v.fragment().get('trace'), '1');
    assert.equal(await v.page.locator('.diff-shown button').last().getAttribute('aria-pressed'), 'true');
});

test('swapping sides swaps the figures', async ({ open }) => {
    const v = await open(['tiny', 'again'], { fragment: 'view=diff' });
    await shown(v);
    const before = new Map((await rows(v)).map((cells) => [cells[0], cells]));
    await v.press('KeyX');
    await v.untilFragment('diff', '1.0');
    const [name, cells] = [...before][0];
    await v.until(async () => {
        const now = (await rows(v)).find((row) => row[0] === name);
        return now && now[1] === cells[2] && now[2] === cells[1];
    }, `${name} has changed sides`);
});

test('the lines and the strips work by keyboard, and say what they show', async ({ open }) => {
    const v = await open(['tiny', 'again'], { fragment: 'view=diff&token=3' });
    await shown(v);
    await v.page.getByRole('application', { name: /^Times of A and B/ }).focus();
    await v.press('ArrowRight');
    await v.untilFragment('token', '4');
    await v.until(async () => /token 4: A .*, B .*, B - A [+-]/.test(await v.said()), 'the token is told');
    const strips = v.page.getByRole('application', { name: /^Token of A above token of B/ });
    await v.until(async () => /token 4/.test((await strips.getAttribute('aria-label')) ?? ''), 'the strips show it');
    await strips.focus();
    await v.press('Period', 'Period');
    await v.until(async () => /^A: .* begins at .*, takes /.test(await v.said()), 'the op is told');
    await v.press('Enter');
    await v.until(() => v.fragment().get('op') !== null, 'an op is selected');
    await v.press('KeyB', 'Enter');
    await v.untilFragment('trace', '1');
    // The same content as tables.
    const tables = v.page.locator('.diff .equivalent');
    assert.equal(await tables.count(), 2);
    for (const table of await tables.all()) {
        await table.locator('summary').click();
        assert.ok((await table.locator('tbody tr').count()) > 10);
    }
});

test('strips are drawn, on WebGL and on the plain canvas', async ({ open }) => {
    for (const noWebgl of [false, true]) {
        const v = await open(['tiny', 'again'], { fragment: 'view=diff&token=5', noWebgl });
        await shown(v);
        await v.until(async () => inked(v), `there are rectangles, WebGL ${!noWebgl}`);
    }
});

/** How many colours the middle of the strips has. */
async function inked(v) {
    return v.page.evaluate(() => {
        const canvas = document.querySelector('.diff-strip-canvases canvas');
        if (!canvas?.width) return false;
        const copy = document.createElement('canvas');
        [copy.width, copy.height] = [canvas.width, canvas.height];
        const context = copy.getContext('2d');
        context.drawImage(canvas, 0, 0);
        const { data } = context.getImageData(0, 0, copy.width, copy.height);
        const seen = new Set();
        for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 200) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
        return seen.size >= 3;
    });
}

test('one trace: how to serve two is said', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=diff' });
    await v.until(async () => /serve tiny\.ttrace other\.ttrace/.test(await v.page.locator('main').innerText()), 'the command is shown');
});

test('three traces: any two are chosen', async ({ open }) => {
    const v = await open(['tiny', 'again', 'moe'], { fragment: 'view=diff' });
    await shown(v);
    await v.page.getByLabel('Trace B').selectOption({ label: 'moe.ttrace' });
    await v.untilFragment('diff', '0.2');
    await v.until(async () => /They computed different things/.test(await v.page.locator('.diff-verdict').innerText()), 'another model is another graph');
    // New and missing nodes are listed.
    const changes = v.page.getByRole('region', { name: 'What was computed' });
    assert.match(await changes.innerText(), /new in B|missing in B/);
    // The side that the other one is on: they swap.
    await v.page.getByLabel('Trace A').selectOption({ label: 'moe.ttrace' });
    await v.untilFragment('diff', '2.0');
});

test('names that would run stay text', async ({ open }) => {
    const v = await open(['hostile', 'tiny'], { fragment: 'view=diff&diff_by=nodes' });
    await v.page.locator('.diff-verdict').waitFor();
    assert.equal(await v.page.locator('main img, main iframe, main script, main svg[onload]').count(), 0);
    for (const family of ['Components', 'Parts', 'Ops', 'Layers', 'Nodes'])
        await v.page.getByRole('button', { name: family, exact: true }).click();
});
