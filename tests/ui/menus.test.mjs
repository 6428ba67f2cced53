// The context menus of the canvases: what is right-clicked, or where keys are, can be filtered by, copied, and
// shown elsewhere, as a table's row.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function logged(name, ...options) {
    return JSON.parse(execFileSync(process.env.TT_BIN, ['log', '--json', ...options, trace(name)], { maxBuffer: 1 << 30 })).ops;
}

const menu = (v) => v.page.getByRole('menu');
const item = (v, name) => menu(v).getByRole('menuitem', { name, exact: true });
const titles = (v) => menu(v).getByRole('menuitem').allTextContents();
const tip = (v) => v.page.locator('.tooltip strong').first();
const pasted = (v) => v.page.evaluate(() => navigator.clipboard.readText());

/** The log shows as many ops as the command under the same filter. */
async function logHas(v, n) {
    await v.untilFragment('view', 'log');
    const grid = v.page.getByRole('grid', { name: /^Ops / });
    await v.until(async () => (await grid.getAttribute('aria-rowcount')) === String(n + 1), `the log has ${n} ops`);
}

/** Keys open it where they are and give the focus back, as in tables. */
async function worksByKeys(v, canvas, key, label) {
    await canvas.focus();
    await v.press(key);
    await menu(v).waitFor();
    assert.equal(await menu(v).getAttribute('aria-label'), label);
    const names = await titles(v);
    assert.equal((await v.focused()).name, names[0]);
    await v.press('ArrowDown');
    assert.equal((await v.focused()).name, names[1]);
    await v.press('End');
    assert.equal((await v.focused()).name, names.at(-1));
    const [at, within] = [await menu(v).boundingBox(), await canvas.boundingBox()];
    assert.ok(at.x >= within.x - 1 && at.x <= within.x + within.width, `the menu at ${at.x} is not at the canvas`);
    await v.press('Escape');
    await menu(v).waitFor({ state: 'detached' });
    assert.equal((await v.focused()).role, 'application');
}

/** Right-clicks the first place of the canvas where the tooltip has that name, of the rows in whose middle it
 * begins with `row`: the middle, if it has that name (the same op of another token may be in view). */
async function rightClick(v, canvas, name, row) {
    const at = await canvas.evaluate(async (element, { want, row }) => {
        const box = element.getBoundingClientRect();
        const told = async (x, y) => {
            element.dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: y, bubbles: true }));
            await new Promise((done) => setTimeout(done));
            return document.querySelector('.tooltip strong')?.textContent ?? '';
        };
        const left = Array.from({ length: Math.floor(box.width / 4) }, (_, i) => box.left + 2 + 4 * i);
        for (let y = box.top + 4; y < box.bottom; y += 6) {
            if (!(await told(box.left + box.width / 2, y)).startsWith(row)) continue;
            for (const x of [box.left + box.width / 2, ...left]) if ((await told(x, y)) === want) return { x, y };
        }
        return null;
    }, { want: name, row });
    assert.ok(at, `${name} is nowhere`);
    await v.page.mouse.move(at.x + 1, at.y + 1);
    await v.until(async () => (await tip(v).textContent()) === name, 'the tooltip is about it');
    await v.page.mouse.click(at.x + 1, at.y + 1, { button: 'right' });
    await menu(v).waitFor();
    await tip(v).waitFor({ state: 'detached' });
    return at;
}

test('memory map: what is right-clicked, and what keys are at', async ({ open }) => {
    const name = 'blk.1.ffn_up.weight';
    const v = await open(['tiny'], { fragment: 'view=memory' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const map = v.page.getByRole('region', { name: 'Memory map' }).getByRole('application');
    await v.rest('main');
    await rightClick(v, map, name, 'blk.1');
    assert.equal(await menu(v).getAttribute('aria-label'), name);
    assert.deepEqual(await titles(v), [
        `Filter the log by tensor:${name}`, 'Filter the log by layer:1',
        'Show in Timeline', 'Show in Graph', 'Show in Log', 'Show in Stats', `Copy name ${name}`,
    ]);
    // Nothing was selected by that.
    assert.equal(v.fragment().get('tensor'), null);
    await item(v, `Copy name ${name}`).click();
    await v.until(async () => (await pasted(v)) === name, 'the name is in the clipboard');
    await worksByKeys(v, map, 'Shift+F10', name);
    await worksByKeys(v, map, 'ContextMenu', name);
    await v.press('Shift+F10');
    await item(v, 'Show in Graph').press('Enter');
    await v.untilFragment('view', 'graph');
    assert.equal(v.fragment().get('tensor'), name);
    assert.equal(v.fragment().get('layer'), '1');
    // What another view selected is what keys are at.
    await v.show('view=memory&tensor=blk.2.ffn_down.weight&layer=2');
    await map.waitFor();
    await v.rest('main');
    await worksByKeys(v, map, 'Shift+F10', 'blk.2.ffn_down.weight');
    await v.press('Shift+F10');
    await item(v, 'Filter the log by tensor:blk.2.ffn_down.weight').click();
    await logHas(v, logged('tiny', '--tensor', 'blk.2.ffn_down.weight').length);
    // Where nothing is, the browser's own menu opens.
    await v.show('view=memory');
    await map.waitFor();
    await v.rest('main');
    const box = await map.boundingBox();
    await v.page.mouse.click(box.x + box.width / 2, box.y + 4, { button: 'right' });
    await v.rest('main');
    assert.equal(await menu(v).count(), 0);
});

test('memory map: an expert is its own item, a row\'s name is its layer', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&tensor=blk.1.ffn_up_exps.weight&slice=3&layer=1' });
    const map = v.page.getByRole('region', { name: 'Memory map' }).getByRole('application');
    await v.rest('main');
    const name = 'blk.1.ffn_up_exps.weight[3]';
    await worksByKeys(v, map, 'Shift+F10', name);
    await v.press('Shift+F10');
    assert.ok((await titles(v)).includes('Show in Experts'));
    await item(v, `Filter the log by tensor:${name}`).click();
    await logHas(v, logged('moe', '--tensor', name).length);
    await v.show('view=memory');
    await map.waitFor();
    await v.rest('main');
    const box = await map.boundingBox();
    for (let y = 24; (await menu(v).count()) === 0 && y < box.height; y += 10) await v.page.mouse.click(box.x + 20, box.y + y, { button: 'right' });
    assert.equal(await menu(v).getAttribute('aria-label'), 'layer 0');
    await item(v, 'Filter the log by layer:0').click();
    await logHas(v, logged('moe', '--layer', '0').length);
});

test('graph: ops, operands and layers', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=graph&token=5&graph.open=1' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const canvas = v.page.getByRole('application', { name: /^Graph of the token/ });
    const g = await v.api('traces/0/graph?batch=5');
    const op = logged('tiny', '--batch', '5').find((each) => each.layer_id === 1 && each.op === 'MUL_MAT');
    await canvas.waitFor();
    await v.show(`view=graph&token=5&op=${g.run}.${op.node}&layer=1&graph.open=1`);
    await v.rest('main');
    await canvas.focus();
    await v.press('KeyF');
    await v.rest('main');
    await worksByKeys(v, canvas, 'Shift+F10', op.name);
    // F brought it to the middle.
    const box = await canvas.boundingBox();
    await v.page.mouse.click(box.x + box.width / 2, box.y + box.height / 2, { button: 'right' });
    assert.equal(await menu(v).getAttribute('aria-label'), op.name);
    await item(v, `Copy name ${op.name}`).click();
    await v.until(async () => (await pasted(v)) === op.name, 'the name is in the clipboard');
    await v.press('ContextMenu');
    await item(v, 'Filter the log by op:MUL_MAT').click();
    await logHas(v, logged('tiny', '--op', 'MUL_MAT').length);
    await v.show('view=graph&token=5');
    await canvas.waitFor();
    await v.rest('main');
    await canvas.focus();
    await v.press('ArrowDown', 'ArrowDown', 'ArrowRight');
    await v.until(async () => /Layer 1: /.test(await canvas.getAttribute('aria-label')), 'the cursor is at layer 1');
    await worksByKeys(v, canvas, 'Shift+F10', 'Layer 1');
    await v.press('Shift+F10');
    await item(v, 'Show in Memory').press('Enter');
    await v.untilFragment('view', 'memory');
    assert.equal(v.fragment().get('layer'), '1');
});

test('timeline: an op of a lane, and a token', async ({ open }) => {
    // The longest whose name no other has: the menu says the name.
    const ops = logged('tiny', '--batch', '5');
    const own = ops.filter((each) => ops.filter((other) => other.name === each.name).length === 1);
    const op = own.reduce((longest, each) => (each.duration_ns > longest.duration_ns ? each : longest));
    const v = await open(['tiny'], { fragment: 'view=timeline&token=5' });
    const { run } = await v.api('traces/0/graph?batch=5');
    await v.show(`view=timeline&token=5&op=${run}.${op.node}`);
    const canvas = v.page.getByRole('application', { name: /^Timeline of/ });
    await canvas.waitFor();
    await canvas.focus();
    await v.press('KeyF');
    await v.rest('main');
    await worksByKeys(v, canvas, 'Shift+F10', op.name);
    // F brought it to the middle of the lanes.
    await rightClick(v, canvas, op.name, op.name);
    assert.equal(await menu(v).getAttribute('aria-label'), op.name);
    await item(v, 'Show in Log').click();
    await v.untilFragment('view', 'log');
    assert.equal(v.fragment().get('op'), `${run}.${op.node}`);
    await v.show('view=timeline&token=5');
    await canvas.waitFor();
    await v.rest('main');
    await v.press('KeyF');
    await v.rest('main');
    const box = await canvas.boundingBox();
    await v.page.mouse.click(box.x + box.width / 2, box.y + 34, { button: 'right' });
    await item(v, 'Filter the log by token:5').click();
    await logHas(v, logged('tiny', '--batch', '5').length);
});
