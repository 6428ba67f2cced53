// The log: its rows are those of `tensortrace log`, any of them can be reached, and it takes part in
// the one selection. Finding by text.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, trace } from './harness.mjs';

const { test } = suite();
const MAX = 1 << 30;

/** The rows of the command. */
function logged(name, ...options) {
    const text = execFileSync(process.env.TT_BIN, ['log', '--json', ...options, trace(name)], { maxBuffer: MAX });
    return JSON.parse(text).ops;
}

const grid = (v) => v.page.getByRole('grid', { name: /^Ops in time order/ });
const line = (v) => v.page.locator('.log-line');

async function rowsAre(v, n) {
    await v.until(
        async () => (await grid(v).getAttribute('aria-rowcount')) === String(n + 1),
        `the log has ${n} rows (it says ${await line(v).textContent()})`,
    );
}

/** Row i as it is shown; waits until it is. */
async function row(v, i) {
    const found = grid(v).locator(`[role=row][aria-rowindex="${i + 2}"]`);
    await found.waitFor();
    await v.until(async () => !(await found.textContent()).startsWith('…'), `row ${i} has come`);
    return found;
}

async function addFilter(v, text) {
    const input = v.page.getByRole('combobox', { name: 'Add a filter' });
    await input.fill(text);
    await input.press('Enter');
}

test('rows, their order and their number are those of the command', async ({ open }) => {
    const ops = logged('moe');
    const v = await open(['moe'], { fragment: 'view=log' });
    await rowsAre(v, ops.length);
    for (const i of [0, 7]) {
        const text = await (await row(v, i)).textContent();
        for (const each of [ops[i].op, ops[i].name, (ops[i].start_relative_ns / 1e6).toFixed(4)])
            assert.ok(text.includes(each), `${each} in ${text}`);
    }
    await grid(v).focus();
    await v.press('End');
    assert.ok((await (await row(v, ops.length - 1)).textContent()).includes(ops.at(-1).name));
});

test('each kind of filter leaves what the command leaves', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=log' });
    const all = logged('moe');
    // Where the ops are: on a busy machine the first one may be late.
    const [from, to] = [1 / 3, 2 / 3].map((part) => `${Math.floor(all[Math.floor(all.length * part)].start_relative_ns)}ns`);
    const cases = [
        ['token:1..3', ['--token', '1..3']],
        ['token:..2', ['--token', '..2']],
        ['token:3..', ['--token', '3..']],
        ['layer:1', ['--layer', '1']],
        ['layer:none', ['--layer', 'none']],
        ['op:mul_mat', ['--op', 'mul_mat']],
        ['tensor:*ffn*', ['--tensor', '*ffn*']],
        ['origin:file', ['--origin', 'file']],
        ['phase:prompt', ['--phase', 'prompt']],
        ['thread:1', ['--thread', '1']],
        [`time:${from}..${to}`, ['--from', from, '--to', to]],
    ];
    for (const [filter, options] of cases) {
        const expected = logged('moe', ...options).length;
        await addFilter(v, filter);
        await rowsAre(v, expected);
        await v.untilFragment('log', filter);
        await v.press('Backspace');
        await v.untilFragment('log', null);
    }
    await addFilter(v, 'dur>50us');
    await rowsAre(v, all.filter((op) => op.duration_ns >= 50_000).length);
    await addFilter(v, 'dur<200us');
    await rowsAre(v, all.filter((op) => op.duration_ns >= 50_000 && op.duration_ns <= 200_000).length);
    await addFilter(v, 'layer:1');
    const left = all.filter((op) => op.duration_ns >= 50_000 && op.duration_ns <= 200_000 && op.layer_id === 1);
    await rowsAre(v, left.length);
    await v.press('Escape', 'Escape');
    await grid(v).focus();
    await v.press('Shift+Digit0');
    await rowsAre(v, all.length);
    await addFilter(v, 'norm');
    // The command does not tell the inner nodes of fused ops: those may be more.
    const names = (op) => [op.op, op.name, op.destination.name, ...op.sources.flatMap((s) => [s.name, s.view_of ?? ''])];
    const least = all.filter((op) => names(op).some((n) => n.toLowerCase().includes('norm'))).length;
    const shown = async () => Number(await grid(v).getAttribute('aria-rowcount')) - 1;
    await v.until(async () => (await shown()) >= least && (await shown()) < all.length, 'a text leaves rows out');
});

test('a filter that makes no sense is refused in words and asks the server nothing', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    for (const wrong of ['layer:x', 'dur>soon', 'token:', 'origin:moon', 'time:..']) {
        await addFilter(v, wrong);
        await v.page.getByRole('alert').filter({ hasText: 'for example' }).waitFor();
        assert.equal(v.fragment().get('log'), null);
        await v.press('Escape', 'Escape');
    }
});

test('completion by keys: a key, a value, taken with Enter', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await grid(v).waitFor();
    await v.press('Slash');
    await v.page.keyboard.type('ori');
    await v.page.getByRole('option', { name: /^origin:/ }).waitFor();
    await v.press('ArrowDown', 'Enter');
    await v.page.getByRole('option', { name: 'origin:buffer' }).waitFor();
    await v.press('ArrowDown', 'ArrowDown', 'Enter');
    await v.untilFragment('log', 'origin:buffer');
    await rowsAre(v, logged('tiny', '--origin', 'buffer').length);
});

test('the export has every row that passes, and the same as the command', async ({ open, t }) => {
    const folder = mkdtempSync(join(tmpdir(), 'tt-log-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const v = await open(['moe'], { fragment: 'view=log&log=layer:1 op:MUL_MAT' });
    const expected = logged('moe', '--layer', '1', '--op', 'MUL_MAT');
    await rowsAre(v, expected.length);
    const saved = {};
    for (const format of ['CSV', 'TSV', 'JSON']) {
        await v.page.locator(`summary[aria-label="Export ${expected.length} rows"]`).click();
        const waiting = v.page.waitForEvent('download');
        await v.page.getByRole('link', { name: format }).click();
        const download = await waiting;
        assert.equal(download.suggestedFilename(), `log.${format.toLowerCase()}`);
        await download.saveAs(join(folder, format));
        saved[format] = readFileSync(join(folder, format), 'utf8');
        await v.press('Escape');
    }
    assert.deepEqual(JSON.parse(saved.JSON).ops, expected);
    const [head, ...lines] = saved.TSV.trimEnd().split('\n').map((each) => each.split('\t'));
    assert.equal(lines.length, expected.length);
    for (const [i, cells] of lines.entries())
        for (const key of ['start_ns', 'duration_ns', 'wait_ns', 'batch_id', 'graph_run', 'node', 'op', 'name', 'layer_id', 'weight_bytes'])
            assert.equal(cells[head.indexOf(key)], String(expected[i][key] ?? ''), `${key} of row ${i}`);
    assert.equal(saved.CSV.trimEnd().split('\n').length, expected.length + 1);
});

test('a click selects the op everywhere; a reload shows the same; Esc clears', async ({ open }) => {
    const ops = logged('tiny');
    const at = ops.findIndex((op) => op.op === 'MUL_MAT' && op.batch_id === 0);
    const v = await open(['tiny'], { fragment: 'view=log' });
    await (await row(v, at)).click();
    await v.untilFragment('token', '0');
    const weight = ops[at].sources.find((s) => s.file_offset_bytes !== undefined);
    assert.equal(v.fragment().get('tensor'), weight.name);
    assert.equal(v.fragment().get('layer'), String(ops[at].layer_id));
    assert.match(v.fragment().get('op'), new RegExp(`\\.${ops[at].node}$`));
    assert.equal(await (await row(v, at)).getAttribute('aria-selected'), 'true');
    await v.page.reload();
    await v.ready();
    assert.equal(await (await row(v, at)).getAttribute('aria-selected'), 'true');
    await v.press('Escape');
    await v.untilFragment('op', null);
    await v.until(async () => (await grid(v).locator('[aria-selected=true]').count()) === 0, 'no row is selected');
});

test('what is selected elsewhere is scrolled to, and said when the filter leaves it out', async ({ open }) => {
    const ops = logged('tiny');
    const last = ops.findLastIndex((op) => op.layer_id === 1);
    const v = await open(['tiny'], { fragment: 'view=log' });
    const run = (await v.api(`traces/0/log/rows?first=${last}&n=1`)).run[0];
    await v.show(`view=log&op=${run}.${ops[last].node}`);
    assert.equal(await (await row(v, last)).getAttribute('aria-selected'), 'true');
    await addFilter(v, 'layer:0');
    await line(v).getByText('the filter leaves the selected op out').waitFor();
    // A token: its first row comes into view.
    const token = ops[last].batch_id;
    await v.show(`view=log&token=${token}`);
    await row(v, ops.findIndex((op) => op.batch_id === token));
});

test('what is selected is scrolled to also when its place is known before the rows', async ({ open }) => {
    const ops = logged('tiny');
    const token = ops.at(-1).batch_id;
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await v.page.route('**/log/rows*', async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 700));
        await route.continue();
    });
    await v.show(`view=log&token=${token}`);
    await row(v, ops.findIndex((op) => op.batch_id === token));
});

test('the selection becomes the filter by one key', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log&layer=1&token=2' });
    await grid(v).waitFor();
    await v.press('Shift+KeyF');
    await v.untilFragment('log', 'token:2 layer:1');
    await rowsAre(v, logged('tiny', '--token', '2', '--layer', '1').length);
});

test('the keyboard reaches every row; a screen reader is told which', async ({ open }) => {
    const n = logged('tiny').length;
    const v = await open(['tiny'], { fragment: 'view=log' });
    await rowsAre(v, n);
    await grid(v).focus();
    const at = async () => {
        const id = await grid(v).getAttribute('aria-activedescendant');
        return Number(await v.page.locator(`[id="${id}"]`).getAttribute('aria-rowindex')) - 2;
    };
    assert.equal(await at(), 0);
    await v.press('ArrowDown', 'ArrowDown', 'ArrowUp');
    assert.equal(await at(), 1);
    await v.press('PageDown');
    const page = await at();
    assert.ok(page > 5 && page < 60, `a page is ${page} rows`);
    await v.press('PageUp');
    assert.equal(await at(), 1);
    await v.press('End');
    assert.equal(await at(), n - 1);
    await row(v, n - 1);
    await v.press('Enter');
    await v.untilFragment('token', String(logged('tiny').at(-1).batch_id));
    await v.press('Home');
    assert.equal(await at(), 0);
});

test('columns are chosen and widened, and the address keeps that', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await grid(v).waitFor();
    await v.page.locator('summary', { hasText: 'Columns' }).click();
    await v.page.getByRole('checkbox', { name: 'Wait' }).click();
    await v.page.getByRole('checkbox', { name: 'Destination' }).click();
    await v.press('Escape');
    await v.page.getByRole('separator', { name: 'Width of Op' }).focus();
    await v.press('ArrowRight', 'ArrowRight');
    await v.until(() => /op-150/.test(v.fragment().get('cols') ?? ''), 'the width is in the address');
    await v.page.reload();
    await v.ready();
    const heads = await grid(v).getByRole('columnheader').allTextContents();
    assert.ok(heads.includes('Destination') && !heads.includes('Wait'), heads.join());
});

test('times that were not observed say so, others are the command\'s', async ({ open }) => {
    for (const name of ['moe', 'hostile']) {
        const [first] = logged(name);
        const v = await open([name], { fragment: 'view=log&cols=wait,off_cpu' });
        const cells = await (await row(v, 0)).locator('[role=gridcell]').allTextContents();
        for (const [i, ns] of [first.wait_ns, first.off_cpu_ns].entries())
            assert.equal(cells[i] === 'not observed', ns === null, `${name}: ${cells[i]} for ${ns}`);
    }
});

test('more rows than an element can be high: the wheel goes by rows, the end is reached', async ({ open, t }) => {
    const folder = mkdtempSync(join(tmpdir(), 'tt-log-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'long.ttrace');
    execFileSync(process.env.TT_GENTRACE, ['-o', path, '--lanes', '1', '--records', '1500000'], { stdio: 'ignore' });
    const v = await open([path], { fragment: 'view=log' });
    await v.until(async () => /^[\d,]+ rows/.test(await line(v).textContent()), 'the rows are counted');
    const n = Number(await grid(v).getAttribute('aria-rowcount')) - 1;
    assert.ok(n > 1_000_000, `${n} rows`);
    const [last] = (await v.api(`traces/0/log/rows?first=${n - 1}&n=1`)).ops;
    await grid(v).focus();
    await v.press('End');
    assert.ok((await (await row(v, n - 1)).textContent()).includes((last.start_relative_ns / 1e6).toFixed(4)));
    // The top row, which may be cut off.
    const top = async () =>
        Number(await grid(v).locator('.vt-rows [role=row]').first().getAttribute('aria-rowindex')) - 2;
    const before = await top();
    await grid(v).hover();
    await v.page.mouse.wheel(0, -240);
    await v.until(async () => (await top()) !== before, 'the wheel scrolls');
    assert.equal(await top(), before - 10);
    // Half of the scrollbar is half of the rows.
    await grid(v).evaluate((e) => (e.scrollTop = (e.scrollHeight - e.clientHeight) / 2));
    await v.until(async () => Math.abs((await top()) - n / 2) < n / 1000, 'the middle is shown');
    await row(v, await top());
});

test('a trace that grows: new rows come below, and what is shown stays', async ({ open, t }) => {
    const folder = mkdtempSync(join(tmpdir(), 'tt-log-'));
    t.after(() => rmSync(folder, { recursive: true }));
    // It describes each batch right before its ops.
    const whole = join(process.env.TT_SOURCE_DIR, 'tests/golden/good-described.ttrace');
    const path = join(folder, 'live.ttrace');
    const bytes = readFileSync(whole);
    writeFileSync(path, bytes.subarray(0, Math.floor(bytes.length * 0.9)));
    const v = await open([path], { args: ['--live'], fragment: 'view=log' });
    await row(v, 0);
    const rows = async () => Number(await grid(v).getAttribute('aria-rowcount')) - 1;
    const before = await rows();
    assert.ok(before > 60, `${before} rows`);
    await grid(v).focus();
    await v.press('PageDown', 'PageDown');
    const shown = () => grid(v).locator('.vt-cursor').getAttribute('aria-rowindex');
    const cursor = await shown();
    copyFileSync(whole, path);
    await v.until(async () => (await rows()) > before, 'there are more rows');
    assert.equal(await shown(), cursor);
    await v.until(async () => (await rows()) === logged(whole).length, 'all rows are there');
    assert.equal(await shown(), cursor);
    await v.press('End');
    await row(v, (await rows()) - 1);
});

test('hostile names and texts are shown as they are, and run nothing', async ({ open }) => {
    const v = await open(['hostile'], { fragment: 'view=log' });
    await row(v, 0);
    await addFilter(v, 'text:"<img src=x onerror=alert(1)>"');
    await v.until(async () => (await line(v).textContent()).includes('row'), 'the rows are counted');
    assert.equal(await v.page.locator('main img, main script, main iframe').count(), 0);
    await v.press('Control+KeyF');
    await v.page.keyboard.type('<');
    await v.page.getByRole('search').getByRole('option').first().waitFor();
    assert.equal(await v.page.locator('.search img, .search script').count(), 0);
});

test('a trace that was cut off: the rows that are left are those of the command', async ({ open }) => {
    const v = await open(['cut'], { fragment: 'view=log' });
    await rowsAre(v, logged('cut').length);
});

test('Ctrl+F finds: what is selected comes into view; Esc goes back', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await row(v, 0);
    await grid(v).focus();
    await v.press('Control+KeyF');
    await v.page.keyboard.type('attn_k');
    await v.page.getByRole('option', { name: /^blk\.0\.attn_k\.weight/ }).waitFor();
    await v.press('Shift+Enter');
    await v.untilFragment('tensor', 'blk.0.attn_k.weight');
    // The row that reads it has come into view.
    await v.until(
        async () => (await grid(v).locator('.vt-related').first().count()) > 0,
        'an op of that tensor is to be seen',
    );
    await v.press('Escape');
    assert.equal(await v.page.getByRole('search').getByRole('listbox').count(), 0);
    assert.equal((await v.focused()).role, 'grid');
    assert.equal(v.fragment().get('tensor'), 'blk.0.attn_k.weight');
});

test('Enter that comes before the answer is done when the answer is there', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await v.page.route('**/find?*', async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 500));
        await route.continue();
    });
    await v.press('Control+KeyF');
    await v.page.keyboard.type('blk.1.ffn_up');
    await v.press('Enter');
    await v.untilFragment('tensor', 'blk.1.ffn_up.weight');
});

test('ops, layers, tokens and buffers are found too', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await row(v, 0);
    const choose = async (text, option) => {
        await v.press('Control+KeyF');
        await v.page.getByRole('search').getByRole('combobox').fill(text);
        await v.page.getByRole('option', { name: option }).first().click();
    };
    await choose('layer 1', /^Layer 1/);
    await v.untilFragment('layer', '1');
    await choose('token 2', /^Token 2/);
    await v.untilFragment('token', '2');
    await choose('compute', /^Buffer/);
    await v.until(() => /^buffer\d+:0-\d+$/.test(v.fragment().get('region') ?? ''), 'a buffer is selected');
    await choose('rms_norm', /^RMS_NORM/);
    await v.until(() => /^\d+\.\d+$/.test(v.fragment().get('op') ?? ''), 'an op is selected');
    const [run, node] = v.fragment().get('op').split('.').map(Number);
    const first = logged('tiny', '--op', 'RMS_NORM', '--token', '2')[0];
    assert.equal(node, first.node);
    assert.ok(run >= 0);
    await v.press('Control+KeyF');
    await v.page.getByRole('search').getByRole('combobox').fill('no such thing');
    await v.page.getByText('No match.', { exact: true }).waitFor();
});
