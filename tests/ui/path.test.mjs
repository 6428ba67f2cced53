// The order of reads and what each token read: against `heat --json`, `log --json` and what is drawn.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();
const cli = (...args) => JSON.parse(execFileSync(process.env.TT_BIN, args, { maxBuffer: 1 << 28 }));
const view = (v) => v.page.getByRole('region', { name: 'Memory map' });
const canvas = (v) => view(v).getByRole('application');
const legend = (v) => view(v).locator('.legend').innerText();
const percent = (part, all) => `${((100 * part) / all).toFixed(1)} %`;

test('the legend of the path has the figures of heat', async ({ open }) => {
    const { summary } = cli('heat', '--json', '--count-copies-as-file', trace('moe'));
    const { count, adjacent, forward, backward } = summary.steps;
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=path&window=all' });
    const want = `${percent(adjacent, count)} of reads continue where the previous one ended, ${percent(forward.count, count)} jump forward, ${percent(backward.count, count)} back`;
    await v.until(async () => (await legend(v)).includes(want), want);
    assert.match(await legend(v), new RegExp(`${summary.reads} reads`));
    await view(v).getByText('As a table').click();
    await v.until(async () => Number(await view(v).getByRole('grid').getAttribute('aria-rowcount')) === summary.reads + 1, 'the table has every read');
});

test('a read is drawn where the log and the file have it, and a click selects it', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=path' });
    const tensors = await v.api('traces/0/tensors');
    // The last matmul of a token: it reads the output's weights, alone at the top of the file.
    const op = cli('log', '--json', '--limit', '0', '--token', '3', '-T', 'output.weight', trace('moe')).ops.at(-1);
    const row = tensors.name.indexOf('output.weight');
    const [from, to] = [op.start_relative_ns - op.duration_ns, op.start_relative_ns + 2 * op.duration_ns];
    await v.show(`view=memory&memory_as=path&window=${from}~${to}`);
    await v.until(async () => /[1-9]\d* reads?,/.test(await legend(v)) && !/…/.test(await legend(v)), 'the reads of this time');
    await v.rest();
    const all = Math.max(...tensors.file_offset_bytes.map((at, i) => at + tensors.size_bytes[i]));
    const box = await canvas(v).boundingBox();
    // The plot: 74 px of offsets at the left and 10 at the right, 22 of times below, 6 above.
    const x = box.x + 74 + ((op.start_relative_ns + op.duration_ns / 2 - from) / (to - from)) * (box.width - 84);
    const y = box.y + box.height - 22 - ((tensors.file_offset_bytes[row] + tensors.size_bytes[row] / 2) / all) * (box.height - 28);
    v.allow(/willReadFrequently/);
    const colour = await canvas(v).locator('canvas').first().evaluate((c, [px, py]) => {
        const b = c.getBoundingClientRect();
        return [...c.getContext('2d').getImageData(Math.round(px - b.left), Math.round(py - b.top), 1, 1).data.slice(0, 3)];
    }, [x, y]);
    assert.ok([[86, 180, 233], [230, 110, 20]].some((c) => c.every((n, i) => Math.abs(n - colour[i]) < 4)), `a generated token's read, ${colour}`);
    await v.page.mouse.click(x, y);
    await v.untilFragment('tensor', 'output.weight');
    assert.equal(v.fragment().get('token'), '3');
});

test('a drag over the path selects that time; keys zoom it as the timeline', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=path&window=all' });
    await v.until(async () => /reads/.test(await legend(v)), 'there are reads');
    const { start_relative_ns, end_relative_ns } = await v.api('traces/0/summary');
    const box = await canvas(v).boundingBox();
    const width = box.width - 84;
    await v.page.mouse.move(box.x + 74 + width * 0.25, box.y + 60);
    await v.page.mouse.down();
    await v.page.mouse.move(box.x + 74 + width * 0.5, box.y + 90, { steps: 4 });
    await v.page.mouse.up();
    await v.until(() => v.fragment().get('time') !== null, 'a time is selected');
    const [from, to] = v.fragment().get('time').split('~').map(Number);
    const ns = (share) => start_relative_ns + share * (end_relative_ns - start_relative_ns);
    for (const [got, want] of [[from, ns(0.25)], [to, ns(0.5)]]) assert.ok(Math.abs(got - want) < ((end_relative_ns - start_relative_ns) / width) * 3, `${got} is ${want}`);
    await v.press('KeyF');
    await v.until(() => !['all', null].includes(v.fragment().get('window')), 'the selected time is fitted');
});

for (const [by, args] of [['layer', ['--by', 'layer']], ['file', ['--by', 'tensor']]])
    test(`a token's row by ${by} adds up to what heat has of it`, async ({ open }) => {
        const { summary } = cli('heat', '--json', '--limit', '0', '--token', '4', ...args, trace('moe'));
        const v = await open(['moe'], { fragment: `view=memory&memory_as=tokens&memory_tokens_by=${by}` });
        await v.until(async () => /12 tokens/.test(await legend(v)), 'all tokens have a row');
        await view(v).getByText('As a table').click();
        const grid = await v.page.evaluate(async (by) => {
            const data = await (await fetch(`/api/v1/traces/0/memory/batches?by=${by}&rows=64&columns=512`)).arrayBuffer();
            const n = new DataView(data).getUint32(0, true);
            const header = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, n)));
            const column = (name, Type) => {
                const c = header.columns.find((x) => x.name === name);
                return [...new Type(data, 4 + n + c.offset_bytes, c.n)];
            };
            return { header, cell: column('cell', Uint32Array), bytes: column('read_bytes', Float64Array), batch: column('batch_id', Uint32Array) };
        }, by);
        const row = grid.batch.indexOf(4);
        const sum = grid.cell.reduce((all, cell, i) => all + (Math.floor(cell / grid.header.grid_columns) === row ? grid.bytes[i] : 0), 0);
        assert.equal(sum, summary.read_bytes);
    });

/** Heights of the rows' numbers, by their ink left of the grid: CSS pixels below the canvas's top. */
async function rowPlaces(v) {
    v.allow(/willReadFrequently/);
    return canvas(v).locator('canvas').first().evaluate((c) => {
        const { data, width, height } = c.getContext('2d').getImageData(30, 66, 26, c.height - 66 - 24);
        const found = [];
        for (let y = 0; y < height; y++) {
            let ink = false;
            for (let x = 0; x < width && !ink; x++) ink = data[(y * width + x) * 4 + 3] > 100;
            if (!ink) continue;
            if (found.length && y - found.at(-1)[1] <= 3) found.at(-1)[1] = y;
            else found.push([y, y]);
        }
        return found.map(([a, b]) => 66 + (a + b) / 2);
    });
}

/** Tokens, all rows and all columns of them drawn. */
async function tokensShown(v) {
    await v.until(async () => /12 tokens/.test(await legend(v)) && !/…/.test(await legend(v)), 'all tokens have a row');
    await v.rest();
    return { box: await canvas(v).boundingBox(), rows: await rowPlaces(v) };
}

/** The columns of a grid in columns of the API. */
async function gridOf(v, path) {
    return v.page.evaluate(async (at) => {
        const data = await (await fetch(`/api/v1/traces/0/${at}`)).arrayBuffer();
        const n = new DataView(data).getUint32(0, true);
        return JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, n)));
    }, path);
}

test('a row is the token that stands beside it: a click selects it, and the layer', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=tokens&memory_tokens_by=layer' });
    const { box, rows } = await tokensShown(v);
    assert.equal(rows.length, 12);
    for (const token of [0, 5, 11]) {
        // Columns: outside of layers, then layers 0 to 3.
        await v.page.mouse.click(box.x + 60 + (box.width - 70) * 0.7, box.y + rows[token]);
        await v.untilFragment('token', String(token));
        await v.untilFragment('layer', '2');
    }
});

test('few tokens take the height there is', async ({ open }) => {
    for (const viewport of [{ width: 1440, height: 900 }, { width: 1024, height: 700 }]) {
        const v = await open(['moe'], { viewport, fragment: 'view=memory&memory_as=tokens' });
        const { box, rows } = await tokensShown(v);
        assert.ok((rows.at(-1) - rows[0]) / 11 <= 64, 'a row is no bar');
        assert.ok(rows.at(-1) + (rows[1] - rows[0]) / 2 > box.height - 40, `the rows end ${Math.round(box.height - rows.at(-1))} px above the canvas's end (${box.height} px high)`);
        await v.close();
    }
});

test('arrows go from token to token, and to the tensor, layer or expert beside', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=tokens&token=4' });
    await tokensShown(v);
    await canvas(v).focus();
    await v.press('ArrowDown');
    await v.untilFragment('token', '5');
    await v.press('ArrowUp', 'ArrowUp');
    await v.untilFragment('token', '3');
    await v.until(async () => /token 3/.test(await v.said()), 'the token is told');
    const tensors = await v.api('traces/0/tensors');
    const order = [...tensors.name.keys()].sort((a, b) => tensors.file_offset_bytes[a] - tensors.file_offset_bytes[b]).map((i) => tensors.name[i]);
    await v.press('ArrowRight');
    await v.untilFragment('tensor', order[0]);
    await v.press('ArrowRight', 'ArrowRight', 'ArrowLeft');
    await v.untilFragment('tensor', order[1]);
    assert.equal(v.fragment().get('token'), '3', 'the token stays');
    await v.show('view=memory&memory_as=tokens&memory_tokens_by=layer&token=3&layer=1');
    await tokensShown(v);
    await canvas(v).focus();
    await v.press('ArrowRight');
    await v.untilFragment('layer', '2');
    await v.press('ArrowRight', 'ArrowRight', 'ArrowRight');
    await v.untilFragment('layer', '3');
    await v.until(async () => /No more to the right/.test(await v.said()), 'the end is told');
    await v.show('view=memory&memory_as=tokens&memory_tokens_by=expert&token=3&layer=1');
    await v.until(async () => /layer 1/.test(await legend(v)), 'experts of the layer');
    await tokensShown(v);
    await canvas(v).focus();
    await v.press('ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowDown');
    await v.untilFragment('slice', '2');
    await v.untilFragment('token', '4');
    assert.match(v.fragment().get('tensor'), /^blk\.1\..*_exps/);
});

test('a click among the experts selects the token, the expert, and its layer if one is shown', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=tokens&memory_tokens_by=expert&layer=2' });
    await v.until(async () => /layer 2/.test(await legend(v)), 'experts of the layer');
    let { box, rows } = await tokensShown(v);
    const click = (expert, token) => v.page.mouse.click(box.x + 60 + ((box.width - 70) * (expert + 0.5)) / 8, box.y + rows[token]);
    await click(5, 7);
    await v.untilFragment('token', '7');
    await v.untilFragment('slice', '5');
    assert.equal(v.fragment().get('layer'), '2');
    assert.match(v.fragment().get('tensor'), /^blk\.2\..*_exps/);
    await v.until(async () => /expert\s+5/i.test(await v.page.getByRole('complementary', { name: 'Inspector' }).innerText()), 'the inspector has the expert');
    await v.show('view=memory&memory_as=tokens&memory_tokens_by=expert');
    await v.until(async () => /all layers together/.test(await legend(v)), 'experts of all layers');
    ({ box, rows } = await tokensShown(v));
    await click(1, 2);
    await v.untilFragment('token', '2');
    await v.untilFragment('slice', '1');
    assert.equal(v.fragment().get('layer'), null, 'of all layers');
});

test('the columns are zoomed with the wheel and with keys, in the address, and by Escape or a double click all is shown', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=tokens' });
    let { box, rows } = await tokensShown(v);
    const shown = () => (v.fragment().get('memory_tokens_x') ?? '0~1').split('~').map(Number);
    const width = () => shown()[1] - shown()[0];
    const x = box.x + 60 + (box.width - 70) * 0.25;
    await v.page.mouse.move(x, box.y + rows[4]);
    await v.page.keyboard.down('Control');
    for (let i = 0; i < 5; i++) await v.page.mouse.wheel(0, -200);
    await v.page.keyboard.up('Control');
    await v.until(() => Math.abs(width() - Math.exp(-2)) < 0.01, 'exp(0.002 x 1000) times as near');
    const [from, to] = shown();
    assert.ok(Math.abs((0.25 - from) / (to - from) - 0.25) < 0.01, 'what is under the pointer stays there');
    // The cells are of that part of the file: the tooltip names the bytes at the pointer.
    const all = (await gridOf(v, 'memory/batches?by=file&columns=64')).to_bytes;
    const tensors = await v.api('traces/0/tensors');
    await v.rest();
    for (const share of [0.1, 0.5, 0.9]) {
        const at = (from + (to - from) * share) * all;
        const row = tensors.file_offset_bytes.findIndex((o, i) => at >= o && at < o + tensors.size_bytes[i]);
        await v.page.mouse.move(box.x + 60 + (box.width - 70) * share, box.y + rows[4]);
        const tip = v.page.locator('.tooltip');
        await v.until(async () => (await tip.innerText().catch(() => '')).includes(tensors.name[row]), `${tensors.name[row]} is there`);
    }
    await v.press('Escape');
    await v.untilFragment('memory_tokens_x', null);
    await v.hold('KeyW', () => v.until(() => width() < 0.8, 'W zooms'));
    await v.rest();
    await v.page.reload();
    await v.ready();
    await v.until(async () => /12 tokens/.test(await legend(v)) && width() < 0.8, 'a reload shows the same part');
    ({ box, rows } = await tokensShown(v));
    await v.page.mouse.dblclick(x, box.y + rows[4]);
    await v.untilFragment('memory_tokens_x', null);
    await v.page.keyboard.down('+');
    await v.until(() => width() < 0.8, '+ zooms');
    await v.page.keyboard.up('+');
});

test('the offsets of the path are zoomed, in the address; the figures are of that part', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=path&window=all' });
    await v.until(async () => /\d reads/.test(await legend(v)) && !/…/.test(await legend(v)), 'there are reads');
    await v.rest();
    const box = await canvas(v).boundingBox();
    const time = v.fragment().get('window');
    const shown = () => (v.fragment().get('memory_path_y') ?? '0~1').split('~').map(Number);
    const width = () => shown()[1] - shown()[0];
    const zoomIn = async (x, y, ...keys) => {
        await v.page.mouse.move(x, y);
        for (const key of keys) await v.page.keyboard.down(key);
        for (let i = 0; i < 5; i++) await v.page.mouse.wheel(0, -100);
        for (const key of keys) await v.page.keyboard.up(key);
    };
    // From the bottom up: 22 px of times, 6 above.
    const height = (share) => box.y + box.height - 22 - share * (box.height - 28);
    await zoomIn(box.x + 30, height(0.25), 'Control');
    await v.until(() => Math.abs(width() - Math.exp(-1)) < 0.01, 'Ctrl and the wheel on the left zoom the offsets');
    assert.ok(Math.abs((0.25 - shown()[0]) / width() - 0.25) < 0.02, `what is at the pointer stays there: ${shown()}`);
    assert.equal(v.fragment().get('window'), time, 'the time stays');
    const { all_bytes } = await gridOf(v, 'memory/path');
    const part = await gridOf(v, `memory/path?from_bytes=${Math.round(shown()[0] * all_bytes)}&to_bytes=${Math.round(shown()[1] * all_bytes)}`);
    const steps = part.adjacent + part.forward + part.backward + part.again + part.other_file;
    const want = `${part.reads.toLocaleString('en').replaceAll(',', '')} reads`;
    await v.until(async () => (await legend(v)).replaceAll(/(?<=\d)[,\u202f\u2009 ](?=\d{3})/g, '').includes(want), `the legend says ${want}: ${await legend(v)}`);
    assert.ok((await legend(v)).includes(`${percent(part.forward, steps)} jump forward`), await legend(v));
    await view(v).getByText('As a table').click();
    await v.until(async () => Number(await view(v).getByRole('grid').getAttribute('aria-rowcount')) === part.reads + 1, 'the table has these reads');
    await view(v).getByText('As a table').click();
    await v.rest();
    await v.page.reload();
    await v.ready();
    await v.until(async () => (await legend(v)).includes(`${percent(part.forward, steps)} jump forward`), 'a reload shows the same part');
    await v.press('Escape');
    await v.untilFragment('memory_path_y', null);
    await zoomIn(box.x + 400, height(0.5), 'Control', 'Shift');
    await v.until(() => Math.abs(width() - Math.exp(-1)) < 0.01, 'so do Ctrl, Shift and the wheel anywhere');
    await v.page.mouse.dblclick(box.x + 400, height(0.5));
    await v.untilFragment('memory_path_y', null);
    await v.hold('Shift', () => v.hold('KeyW', () => v.until(() => width() < 0.8, 'Shift and W zoom')));
});

test('experts that a token did not choose are empty in its row', async ({ open }) => {
    const rows = cli('heat', '--json', '--limit', '0', '--token', '5', '--layer', '1', '--by', 'expert', trace('moe')).rows;
    const chosen = new Set(rows.filter((r) => r.expert_id !== null && r.expert_id !== undefined && r.accesses > 0).map((r) => r.expert_id));
    assert.ok(chosen.size > 0 && chosen.size < 8);
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=tokens&memory_tokens_by=expert&layer=1' });
    await v.until(async () => /layer 1/.test(await legend(v)) && /12 tokens/.test(await legend(v)) && !/…/.test(await legend(v)), 'the experts of the layer');
    const { box, rows: places } = await tokensShown(v);
    for (let e = 0; e < 8; e++) {
        await v.page.mouse.move(box.x + 60 + ((box.width - 70) * (e + 0.5)) / 8, box.y + places[5]);
        const tip = v.page.locator('.tooltip');
        await v.until(async () => (await tip.innerText().catch(() => '')).startsWith(`token 5, expert ${e}`), `the tooltip of expert ${e}`);
        assert.equal(/not read/.test(await tip.innerText()), !chosen.has(e), `expert ${e}`);
    }
});
