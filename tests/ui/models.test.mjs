// Two models in one program: a layer of one is not the layer of that number of the other, whatever shows or
// filters it. What is right says the command, with --model.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { after } from 'node:test';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from './harness.mjs';

const root = process.env.TT_NEWEST ?? '';
if (!existsSync(join(root, 'usr/bin/llama-speculative-simple'))) {
    console.log('skipped: the newest engine was not fetched (see engine.newest_engine)');
    process.exit(77);
}
const folder = mkdtempSync(join(tmpdir(), 'tt-models-'));
after(() => rmSync(folder, { recursive: true }));

function tensortrace(...args) {
    return execFileSync(process.env.TT_BIN, args, { cwd: folder, encoding: 'utf8', env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
}

const libraries = join(root, 'usr/lib/x86_64-linux-gnu');
const backend = / avx2 /.test(readFileSync('/proc/cpuinfo', 'utf8')) ? 'haswell' : 'x64';
const environment = { ...process.env, GGML_BACKEND_PATH: `${libraries}/ggml/backends0/libggml-cpu-${backend}.so`, OMP_WAIT_POLICY: 'passive' };
tensortrace('synth', '-o', 'tiny.gguf');
tensortrace('synth', '--layers', '1', '--experts', '4', '--experts-used', '2', '-o', 'draft.gguf');
tensortrace('run', '-q', '-o', 'models.ttrace', '--', join(root, 'usr/lib64/ld-linux-x86-64.so.2'), '--library-path', `${libraries}:${libraries}/llama`,
    join(root, 'usr/bin/llama-speculative-simple'), '-m', 'tiny.gguf', '-md', 'draft.gguf', '-p', 'Once upon a time', '-n', '8', '-t', '1',
    '--temp', '0', '-c', '256', '--spec-type', 'draft-simple', '--spec-draft-n-max', '4');
const trace = join(folder, 'models.ttrace');
const ofDraft = JSON.parse(tensortrace('stats', '--json', '--layer', '0', '--model', 'draft.gguf', trace)).total;

const { test } = suite();
const inspector = (v) => v.page.getByRole('complementary', { name: 'Inspector' });
const rows = (v) => v.page.getByRole('grid', { name: /^Time and bytes by/ }).locator('.vt-body [role=row]');

test('a layer is chosen with its model, and its figures are those of that model', async ({ open }) => {
    const v = await open([trace], { fragment: 'view=stats&stats_by=layer' });
    await rows(v).filter({ hasText: '0 of draft.gguf' }).click();
    const part = inspector(v).getByRole('region', { name: 'Layer', exact: true });
    await part.getByRole('heading', { name: 'Layer 0 of draft.gguf' }).waitFor();
    await v.until(async () => (await part.textContent()).includes(`Ops${new Intl.NumberFormat('en').format(ofDraft.count)}`), `${ofDraft.count} ops`);
    await v.until(async () => (await part.textContent()).includes('Layer 0 of draft.gguf took'), 'why that layer took its time');
    assert.equal(await rows(v).and(v.page.locator('[aria-selected=true]')).count(), 1);
    // No layer of one model is not that of the other.
    for (const name of ['tiny.gguf', 'draft.gguf']) await rows(v).filter({ hasText: `no layer of ${name}` }).waitFor();
});

test('the log has the ops of that layer of that model alone, and names both', async ({ open }) => {
    const key = JSON.parse(tensortrace('stats', '--json', '--by', 'layer', trace)).rows.find((r) => r.layer_id === 0 && r.model_file.endsWith('draft.gguf')).layer_key;
    const v = await open([trace], { fragment: `view=log&layer=${key}` });
    await v.page.getByRole('button', { name: 'Filter by selection' }).click();
    const log = v.page.getByRole('grid', { name: /^Ops/ }).locator('.vt-body [role=row]');
    await v.until(async () => (await v.page.getByText(`${new Intl.NumberFormat('en').format(ofDraft.count)} rows`).count()) > 0, `${ofDraft.count} rows`);
    for (const text of await log.evaluateAll((all) => all.map((row) => row.textContent))) assert.match(text, /0 of draft\.gguf/);
});

test('two runs compared name the layers of both models', async ({ open }) => {
    const again = join(folder, 'again.ttrace');
    copyFileSync(trace, again);
    const v = await open([trace, again], { fragment: 'view=diff&diff_by=layers' });
    const table = v.page.locator('.diff-table [role=row]');
    for (const name of ['layer 0 of tiny.gguf', 'layer 1 of tiny.gguf', 'layer 0 of draft.gguf']) await table.filter({ hasText: name }).waitFor();
});

test('experts to evict are of a layer of that model', async ({ open }) => {
    const key = JSON.parse(tensortrace('stats', '--json', '--by', 'layer', trace)).rows.find((r) => r.layer_id === 0 && r.model_file.endsWith('draft.gguf')).layer_key;
    const v = await open([trace], { fragment: 'view=experts&experts_show=keep&keep=1' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await v.page.getByRole('grid', { name: 'Experts of all layers' }).waitFor();
    await v.page.getByRole('button', { name: 'As JSON' }).click();
    const text = () => v.page.evaluate(() => navigator.clipboard.readText());
    await v.until(async () => (await text()).startsWith('{'), 'JSON is copied');
    const { evict } = JSON.parse(await text());
    assert.ok(evict.length > 0);
    for (const { expert_id, ...layer } of evict) {
        assert.deepEqual(layer, { layer_id: 0, stack: null, model: 'draft.gguf', layer_key: key });
        assert.ok(expert_id >= 0 && expert_id < 4);
    }
});
