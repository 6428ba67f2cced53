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
