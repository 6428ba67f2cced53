// Views beside each other: chosen, moved, resized, remembered; one selection in all, keys in one.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { suite } from './harness.mjs';

const { test } = suite();
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const shown = (v) => v.page.locator('.pane').evaluateAll((list) => list.map((p) => p.querySelector('[role=tabpanel]').getAttribute('aria-labelledby').replace('tab-', '')));
const panesAre = (v, ids) => v.until(async () => (await shown(v)).join() === ids.join(), `the panes are ${ids}`);
const paneOf = (v, id) => v.page.locator('.pane', { has: v.page.locator(`[aria-labelledby=tab-${id}]`) });

/** Every two views are beside each other somewhere in these. */
const TRIPLES = ['memory,timeline,graph', 'log,memory,experts', 'graph,log,buffers', 'stats,values,diff', 'timeline,log,stats', 'values,graph,memory', 'experts,timeline,buffers', 'diff,log,values'];

test('any three views beside each other: no id twice, no canvas squeezed, nothing for axe-core', async ({ open }) => {
    const v = await open(['moe', 'tiny']);
    const found = [];
    for (const panes of TRIPLES) {
        await v.show(`panes=${panes}&token=2&layer=1&tensor=blk.1.ffn_up_exps.weight`);
        await panesAre(v, panes.split(','));
        await v.rest();
        const faults = await v.page.evaluate(() => {
            const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
            const twice = ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => `id ${id} twice`);
            const ratio = Math.min(2, devicePixelRatio);
            const canvases = [...document.querySelectorAll('.panes canvas')].filter((c) => c.clientWidth > 0 && c.clientHeight > 0);
            const squeezed = canvases.filter((c) => Math.abs((c.width / c.clientWidth) * c.clientHeight - c.height) > 1.5 || c.width < c.clientWidth * ratio - 1);
            const wide = [...document.querySelectorAll('.pane')].filter((p) => p.scrollWidth > p.clientWidth + 1);
            return [...twice, ...squeezed.map((c) => `${c.parentElement.className} ${c.width}x${c.height} shown as ${c.clientWidth}x${c.clientHeight}`), ...wide.map((p) => `${p.innerText.slice(0, 20)} is wider than its pane`)];
        });
        await v.page.evaluate(axeSource);
        const rules = await v.page.evaluate(async () => {
            const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
            return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
        });
        for (const each of [...faults, ...rules]) found.push(`${panes}: ${each}`);
    }
    assert.deepEqual(found, []);
});

test('one selection: a row of the log is seen in the map and the graph beside it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'panes=memory,graph,log&view=log&token=2' });
    await panesAre(v, ['memory', 'graph', 'log']);
    await v.rest();
    const picture = (id) => v.rest(`[aria-labelledby=tab-${id}] .canvas-view`);
    const before = { memory: await picture('memory'), graph: await picture('graph') };
    await paneOf(v, 'log').getByRole('row').filter({ hasText: 'MUL_MAT' }).first().click();
    await v.until(() => v.fragment().get('op') !== null && v.fragment().get('tensor') !== null, 'an op and its weight are selected');
    for (const id of ['memory', 'graph']) assert.ok(!(await picture(id)).equals(before[id]), `${id} shows it`);
});

test('keys go to the focused pane, and the tab says which it is', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'panes=timeline,graph' });
    await panesAre(v, ['timeline', 'graph']);
    await v.rest();
    const selected = () => v.page.getByRole('tab', { selected: true }).getAttribute('id');
    const zoomed = () => v.fragment().get('window') !== null;
    assert.equal(await selected(), 'tab-timeline');
    await v.press('F6');
    await v.until(async () => (await selected()) === 'tab-graph', 'the graph has the keys');
    await v.until(async () => (await v.focused())?.id === 'main', 'and the focus');
    const graph = () => v.rest('[aria-labelledby=tab-graph] .canvas-view');
    const before = await graph();
    await v.press('KeyW', 'KeyW', 'KeyW');
    await v.until(async () => !(await graph()).equals(before), 'W zooms the graph');
    assert.ok(!zoomed(), 'not the timeline');
    await v.press('F6');
    await v.until(async () => (await selected()) === 'tab-timeline', 'round to the timeline');
    const still = await graph();
    await v.press('KeyW', 'KeyW', 'KeyW');
    await v.until(zoomed, 'W zooms the timeline');
    assert.ok((await graph()).equals(still), 'not the graph');
    await paneOf(v, 'graph').locator('.canvas-proxy').click({ position: { x: 5, y: 5 } });
    await v.until(async () => (await selected()) === 'tab-graph', 'a click gives it the keys');
    assert.equal(await v.page.getByRole('tab', { selected: true }).count(), 1);
});

test('panes are added, changed, moved, resized and closed; the address has them, and Back', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=graph' });
    await v.press('Control+Backslash');
    await panesAre(v, ['graph', 'memory']);
    await v.untilFragment('panes', 'graph,memory');
    await v.page.getByRole('tab', { name: 'Log' }).click({ modifiers: ['Control'] });
    await panesAre(v, ['graph', 'memory', 'log']);
    await v.page.getByRole('button', { name: 'Move Log to the left' }).click();
    await panesAre(v, ['graph', 'log', 'memory']);
    await paneOf(v, 'graph').getByLabel('View of this pane').selectOption('timeline');
    await panesAre(v, ['timeline', 'log', 'memory']);
    const edge = v.page.getByRole('separator', { name: 'Between Timeline and Log' });
    const width = async () => (await paneOf(v, 'timeline').boundingBox()).width;
    const narrow = await width();
    await edge.focus();
    await v.press('ArrowRight', 'ArrowRight');
    await v.until(async () => (await width()) > narrow + 50, 'the timeline is wider');
    const box = await edge.boundingBox();
    await v.page.mouse.move(box.x + 3, box.y + 200);
    await v.page.mouse.down();
    await v.page.mouse.move(box.x - 97, box.y + 200, { steps: 4 });
    await v.page.mouse.up();
    await v.until(() => v.fragment().get('split') !== null, 'the split is in the address');
    // The address is written a little later than the panes are drawn.
    await v.still(async () => `${await width()} ${v.fragment().get('split')}`, 500, 'nothing moves');
    const wide = await width();
    await v.page.reload();
    await v.ready();
    await panesAre(v, ['timeline', 'log', 'memory']);
    assert.ok(Math.abs((await width()) - wide) < 4, 'as wide as before');
    await v.page.getByRole('button', { name: 'Close Log' }).click();
    await panesAre(v, ['timeline', 'memory']);
    await v.page.goBack();
    await panesAre(v, ['timeline', 'log', 'memory']);
    await v.page.getByLabel('Views side by side').selectOption('1');
    await v.until(async () => (await shown(v)).length === 1, 'one view');
    await v.untilFragment('panes', null);
});

test('a digit shows its view in the focused pane, or goes to the pane that has it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'panes=graph,log&view=graph' });
    await panesAre(v, ['graph', 'log']);
    const ids = await v.page.getByRole('tab').evaluateAll((tabs) => tabs.map((tab) => [tab.id.replace('tab-', ''), /\((\S)[;)]/.exec(tab.title)[1]]));
    const key = (id) => `Digit${ids.find(([each]) => each === id)[1]}`;
    await v.press(key('stats'));
    await panesAre(v, ['stats', 'log']);
    await v.press(key('log'));
    await v.untilFragment('view', 'log');
    await panesAre(v, ['stats', 'log']);
    await v.show('panes=graph,nothing,graph&view=log');
    await panesAre(v, ['log']);
});

test('the playhead drives log, graph and timeline at once: the op of that time', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'panes=timeline,graph,log&token=4&graph.open=0,1,2,3' });
    await panesAre(v, ['timeline', 'graph', 'log']);
    // The token alone: an op of a long run is less than a pixel.
    const { batches } = await v.api('traces/0/summary');
    const [begin, end] = [batches.start_relative_ns[4], batches.end_relative_ns[4]];
    await v.show(`panes=timeline,graph,log&token=4&graph.open=0,1,2,3&window=${Math.floor(begin)}~${Math.ceil(end)}`);
    await v.rest();
    const picture = (id) => v.rest(`[aria-labelledby=tab-${id}] .canvas-view`);
    const before = { timeline: await picture('timeline'), graph: await picture('graph') };
    await v.press('KeyK');
    await v.until(() => v.fragment().get('at') !== null, 'there is a playhead');
    const now = paneOf(v, 'log').locator('.vt-now');
    // The op of that time, as the API locates it.
    const ops = (await v.api('traces/0/log/rows?batch=4&n=1000')).ops;
    await v.until(async () => {
        await v.press('Shift+KeyK');
        return (await now.count()) === 1;
    }, 'the film is at an op');
    let op;
    await v.until(async () => {
        const at = Number(v.fragment().get('at'));
        op = ops.findLast((each) => each.start_relative_ns <= at);
        return op !== undefined && (await now.count()) === 1 && (await now.textContent()).includes(op.name);
    }, 'the row of the log is marked');
    assert.ok(await now.isVisible());
    const pictures = { timeline: await picture('timeline'), graph: await picture('graph') };
    for (const id of ['timeline', 'graph']) assert.ok(!pictures[id].equals(before[id]), `${id} shows the playhead`);
    const from = Number(v.fragment().get('at'));
    await v.until(async () => {
        await v.press('Shift+KeyK');
        return Number(v.fragment().get('at')) - from > (end - begin) / 50;
    }, 'the playhead has gone on by some pixels');
    await v.until(async () => (await now.count()) === 1 && !(await now.textContent()).includes(op.name), 'another row');
    for (const id of ['timeline', 'graph']) assert.ok(!(await picture(id)).equals(pictures[id]), `${id} follows`);
    assert.equal(v.fragment().get('op'), null, 'nothing is selected by it');
});

test('while tokens go by, legends that wrap do not move the pictures of narrow panes', async ({ open }) => {
    // Widths at which the figures of some tokens fit one line less than those of others.
    for (const [width, by] of [[1260, 'time'], [1260, 'bytes'], [960, 'time']]) {
        const v = await open(['moe'], { fragment: `panes=memory,graph&view=memory&memory_by=${by}&token=0`, viewport: { width, height: 900 } });
        await v.page.locator('.graph-legend').waitFor();
        await v.rest('main');
        await v.page.evaluate(() => {
            window.heights = {};
            const watch = new ResizeObserver((entries) => {
                for (const { target, contentRect } of entries) (window.heights[target.getAttribute('aria-label').slice(0, 6)] ??= []).push(`${contentRect.width} x ${contentRect.height}`);
            });
            for (const canvas of document.querySelectorAll('main .canvas-proxy')) watch.observe(canvas);
        });
        for (let token = 1; token < 12; token++) {
            await v.press('KeyN');
            await v.untilFragment('token', String(token));
            await v.until(async () => (await v.page.locator('.graph-facts').first().textContent()).startsWith(`token ${token} `), 'its graph is shown');
            await v.until(async () => (await v.page.locator('.legend').innerText()).includes(`token ${token}`) && !/…/.test(await v.page.locator('.legend').innerText()), 'its figures are there');
        }
        for (const [name, heights] of Object.entries(await v.page.evaluate(() => window.heights))) {
            // A line more is made room for once, and kept.
            assert.ok(heights.length <= 2, `${width}, ${by}: the canvas ${name} is ${heights.join(', ')}`);
        }
    }
});
