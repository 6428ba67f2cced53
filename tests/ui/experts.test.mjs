// The experts: the matrix says what `routing` says, of the run and of a token.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function command(name, ...args) {
    return JSON.parse(execFileSync(process.env.TT_BIN, ['routing', '--json', ...args, trace(name)], { encoding: 'utf8' }));
}

function matrix(v) {
    return v.page.getByRole('application', { name: /^Experts of/ });
}

async function expertRows(v, layer) {
    const table = v.page.getByRole('grid', { name: `Experts of layer ${layer}` });
    await table.waitFor();
    return table.locator('.vt-body [role=row]').evaluateAll((rows) => rows.map((row) => [...row.children].map((c) => c.textContent)));
}

test('counts are those of the command, of the run and of a token', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts&layer=1' });
    await matrix(v).waitFor();
    const counts = (said) => said.layers.find((l) => l.layer_id === 1).experts.map((e) => String(e.count));
    assert.deepEqual((await expertRows(v, 1)).map((r) => r[1]), counts(command('moe')));
    await v.press('KeyN');
    await v.untilFragment('token', '0');
    await v.press('KeyN', 'KeyN');
    await v.untilFragment('token', '2');
    await v.page.getByRole('button', { name: 'The token (2)' }).click();
    const one = counts(command('moe', '--token', '2'));
    await v.until(async () => (await expertRows(v, 1)).every((r, i) => r[1] === one[i]), 'the choices of token 2 are shown');
    await v.page.getByRole('button', { name: 'Up to the token' }).click();
    const upTo = counts(command('moe', '--token', '0..2'));
    await v.until(async () => (await expertRows(v, 1)).every((r, i) => r[1] === upTo[i]), 'the choices up to token 2 are shown');
});

test('a cell selects the layer, the tensor and its bytes', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts' });
    await matrix(v).focus();
    await v.press('ArrowDown', 'ArrowRight', 'ArrowRight');
    await v.until(async () => (await v.said()).startsWith('layer 1, expert 2: chosen'), 'it is said aloud where the keyboard is');
    await v.press('Enter');
    const layer = (await v.api('traces/0/experts')).layers[1];
    const slice = layer.slices[0];
    await v.untilFragment('layer', '1');
    await v.untilFragment('tensor', slice.tensor);
    const from = slice.file_offset_bytes + 2 * slice.expert_bytes;
    await v.untilFragment('region', `file0:${from}-${from + slice.expert_bytes}`);
    await v.untilFragment('expert', '1.2');
    await v.page.getByRole('heading', { name: 'Expert 2 of layer 1' }).waitFor();
    // The mouse reaches the same place.
    await v.press('Escape');
    await v.untilFragment('layer', null);
    const box = await v.page.locator('.experts-host canvas').boundingBox();
    await v.page.mouse.click(box.x + 66 + 10, box.y + 20 + 10);
    await v.untilFragment('layer', '0');
    await v.untilFragment('expert', '0.0');
    await v.page.reload();
    await v.ready();
    await v.page.getByRole('heading', { name: 'Expert 0 of layer 0' }).waitFor();
});

test('the canvas is coloured where experts were chosen, and only there', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts&token=3&experts_of=token' });
    await matrix(v).waitFor();
    // What this test does, the page does not.
    v.allow(/Multiple readback operations/);
    const { layers } = await v.api('traces/0/experts?batch=3');
    const colours = () =>
        v.page.evaluate(() => {
            const canvas = document.querySelector('.experts-host canvas');
            const ratio = canvas.width / canvas.clientWidth;
            const c = canvas.getContext('2d');
            const at = (x, y) => [...c.getImageData(x * ratio, y * ratio, 1, 1).data].join();
            const list = [];
            for (let e = 0; e < 8; e++) list.push(at(66 + e * ((Math.min(84, (canvas.clientWidth - 74) / 8))) + 4, 20 + 4));
            return list;
        });
    const none = layers[0].count.findIndex((n) => n === 0);
    await v.until(async () => {
        const seen = await colours();
        return layers[0].count.every((n, e) => (n > 0) === (seen[e] !== seen[none]));
    }, 'chosen cells have another colour than the others');
});

test('colour can tell something else, also what was not observed', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts&layer=0' });
    await matrix(v).waitFor();
    for (const id of ['bytes', 'weight', 'last', 'disk']) {
        await v.page.getByRole('combobox', { name: 'Colour' }).selectOption(id);
        await v.untilFragment('experts_by', id);
    }
    await v.page.getByText(/Disk reads are an estimate/).waitFor();
});

test('a model without experts says what this view is for', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=experts' });
    await v.page.getByRole('heading', { name: 'This model has no experts' }).waitFor();
});

test('what to keep: the sentence has the figures of whatif, and the table those that fit', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts' });
    await v.page.getByRole('button', { name: 'What to keep' }).click();
    const answer = v.page.locator('.experts-keep-answer');
    await answer.waitFor();
    const units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };
    const bytesOf = (text) => Number(text[1]) * units[text[2]];
    const said = async () => [...(await answer.textContent()).matchAll(/([\d.]+) (B|KiB|MiB|GiB)/g)].map(bytesOf);
    const slider = v.page.getByRole('slider', { name: /Memory for weights/ });
    const { touched_bytes } = await v.api('traces/0/whatif?steps=40');
    for (const [policy, step] of [['pin-hot', 20], ['pin-hot', 28], ['lru', 28]]) {
        await v.page.getByRole('combobox', { name: 'Keep' }).selectOption(policy);
        await slider.fill(String(step));
        const size = step < 40 ? Math.floor(touched_bytes / 40) * step : touched_bytes;
        const out = execFileSync(process.env.TT_BIN, ['whatif', '--unit', 'expert', '--warm', '--policy', policy, '--ram', String(size), '--json', trace('moe')], { encoding: 'utf8' });
        const [{ steady_per_token_bytes: again, steady_miss_ratio: share }] = JSON.parse(out).results;
        await v.until(async () => {
            const [kept, saved, all, cost] = await said();
            const near = (a, b) => Math.abs(a - b) <= 0.01 * Math.max(a, b);
            return near(kept, size) && near(saved, touched_bytes - size) && near(all, touched_bytes) && near(cost, again);
        }, `${policy} ${size}: ${await answer.textContent()}`);
        assert.ok((await answer.textContent()).includes(`${(share * 100).toFixed(1)} %`), 'the share of what a token needs');
    }
    // Those that are kept fit, and are those read most.
    await v.page.getByRole('combobox', { name: 'Keep' }).selectOption('pin-hot');
    const { layers } = await v.api('traces/0/experts');
    const rows = await v.page.getByRole('grid', { name: 'Experts of all layers' }).locator('.vt-body [role=row]').evaluateAll((list) => list.map((row) => [...row.children].map((c) => c.textContent)));
    const batches = rows.map((r) => Number(r[6]));
    assert.deepEqual(batches, [...batches].sort((a, b) => b - a));
    const kept = rows.filter((r) => r[1] === 'keep').length;
    const used = layers.reduce((sum, l) => sum + (l.n_experts - l.unused_experts) * l.expert_bytes, 0);
    const room = Math.floor(touched_bytes / 40) * 28 - (touched_bytes - used);
    assert.ok(kept > 0 && kept * layers[0].expert_bytes <= room && (kept + 1) * layers[0].expert_bytes > room, `${kept} kept in ${room} bytes`);
    // Cold experts, over all layers.
    const never = layers.reduce((sum, l) => sum + l.unused_experts, 0);
    assert.match(await v.page.locator('.experts-keep .experts-notes').textContent(), new RegExp(`^${never} expert`));
});

test('what to evict is copied as a list and as JSON', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts&experts_show=keep&keep=20' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const evicted = v.page.getByRole('grid', { name: 'Experts of all layers' });
    await evicted.waitFor();
    const text = () => v.page.evaluate(() => navigator.clipboard.readText());
    await v.page.getByRole('button', { name: 'Copy what to evict' }).click();
    await v.until(async () => /^layer \d+ expert \d+\n/.test(await text()), 'a list is copied');
    const lines = (await text()).trim().split('\n');
    await v.page.getByRole('button', { name: 'As JSON' }).click();
    await v.until(async () => (await text()).startsWith('{'), 'JSON is copied');
    const { evict } = JSON.parse(await text());
    assert.deepEqual(evict.map((x) => `layer ${x.layer_id} expert ${x.expert_id}`), lines);
    assert.ok(lines.length > 3 && lines.length < 32);
});

test('whatif: parameters that make no sense are refused', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts' });
    v.allow(/400/);
    for (const query of ['policy=x', 'ram_bytes=0', 'ram_bytes=x', 'steps=0', 'steps=65', 'unit=page'])
        assert.equal(await v.page.evaluate(async (at) => (await fetch(`/api/v1/traces/0/whatif?${at}`)).status, query), 400, query);
});
