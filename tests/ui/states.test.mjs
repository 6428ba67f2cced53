// What the page says when something is missing: the server, the trace's end, permission.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, copyFileSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from './server.mjs';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function folder(t) {
    const path = mkdtempSync(join(tmpdir(), 'tt-ui-'));
    t.after(() => rmSync(path, { recursive: true }));
    return path;
}

/** Refused connections are what these tests are about. */
function allowGone(v) {
    v.allow(/ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|ERR_CONNECTION_CLOSED/);
}

test('the server stops under the page: it says so, keeps what it shows, and comes back', async ({ open, serve, t }) => {
    const server = await serve(['tiny']);
    const v = await open([], { server, fragment: 'view=stats&token=2' });
    await v.rest();
    allowGone(v);
    await server.stop();
    // Whatever asks the server next notices.
    await v.press('Digit2', 'Digit3', 'Digit4');
    await v.page.evaluate(() => dispatchEvent(new Event('focus')));
    const banner = v.page.getByRole('alert').filter({ hasText: 'The server has stopped' });
    await banner.waitFor();
    assert.match(await banner.textContent(), /tensortrace serve/);
    await v.press('KeyN', 'Digit7');
    await v.untilFragment('token', '3');
    const stats = v.page.locator('#main');
    await stats.getByText('This could not be shown').waitFor();
    await v.page.getByText('Token 3', { exact: false }).first().waitFor();
    await banner.getByRole('button', { name: 'Try again' }).click();
    await banner.waitFor();
    // On the same port, as the page knows it; its cookie is of the server before.
    const again = await startServer([trace('tiny')], ['--port', String(server.port)]);
    t.after(() => again.stop());
    v.allow(/40[13]/);
    await v.page.locator('.banner').filter({ hasText: /open the address/ }).waitFor({ timeout: 60_000 });
    const other = await v.context.newPage();
    await other.goto(again.url);
    await v.page.locator('.banner').getByRole('button', { name: 'Try again' }).click();
    await v.page.locator('.banner').waitFor({ state: 'hidden' });
    // What could not be shown is, without being asked for again.
    await stats.getByText('MUL_MAT').first().waitFor();
});

test('a trace that ends before its first graph: no view says more than is known', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=experts' });
    // Small traces have their graphs before their ops; of large ones a stump looks like this.
    await v.page.route('**/traces/0/summary', async (route) => {
        const response = await route.fetch();
        const summary = await response.json();
        assert.ok(summary.counts.graphs > 0);
        summary.counts.graphs = 0;
        await route.fulfill({ response, json: summary });
    });
    await v.page.reload();
    await v.page.getByText('Unknown whether the model has experts').waitFor();
    await v.show('view=graph');
    await v.page.getByText('No graph was recorded').waitFor();
});

test('a trace that was cut off: what is left is shown, and what is missing is said', async ({ open }) => {
    const v = await open(['cut']);
    const banner = v.page.getByRole('region', { name: 'What is wrong with the trace' });
    await banner.waitFor();
    assert.match(await banner.textContent(), /cut off/);
    assert.match(await banner.textContent(), /tensortrace verify/);
    const whole = (await v.api('traces/0/summary')).batches.batch_id.length;
    assert.ok(whole > 0);
    await v.press('KeyN');
    await v.untilFragment('token', '0');
    await banner.getByRole('button', { name: 'Hide' }).click();
    await banner.waitFor({ state: 'hidden' });
});

test('a program without a model: there is no map, and where its ops are is said', async ({ open }) => {
    const v = await open(['raw'], { fragment: 'view=memory' });
    const { rows } = await v.api('traces/0/log/count');
    assert.ok(rows > 0);
    await v.page.getByText(`This program loaded no GGUF model and no buffers were recorded, so there is no map; Timeline and Log have its ${rows} ops.`).waitFor();
    assert.ok(!/tensortrace run/.test(await v.page.locator('#main').textContent()), 'it was recorded as it should be');
    await v.page.getByRole('button', { name: 'Show Log' }).click();
    await v.untilFragment('view', 'log');
    await v.until(async () => (await v.page.locator('#main').getByRole('row').count()) === rows + 1, 'a row each');
});

test('a trace without an op that can be read: what was read, and how to recover it', async ({ open, t }) => {
    const v = await open(['cut'], { fragment: 'view=log' });
    const { counts } = await v.api('traces/0/summary');
    assert.equal(counts.op_records, 0);
    for (const view of ['log', 'stats']) {
        await v.show(`view=${view}`);
        await v.page.getByRole('heading', { name: 'Nothing could be read from the ops' }).waitFor();
        const text = await v.page.locator('#main').textContent();
        const counted = (n, one, many) => `${n} ${n === 1 ? one : many}`;
        assert.ok(text.includes(`${counted(counts.batches, 'batch', 'batches')}, ${counted(counts.graphs, 'graph', 'graphs')} and ${counted(counts.buffers, 'buffer', 'buffers')}`), text);
        assert.match(text, /cut off: .*tensortrace recover cut\.ttrace/s);
    }
    // Not even a batch.
    const path = join(folder(t), 'stub.ttrace');
    writeFileSync(path, readFileSync(trace('tiny')).subarray(0, 900));
    const stub = await open([path], { fragment: 'view=memory' });
    const summary = await stub.api('traces/0/summary');
    assert.deepEqual([summary.counts.batches, summary.n_ops], [0, 0]);
    for (const view of ['memory', 'timeline', 'log']) {
        await stub.show(`view=${view}`);
        await stub.page.getByRole('heading', { name: 'Nothing could be read from the ops' }).waitFor();
    }
    assert.match(await stub.page.locator('#main').textContent(), /tensortrace recover stub\.ttrace/);
});

test('a whole trace has no banner', async ({ open }) => {
    const v = await open(['tiny']);
    assert.equal(await v.page.locator('.banner').count(), 0);
});

test('a trace that is still being written: the page keeps up', async ({ open, t }) => {
    if (!process.env.TT_GENTRACE) return t.skip('TT_GENTRACE names no gentrace');
    const path = join(folder(t), 'live.ttrace');
    execFileSync(process.env.TT_GENTRACE, ['-o', path, '--tokens', '3000', '--layers', '2', '--width', '64', '--vocab', '300']);
    const whole = readFileSync(path);
    rmSync(path);
    // As the recorder does it: FILE.part grows, and becomes FILE in the end.
    writeFileSync(`${path}.part`, whole.subarray(0, Math.floor(whole.length * 0.85)));
    const v = await open([path], { args: ['--live'] });
    const banner = v.page.getByRole('region', { name: 'Still recording' });
    await banner.waitFor();
    const before = (await v.api('traces/0/summary')).batches.batch_id.length;
    await banner.getByRole('button', { name: 'Follow the newest token' }).click();
    appendFileSync(`${path}.part`, whole.subarray(Math.floor(whole.length * 0.85)));
    renameSync(`${path}.part`, path);
    await banner.waitFor({ state: 'hidden' });
    const { batches } = await v.api('traces/0/summary');
    assert.ok(batches.batch_id.length > before && before > 0, `${before} of ${batches.batch_id.length} tokens were there`);
    await v.page.getByText(`All ${batches.batch_id.length.toLocaleString('en')} tokens`).or(v.page.getByText(`of ${batches.batch_id.length.toLocaleString('en')})`)).first().waitFor();
});

test('a trace that is not there yet is waited for', async ({ open, t }) => {
    const path = join(folder(t), 'later.ttrace');
    const v = await open([path], { args: ['--live'], ready: false });
    v.allow(/503/);
    await v.page.getByText('Waiting for the trace').waitFor();
    copyFileSync(trace('tiny'), path);
    await v.page.locator('.tape-token').first().waitFor();
});

test('an address with nonsense in it shows the trace all the same', async ({ open }) => {
    for (const fragment of [
        'view=nothing&token=x&layer=%00&op=1&time=5~&region=file:1',
        'token=999999999999&tensor=%F0%9F%92%A9&layer=-5&op=99999.99999&region=buffer999:0-1&time=1e99~2e99',
        'trace=7',
        '%%%&=&==&#',
    ]) {
        const v = await open(['tiny'], { fragment });
        // Views may ask for what is not there, and say what they were told.
        v.allow(/40[04]/);
        assert.ok((await v.page.locator('#main').textContent()).length > 0, fragment);
        await v.close();
    }
});

test("a selection without ops: memory's log names it, there is no filter to remove", async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory&token=999&memory_log=1' });
    v.allow(/40[04]/);
    await v.page.getByRole('heading', { name: 'No ops of what is selected' }).waitFor();
    await v.page.getByText('Selected: token 999, which the trace does not have. Select something else, or press Escape for all ops.').waitFor();
    assert.equal(await v.page.getByText('Remove a filter').count(), 0);
});

test('no trace with that number: what to do is said', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'trace=7' });
    v.allow(/404/);
    await v.page.getByRole('alert').waitFor();
});
