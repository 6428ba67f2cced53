// Notes on places of a trace: written in the page, kept beside the trace, drawn, listed, in the report; and requests
// that no page of ours makes.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, trace } from './harness.mjs';

const { test } = suite();

/** A copy of a trace in a folder of its own. */
function copied(t, name) {
    const folder = mkdtempSync(join(tmpdir(), 'tt-notes-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, `${name}.ttrace`);
    copyFileSync(trace(name), path);
    return { folder, path, file: `${path}.notes.json` };
}

const dialog = (v) => v.page.getByRole('dialog', { name: 'Notes' });

async function write(v, text) {
    await v.press('Shift+KeyM');
    await dialog(v).getByRole('textbox').fill(text);
    await v.press('Control+Enter');
    await dialog(v).waitFor({ state: 'hidden' });
}

/** How many pixels of the flags' colour the bars of the tokens have; caps of long ones are of that colour, too. */
const marked = (v) =>
    v.page.locator('.strip canvas').evaluate((canvas) => {
        const c = canvas.getContext('2d');
        const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--mark');
        probe.fillRect(0, 0, 1, 1);
        const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
        const { data } = c.getImageData(0, 0, canvas.width, canvas.height);
        let n = 0;
        for (let i = 0; i < data.length; i += 4) if (data[i] === r && data[i + 1] === g && data[i + 2] === b && data[i + 3] === 255) n++;
        return n;
    });

test('a note is kept with its place, shown everywhere, and found again', async ({ open, t }) => {
    const { path, file } = copied(t, 'tiny');
    const v = await open([path], { fragment: 'view=log&token=3&layer=1' });
    await v.rest();
    const without = await marked(v);
    await write(v, 'slow <b>here</b>, why?');
    const [note] = JSON.parse(readFileSync(file, 'utf8')).notes;
    const { batches } = await v.api('traces/0/summary');
    assert.deepEqual({ ...note, fragment: null }, { note_id: 1, text: 'slow <b>here</b>, why?', time_ns: batches.start_relative_ns[3], batch_id: 3, layer_id: 1, tensor: null, fragment: null });
    assert.match(note.fragment, /view=log/);
    await v.page.locator('aside').getByText('slow <b>here</b>, why?').waitFor();
    // Also after a reload, with nothing selected; from there it leads back.
    await v.show('view=memory');
    await v.page.reload();
    await v.ready();
    await v.press('Escape');
    const before = await marked(v);
    await v.page.locator('aside').getByRole('button', { name: 'token 3, layer 1' }).click();
    await v.untilFragment('view', 'log');
    await v.untilFragment('token', '3');
    await v.untilFragment('layer', '1');
    assert.ok(before >= without + 10, `a flag of ${before - without} pixels on the bars`);
    // In the report, as text.
    const report = join(tmpdir(), `tt-notes-${process.pid}.html`);
    t.after(() => rmSync(report, { force: true }));
    execFileSync(process.env.TT_BIN, ['report', '--no-measure', '--force', '-o', report, path]);
    const html = readFileSync(report, 'utf8');
    assert.match(html, /token 3, layer 1, at [^<]*: slow &lt;b&gt;here&lt;\/b&gt;, why\?/);
});

test('notes are changed and removed, and the flag goes with them', async ({ open, t }) => {
    const { path, file } = copied(t, 'tiny');
    const v = await open([path], { fragment: 'view=timeline' });
    await v.rest();
    // With no token selected: the selected one's frame covers what is under it.
    const without = await marked(v);
    await v.show('view=timeline&token=3');
    await v.rest();
    await write(v, 'one');
    await write(v, 'two');
    await v.press('Shift+KeyM');
    const rows = dialog(v).getByRole('listitem');
    await v.until(async () => (await rows.count()) === 2, 'both are listed');
    await rows.filter({ hasText: 'two' }).getByRole('button', { name: 'Change' }).click();
    await dialog(v).getByRole('textbox').fill('zwei');
    await dialog(v).getByRole('button', { name: 'Save' }).click();
    await rows.filter({ hasText: 'zwei' }).waitFor();
    await rows.filter({ hasText: 'one' }).getByRole('button', { name: 'Remove' }).click();
    await v.until(async () => (await rows.count()) === 1, 'one is gone');
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')).notes.map((n) => n.text), ['zwei']);
    await rows.getByRole('button', { name: 'Remove' }).click();
    await v.until(async () => (await rows.count()) === 0, 'the other is gone');
    await v.press('Escape');
    await v.press('Escape');
    await v.untilFragment('token', null);
    await v.until(async () => (await marked(v)) === without, 'no flag is left');
});

test('without permission it is said, and nothing is written', async ({ open, t }) => {
    const { path, folder, file } = copied(t, 'tiny');
    writeFileSync(file, JSON.stringify({ notes: [{ note_id: 4, text: 'old', batch_id: 2 }] }));
    const v = await open([path], { args: ['--no-notes'] });
    await v.page.locator('aside').getByText('old').waitFor();
    await v.press('Shift+KeyM');
    await dialog(v).getByText('No notes can be added: `serve` was started with --no-notes.').waitFor();
    assert.equal(await dialog(v).getByRole('textbox').count(), 0);
    assert.equal(await dialog(v).getByRole('button', { name: 'Remove' }).count(), 0);
    assert.deepEqual(readdirSync(folder).sort(), ['tiny.ttrace', 'tiny.ttrace.notes.json']);
    if (process.getuid() === 0) return;
    chmodSync(folder, 0o500);
    const w = await open([path]);
    await w.press('Shift+KeyM');
    await dialog(w).getByText("the trace's folder cannot be written to").waitFor();
    chmodSync(folder, 0o700);
});

/** A request as it is; resolves to the status, or what ended it. */
function ask(server, headers, body, options = {}) {
    return new Promise((resolve) => {
        const sent = request({ host: '127.0.0.1', port: server.port, path: '/api/v1/traces/0/notes', method: 'POST', headers, ...options }, (response) => {
            response.resume();
            response.on('end', () => resolve(response.statusCode));
        });
        sent.on('error', (error) => resolve(error.code));
        sent.end(body);
    });
}

test('only a page of ours writes', async ({ open, t }) => {
    const { path, folder, file } = copied(t, 'tiny');
    const v = await open([path]);
    const { server } = v;
    const [cookie] = await v.context.cookies();
    const good = { cookie: `${cookie.name}=${cookie.value}`, origin: server.origin, 'content-type': 'application/json' };
    const add = (text) => JSON.stringify({ add: { text } });
    assert.equal(await ask(server, good, add('good')), 200);
    const { 'content-type': _type, ...untyped } = good;
    const { origin: _origin, ...nowhere } = good;
    const { cookie: _cookie, ...stranger } = good;
    for (const [what, headers, body, status, options] of [
        ['no cookie', stranger, add('x'), 403],
        ['no origin', nowhere, add('x'), 403],
        ['another origin', { ...good, origin: 'http://evil.example' }, add('x'), 403],
        ['another port', { ...good, origin: 'http://127.0.0.1:1' }, add('x'), 403],
        ['another site', { ...good, 'sec-fetch-site': 'cross-site' }, add('x'), 403],
        ['rebound', { ...good, host: `evil.example:${server.port}` }, add('x'), 403],
        ['a form', { ...good, 'content-type': 'application/x-www-form-urlencoded' }, 'add=x', 415],
        ['text', { ...good, 'content-type': 'text/plain' }, add('x'), 415],
        ['no type', untyped, add('x'), 415],
        ['too long', good, add('x'.repeat(20_000)), 413],
        ['chunked', { ...good, 'transfer-encoding': 'chunked' }, add('x'), 411],
        ['no JSON', good, 'add', 400],
        ['a text too long', good, add('x'.repeat(4001)), 400],
        ['a member too many', good, JSON.stringify({ add: { text: 'x', path: '/etc/passwd' } }), 400],
        ['another method', good, add('x'), 405, { method: 'PUT' }],
        ['another endpoint', good, add('x'), 405, { path: '/api/v1/traces/0/summary' }],
        ['a path', good, add('x'), 405, { path: '/api/v1/traces/0/notes/../../../etc/passwd' }],
        ['another trace', good, add('x'), 404, { path: '/api/v1/traces/7/notes' }],
        ['a parameter', good, add('x'), 400, { path: '/api/v1/traces/0/notes?path=/tmp/x' }],
        ['a GET with a body', good, add('x'), 400, { method: 'GET' }],
    ]) {
        const got = await ask(server, headers['transfer-encoding'] ? headers : { 'content-length': Buffer.byteLength(body), ...headers }, body, options);
        // A refusal may come before the body was sent.
        assert.ok(got === status || ['ECONNRESET', 'EPIPE'].includes(got), `${what}: ${got}, not ${status}`);
    }
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')).notes.map((n) => n.text), ['good']);
    assert.deepEqual(readdirSync(folder).sort(), ['tiny.ttrace', 'tiny.ttrace.notes.json']);
    // A body that never comes keeps nobody.
    assert.equal((await v.api('traces/0/notes')).notes.length, 1);
});

test('many at once: none is lost', async ({ open, t }) => {
    const { path, file } = copied(t, 'tiny');
    const v = await open([path]);
    await v.page.evaluate(() =>
        Promise.all(Array.from({ length: 20 }, (_, i) => fetch('/api/v1/traces/0/notes', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ add: { text: `n${i}` } }) }))),
    );
    const { notes } = JSON.parse(readFileSync(file, 'utf8'));
    assert.equal(new Set(notes.map((n) => n.text)).size, 20);
    assert.equal(new Set(notes.map((n) => n.note_id)).size, 20);
});

test('a file that is not ours is left alone, and said', async ({ open, t }) => {
    const { path, file } = copied(t, 'tiny');
    writeFileSync(file, 'something else');
    const v = await open([path]);
    v.allow(/422/);
    await v.press('Shift+KeyM');
    await dialog(v).getByText(/notes.json: line 1/).waitFor();
    assert.equal(readFileSync(file, 'utf8'), 'something else');
    assert.ok(existsSync(path));
});
