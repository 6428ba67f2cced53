// The strip of tokens: stepping, dragging, playing, and traces of many tokens.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, trace } from './harness.mjs';

const { test } = suite();

const slider = (v) => v.page.getByRole('slider', { name: 'Token', exact: true });

test('n and p go from token to token, and stop at the ends', async ({ open }) => {
    const v = await open(['tiny']);
    await v.press('KeyN');
    await v.untilFragment('token', '0');
    await v.press('KeyP');
    await v.press('KeyN', 'KeyN');
    await v.untilFragment('token', '2');
    await v.press('KeyP');
    await v.untilFragment('token', '1');
    await v.press('Escape');
    await v.untilFragment('token', null);
    await v.press('KeyP');
    const last = (await v.api('traces/0/summary')).batches.batch_id.at(-1);
    await v.untilFragment('token', String(last));
    await v.press('KeyN');
    assert.equal(v.fragment().get('token'), String(last));
});

test('the slider says which token it is, with its text, and obeys its keys', async ({ open }) => {
    const v = await open(['tiny']);
    const { batches } = await v.api('traces/0/summary');
    await slider(v).focus();
    await v.press('Home');
    await v.untilFragment('token', '0');
    const said = await slider(v).getAttribute('aria-valuetext');
    assert.match(said, /token 0, prompt/);
    assert.match(said, /Once·upon·a·time/);
    await v.press('ArrowRight', 'ArrowRight');
    await v.untilFragment('token', '2');
    assert.equal(await slider(v).getAttribute('aria-valuenow'), '2');
    await v.press('End');
    await v.untilFragment('token', String(batches.batch_id.at(-1)));
    await v.until(async () => /token \d+, generated/.test(await v.said()), 'the live region tells the token');
});

test('the text of the tokens is there to read, and a click on one selects it', async ({ open }) => {
    const v = await open(['tiny']);
    const { batches } = await v.api('traces/0/summary');
    const shown = await v.page.locator('.tape-token').allTextContents();
    assert.equal(shown.length, batches.batch_id.length);
    assert.equal(shown[3], batches.text[3].replaceAll(' ', '·'));
    await v.page.locator('.tape-token').nth(3).click();
    await v.untilFragment('token', String(batches.batch_id[3]));
});

test('dragging on the bars scrubs', async ({ open }) => {
    const v = await open(['tiny']);
    const { batches } = await v.api('traces/0/summary');
    const box = await slider(v).boundingBox();
    await v.page.mouse.move(box.x + 2, box.y + 20);
    await v.page.mouse.down();
    await v.untilFragment('token', '0');
    await v.page.mouse.move(box.x + box.width - 2, box.y + 20, { steps: 5 });
    await v.untilFragment('token', String(batches.batch_id.at(-1)));
    await v.page.mouse.up();
    await v.page.mouse.move(box.x + 2, box.y + 20);
    assert.equal(v.fragment().get('token'), String(batches.batch_id.at(-1)));
});

test('Space plays from the first token to the last, in order, and Esc ends it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'speed=4' });
    const { batches } = await v.api('traces/0/summary');
    // Every state that the page shows, not only those that a poll happens to see.
    await v.page.evaluate(() => {
        window.seen = [];
        const note = () => window.seen.push(Number(document.querySelector('.strip').getAttribute('aria-valuenow')));
        new MutationObserver(note).observe(document.querySelector('.strip'), { attributeFilter: ['aria-valuenow'] });
    });
    await v.press('Space');
    await v.page.getByRole('button', { name: 'Pause' }).waitFor();
    await v.untilFragment('token', String(batches.batch_id.at(-1)));
    await v.page.getByRole('button', { name: 'Play the tokens' }).waitFor();
    const seen = await v.page.evaluate(() => window.seen);
    assert.deepEqual(seen, batches.batch_id.map((_, i) => i).slice(seen[0]));
    assert.ok(seen[0] <= 1);
    await v.press('Space');
    await v.page.getByRole('button', { name: 'Pause' }).waitFor();
    await v.press('Escape');
    await v.page.getByRole('button', { name: 'Play the tokens' }).waitFor();
    await v.untilFragment('token', null);
});

test('the speed is chosen by keys, too, and kept in the address', async ({ open }) => {
    const v = await open(['tiny']);
    await v.press('Shift+Period', 'Shift+Period');
    await v.untilFragment('speed', '4');
    await v.press('Shift+Period', 'Shift+Comma', 'Shift+Comma', 'Shift+Comma', 'Shift+Comma');
    await v.untilFragment('speed', '0.5');
    await v.page.reload();
    await v.ready();
    assert.equal(await v.page.getByLabel('Speed').inputValue(), '0.5');
});

test('5,000 tokens: few elements, and every one can be reached', async ({ open, t }) => {
    if (!process.env.TT_GENTRACE) return t.skip('TT_GENTRACE names no gentrace');
    const folder = mkdtempSync(join(tmpdir(), 'tt-ui-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'many.ttrace');
    execFileSync(process.env.TT_GENTRACE, ['-o', path, '--tokens', '5000', '--layers', '1', '--width', '64', '--vocab', '300']);
    const v = await open([path]);
    const { batches } = await v.api('traces/0/summary');
    assert.ok(batches.batch_id.length >= 5000);
    await slider(v).focus();
    await v.press('End');
    await v.untilFragment('token', String(batches.batch_id.at(-1)));
    assert.ok((await v.page.locator('.tape-token').count()) < 200);
    await v.page.locator('.tape-token[data-current]').waitFor();
    await v.press('ArrowLeft');
    await v.untilFragment('token', String(batches.batch_id.at(-2)));
});

test('the playhead steps by 0.01 ms inside the token, into its neighbours, and is in the address', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'token=2' });
    const { batches } = await v.api('traces/0/summary');
    const at = () => (v.fragment().get('at') === null ? null : Number(v.fragment().get('at')));
    await v.press('KeyK');
    await v.until(() => at() !== null, 'the playhead is in the address');
    const first = at();
    assert.ok(Math.abs(first - batches.start_relative_ns[2]) < 2, `${first} is where token 2 begins`);
    await v.press('KeyK', 'KeyK', 'KeyK');
    await v.until(() => at() === first + 30_000, 'three steps further');
    await v.press('KeyJ');
    await v.until(() => at() === first + 20_000, 'one back');
    await v.page.reload();
    await v.ready();
    assert.equal(at(), first + 20_000);
    await v.press('KeyJ', 'KeyJ', 'KeyJ');
    await v.untilFragment('token', '1');
    await v.until(() => Math.abs(at() - batches.end_relative_ns[1]) < 2, 'at the end of the token before');
    await v.press('KeyN');
    await v.untilFragment('at', null);
});

test('the film runs inside the tokens at a share of real time, from one to the next', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'token=1' });
    const { batches } = await v.api('traces/0/summary');
    // The shortest generated token at a share of real time at which it takes some tenths of a second or seconds.
    const took = (i) => batches.end_relative_ns[i] - batches.start_relative_ns[i];
    const generated = batches.batch_id.map((_, i) => i).slice(0, -1).filter((i) => batches.phase[i] === 'generate');
    const one = generated.reduce((a, b) => (took(b) < took(a) ? b : a));
    const share = [1e-4, 1e-3, 1e-2, 1e-1, 1].find((each) => took(one) / each < 5e9);
    await v.show(`token=${batches.batch_id[one]}&speed=t${share === 1 ? 1 : share.toExponential()}`);
    await v.until(async () => (await v.page.getByRole('combobox', { name: /speed/i }).inputValue()).startsWith('t'), 'it is that speed');
    const begun = Date.now();
    await v.press('Space');
    await v.until(() => Number(v.fragment().get('at')) >= Math.floor(batches.start_relative_ns[one]), 'it runs inside');
    await v.until(() => Number(v.fragment().get('token')) > batches.batch_id[one], 'it goes on to the next token');
    const shown_ms = Date.now() - begun;
    assert.ok(shown_ms > 0.5 * took(one) / 1e6 / share, `${shown_ms} ms for ${took(one) / 1e6} ms at ${share} of real time`);
    await v.press('Space');
    await v.page.getByRole('button', { name: 'Play the tokens' }).waitFor();
    await v.show('token=99999&at=5');
    await v.untilFragment('at', null);
});

test('the ops of a token are those of the log, and Shift+K goes from begin to begin', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'token=2' });
    const log = JSON.parse(execFileSync(process.env.TT_BIN, ['log', '--json', '--token', '2', trace('tiny')], { encoding: 'utf8', maxBuffer: 1 << 26 }));
    const ops = log.ops ?? log.rows;
    const told = await v.page.evaluate(async () => {
        const data = await (await fetch('/api/v1/traces/0/log/ops?batch=2')).arrayBuffer();
        const length = new DataView(data).getUint32(0, true);
        const { columns, cut } = JSON.parse(new TextDecoder().decode(new Uint8Array(data, 4, length)));
        const of = { u32: Uint32Array, f64: Float64Array, u8: Uint8Array };
        return { cut, ...Object.fromEntries(columns.map((c) => [c.name, [...new of[c.type](data, 4 + length + c.offset_bytes, c.n)]])) };
    });
    assert.equal(told.cut, false);
    assert.deepEqual(told.node, ops.map((op) => op.node));
    assert.deepEqual(told.layer_key.map((l) => (l === 0xffffffff ? null : l)), ops.map((op) => op.layer_id));
    ops.forEach((op, i) => {
        assert.ok(Math.abs(told.start_relative_ns[i] - op.start_relative_ns) < 1, `op ${i} begins`);
        assert.ok(Math.abs(told.end_relative_ns[i] - told.start_relative_ns[i] - op.duration_ns) < 1, `op ${i} takes`);
    });
    await v.press('KeyK');
    await v.until(() => v.fragment().get('at') !== null, 'there is a playhead');
    let next = ops.findIndex((op) => Math.ceil(op.start_relative_ns) > Number(v.fragment().get('at')));
    for (let i = 0; i < 3; i++, next++) {
        await v.press('Shift+KeyK');
        await v.untilFragment('at', String(Math.ceil(ops[next].start_relative_ns)));
    }
    await v.press('Shift+KeyJ');
    await v.untilFragment('at', String(Math.ceil(ops[next - 2].start_relative_ns)));
});
