// One selection, every view: what is selected in one is seen in the others, and a copied address
// brings all of it back.
import assert from 'node:assert/strict';
import { suite } from './harness.mjs';

const { test } = suite();
const VIEWS = ['memory', 'timeline', 'graph', 'log', 'experts', 'buffers', 'stats', 'diff'];
const TENSOR = 'blk.1.ffn_up.weight';

const inspector = (v) => v.page.getByRole('complementary', { name: 'Inspector' });

/** A picture of the view alone, when it has come to rest. */
const picture = (v) => v.rest('#main');

for (const [what, with_, without] of [
    ['token', null, 'token=4'],
    ['layer', 'token=4&layer=2', 'token=4'],
    ['tensor', `token=4&tensor=${TENSOR}`, 'token=4'],
])
    test(`a selected ${what} is seen in the views that show it`, async ({ open }) => {
        const unseen = [];
        const dense = await open(['tiny', 'again']);
        const moe = await open(['moe']);
        // Another token, which may be in the same pixel of the timeline if it is next to the first.
        const { batches } = await dense.api('traces/0/summary');
        const far = (id) => Math.abs(batches.start_relative_ns[id] - batches.start_relative_ns[4]);
        const there = with_ ?? `token=${far(1) > far(10) ? 1 : 10}`;
        for (const view of VIEWS) {
            const v = view === 'experts' ? moe : dense;
            // Below the plots of Diff, which have the first screen.
            if (view === 'diff') await v.page.setViewportSize({ width: 1440, height: 1700 });
            await v.show(`view=${view}&${without}`);
            await v.ready();
            const before = await picture(v);
            await v.show(`view=${view}&${there}`);
            await v.ready();
            const now = await picture(v);
            if (now.equals(before)) unseen.push(view);
        }
        // The buffers are of the whole run, with a moment and no layer or tensor to mark.
        const expected = { token: [], layer: ['buffers'], tensor: ['buffers', 'experts'] }[what];
        assert.deepEqual(unseen.filter((view) => !expected.includes(view)), []);
    });

test('everything in the address is back after a reload, in every view', async ({ open }) => {
    const v = await open(['tiny', 'again']);
    for (const view of VIEWS) {
        await v.show(`view=${view}&token=3&layer=1&tensor=${TENSOR}&theme=light&speed=2`);
        await v.ready();
        await picture(v);
        const address = new URLSearchParams(v.fragment());
        await v.page.reload();
        await v.ready();
        await inspector(v).getByRole('heading', { name: `Tensor ${TENSOR}` }).waitFor();
        await inspector(v).getByRole('heading', { name: 'Token 3' }).waitFor();
        await inspector(v).getByRole('heading', { name: 'Layer 1' }).waitFor();
        for (const [name, value] of address) assert.equal(v.fragment().get(name), value, `${view}: ${name}`);
        assert.equal(await v.page.getByRole('tab', { selected: true }).getAttribute('id'), `tab-${view}`);
    }
});

test('a row of the log selects an op: the inspector tells its lanes, timeline and graph show it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log&token=2' });
    const row = v.page.locator('#main').getByRole('row').filter({ hasText: 'MUL_MAT' }).first();
    await row.click();
    await v.until(() => /^\d+\.\d+$/.test(v.fragment().get('op') ?? ''), 'an op is in the address');
    const [run, node] = v.fragment().get('op').split('.');
    const part = inspector(v).getByRole('region', { name: 'Op', exact: true });
    await part.getByRole('heading', { name: 'Op MUL_MAT' }).waitFor();
    const answer = await v.api(`traces/0/op?run=${run}&node=${node}`);
    // By the run's id, as the log and the graph have it, which is not its index.
    assert.notEqual(answer.log.graph_run, Number(run));
    await part.getByText(`${node} of run ${answer.log.graph_run}`).waitFor();
    assert.equal(await part.getByRole('table').first().getByRole('row').count(), 1 + answer.lanes.length);
    const told = await part.locator('.figure', { hasText: /^Duration/ }).locator('dd').textContent();
    assert.ok((await row.innerText()).includes(told), `the log has the same duration: ${told}`);
    for (const view of ['timeline', 'graph']) {
        await part.getByRole('button', { name: view, exact: false }).first().click();
        await v.untilFragment('view', view);
        await v.ready();
        const marked = await picture(v);
        const op = v.fragment().get('op');
        assert.equal(op, `${run}.${node}`, `${view} keeps the op`);
        await part.getByRole('button', { name: 'Clear the op' }).click();
        await v.untilFragment('op', null);
        assert.ok(!(await picture(v)).equals(marked), `${view} shows the op`);
        await v.page.goBack();
        await v.untilFragment('op', op);
    }
});

test('the inspector clears one thing and leaves the others; Esc clears all; Back brings it back', async ({ open }) => {
    const v = await open(['tiny'], { fragment: `view=stats&token=3&layer=1&tensor=${TENSOR}` });
    await inspector(v).getByRole('button', { name: 'Clear the layer' }).click();
    await v.untilFragment('layer', null);
    assert.equal(v.fragment().get('tensor'), TENSOR);
    await v.press('Escape');
    await v.untilFragment('tensor', null);
    assert.equal(v.fragment().get('token'), null);
    await inspector(v).getByRole('heading', { name: 'The run' }).waitFor();
    await v.page.goBack();
    await v.untilFragment('tensor', TENSOR);
    await inspector(v).getByRole('heading', { name: `Tensor ${TENSOR}` }).waitFor();
});

test('the inspector\'s figures are those of the statistics', async ({ open }) => {
    const v = await open(['tiny'], { fragment: `tensor=${TENSOR}&token=3` });
    const part = inspector(v).getByRole('region', { name: 'Tensor', exact: true });
    await part.getByText('In token 3').waitFor();
    const { total } = await v.api(`traces/0/stats?by=op&limit=1&tensor=${TENSOR}&batch=3`);
    assert.equal(total.count, 1);
    const ops = part.locator('.figure', { hasText: /^Ops/ }).locator('dd');
    await v.until(async () => (await ops.textContent()) === '1', 'the number of ops is told');
    await v.show(`tensor=${TENSOR}`);
    const all = (await v.api(`traces/0/stats?by=op&limit=1&tensor=${TENSOR}`)).total.count;
    assert.ok(all > 1);
    await v.until(async () => (await ops.textContent()) === String(all), 'of the whole run, too');
});

test('the inspector folds away, and stays so', async ({ open }) => {
    const v = await open(['tiny']);
    await inspector(v).getByRole('button', { name: 'Hide the inspector' }).click();
    await inspector(v).getByRole('button', { name: 'Show the inspector' }).waitFor();
    await v.untilFragment('inspector', '0');
    await v.page.reload();
    await v.ready();
    await inspector(v).getByRole('button', { name: 'Show the inspector' }).click();
    await inspector(v).getByRole('heading', { name: 'The run' }).waitFor();
});

test('a buffer has one name wherever it is told, and the log marks what touches it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=buffers' });
    const { buffers } = await v.api('traces/0/summary');
    const at = buffers.kind.indexOf('kv_cache');
    const id = buffers.buffer_id[at];
    assert.notEqual(id, at, 'an id is no index');
    await v.page.locator('#main').getByRole('row').filter({ hasText: 'KV cache' }).click();
    await v.until(() => v.fragment().get('region')?.startsWith(`buffer${at}:`), 'the buffer is in the address');
    await inspector(v).getByRole('heading', { name: `Region buffer ${id} ` }).waitFor();
    await v.until(async () => new RegExp(`buffer ${id}\\b`, 'i').test(await v.said()), 'it is said by its id');
    await v.press('Digit4');
    await v.page.locator('.log-line').getByText(`buffer ${id} `).waitFor();
    const marked = v.page.locator('#main .vt-related');
    await marked.first().waitFor();
    for (const text of await marked.allTextContents()) assert.match(text, new RegExp(`buffer ${id} `));
});

test('another trace keeps token, layer and tensor, and lets go of what is only of the first one', async ({ open }) => {
    const rest = `token=3&layer=1&tensor=${TENSOR}`;
    const v = await open(['tiny', 'again'], { fragment: `view=log&op=3.5&time=1000~2000&region=buffer1:0-64&${rest}` });
    await v.page.getByRole('banner').getByLabel('Trace').selectOption('1');
    await v.untilFragment('trace', '1');
    for (const name of ['op', 'time', 'region']) assert.equal(v.fragment().get(name), null, name);
    for (const [name, value] of new URLSearchParams(rest)) assert.equal(v.fragment().get(name), value);
    await v.page.goBack();
    await v.untilFragment('op', '3.5');
});

test('a view that goes away leaves the focus at the new one; an op is said by its name', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await v.page.locator('#main').getByRole('grid').focus();
    await v.press('ArrowDown', 'Enter');
    await v.until(async () => /^Selected [A-Z_+]+ /.test(await v.said()), 'the op is said by its name');
    await v.press('Digit7');
    await v.untilFragment('view', 'stats');
    await v.until(async () => (await v.focused())?.id === 'main', 'the view has the focus');
    await v.page.locator('#main').getByRole('button', { name: 'Table', exact: true }).waitFor();
    await v.press('Tab');
    assert.equal((await v.focused()).name, 'Table');
});

test('Back undoes one thing: what was changed just before it stays', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&token=3' });
    await v.rest();
    // A setting, which makes no entry, and a selection before that is written.
    await v.press('Shift+Digit2', 'KeyN');
    await v.untilFragment('token', '4');
    assert.equal(v.fragment().get('stats_show'), 'tokens');
    await v.page.goBack();
    await v.untilFragment('token', '3');
    assert.equal(v.fragment().get('stats_show'), 'tokens');
});

test('two tokens beside each other: by Shift+click or a key, with differences that are those of the statistics', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&token=3' });
    const { batches } = await v.api('traces/0/summary');
    const box = await v.page.getByRole('slider', { name: 'Token', exact: true }).boundingBox();
    const pitch = Math.min(110, box.width / batches.batch_id.length);
    await v.page.keyboard.down('Shift');
    await v.page.mouse.click(box.x + 6.5 * pitch, box.y + 14);
    await v.page.keyboard.up('Shift');
    await v.untilFragment('token2', '6');
    assert.equal(v.fragment().get('token'), '3');
    const part = inspector(v).getByRole('region', { name: 'Tokens', exact: true });
    await part.getByRole('heading', { name: 'Tokens 3 and 6' }).waitFor();
    const cells = async (name) => part.getByRole('row').filter({ has: v.page.getByRole('rowheader', { name, exact: true }) }).getByRole('cell').allTextContents();
    const took = (i) => batches.end_relative_ns[i] - batches.start_relative_ns[i];
    const ratio = (took(6) / took(3)).toFixed(2);
    assert.ok((await cells('Took'))[2].includes(`(${ratio}×)`), `${await cells('Took')}: ${ratio}`);
    assert.ok((await cells('Took'))[2].startsWith(took(6) > took(3) ? '+' : '−'));
    await v.until(async () => (await cells('Ops')).length === 3, 'the sums are there');
    const sums = await Promise.all([3, 6].map(async (t) => (await v.api(`traces/0/stats?by=component&batch=${t}`)).total));
    assert.deepEqual((await cells('Ops')).slice(0, 2), sums.map((s) => String(s.count)));
    await v.page.reload();
    await v.ready();
    await part.getByRole('heading', { name: 'Tokens 3 and 6' }).waitFor();
    await v.press('KeyH');
    await v.untilFragment('token2', null);
    await v.press('KeyH');
    await v.untilFragment('token2', '2');
    await v.press('Escape');
    await v.untilFragment('token2', null);
});

test('the inspector is as wide as it was made, here and in the next page; shut, it stays so', async ({ open }) => {
    const v = await open(['tiny']);
    const width = async () => Math.round((await inspector(v).boundingBox()).width);
    assert.equal(await width(), 300);
    const edge = v.page.getByRole('separator', { name: 'View and inspector' });
    const box = await edge.boundingBox();
    await v.page.mouse.move(box.x + 3, box.y + 300);
    await v.page.mouse.down();
    await v.page.mouse.move(box.x - 97, box.y + 300, { steps: 4 });
    await v.page.mouse.up();
    const wide = await width();
    assert.ok(Math.abs(wide - 400) < 8, `${wide} px`);
    await v.untilFragment('inspector', String(wide));
    // Without it in the address, the browser remembers.
    const url = new URL(v.page.url());
    await v.page.goto(`${url.origin}${url.pathname}?again#view=log`);
    await v.ready();
    assert.equal(await width(), wide);
    await v.press('KeyI');
    await inspector(v).getByRole('button', { name: 'Show the inspector' }).waitFor();
    await v.page.goto(`${url.origin}${url.pathname}?once-more#view=log`);
    await v.ready();
    await inspector(v).getByRole('button', { name: 'Show the inspector' }).waitFor();
    await v.press('KeyI');
    await v.until(async () => (await width()) >= 300, 'it is there again');
});
