// Tables: sorting on the server, rows copied, the context menu, and numbers that are never cut off.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, trace } from './harness.mjs';

const { test } = suite();
const MAX = 1 << 30;

/** All rows of the command, in the order of time. */
function logged(name, ...options) {
    const text = execFileSync(process.env.TT_BIN, ['log', '--json', ...options, trace(name)], { maxBuffer: MAX });
    return JSON.parse(text).ops;
}

/** By place, the largest first, unknown ones last: the ops that may be there. These are several where
 * the numbers are equal: the server has ticks, JSON the same in whole nanoseconds. */
function largestFirst(ops, key) {
    const value = (op) => op[key] ?? -1;
    return [...ops].sort((a, b) => value(b) - value(a)).map((at) => ops.filter((op) => value(op) === value(at)));
}

const grid = (v) => v.page.getByRole('grid', { name: /^Ops / });
const head = (v, name) => grid(v).getByRole('columnheader').getByRole('button', { name, exact: true });

async function row(v, i) {
    const found = grid(v).locator(`[role=row][aria-rowindex="${i + 2}"]`);
    await found.waitFor();
    await v.until(async () => !(await found.textContent()).startsWith('…'), `row ${i} has come`);
    return found;
}

/** Waits until the row is one of these ops. */
async function rowIs(v, i, ops) {
    const start = (op) => (op.start_relative_ns / 1e6).toFixed(4);
    await v.until(async () => {
        const text = await (await row(v, i)).textContent();
        return ops.some((op) => text.includes(start(op)) && text.includes(op.name));
    }, `row ${i} is ${ops[0].name} at ${start(ops[0])} ms, or one of ${ops.length - 1} more`);
}

const pasted = (v) => v.page.evaluate(() => navigator.clipboard.readText());

test('a header sorts the log by its measure, and a second press goes back to time', async ({ open }) => {
    const ops = logged('moe');
    const v = await open(['moe'], { fragment: 'view=log&cols=start,duration,op,name,wait,bytes,busy,off_cpu' });
    await rowIs(v, 0, [ops[0]]);
    for (const [title, key, id] of [
        ['Duration', 'duration_ns', 'duration'],
        ['Wait', 'wait_ns', 'wait'],
        ['Weights read', 'weight_bytes', 'bytes'],
        ['Busy', 'busy_ns', 'busy'],
        ['Off CPU', 'off_cpu_ns', 'off_cpu'],
    ]) {
        const wanted = largestFirst(ops, key);
        await head(v, title).click();
        await v.untilFragment('sort', id);
        await rowIs(v, 0, wanted[0]);
        await rowIs(v, 5, wanted[5]);
        await head(v, title).click();
        await rowIs(v, 0, [ops[0]]);
        await v.untilFragment('sort', null);
    }
});

test('the slowest hundred of the selection, from the address too', async ({ open }) => {
    const ops = logged('moe', '--batch', '2');
    const wanted = largestFirst(ops, 'duration_ns').slice(0, 100);
    const v = await open(['moe'], { fragment: 'view=log&token=2' });
    await v.page.getByRole('button', { name: 'Slowest 100 of the selection' }).click();
    await v.untilFragment('sort', 'duration~100');
    await rowIs(v, 0, wanted[0]);
    await v.until(async () => (await grid(v).getAttribute('aria-rowcount')) === '101', 'a hundred rows');
    await grid(v).focus();
    await v.press('End');
    await rowIs(v, 99, wanted[99]);
    assert.match(await v.page.locator('.log-line').textContent(), new RegExp(`the first 100 of ${ops.length}`));
    await v.page.reload();
    await v.ready();
    await rowIs(v, 0, wanted[0]);
    // An op chosen elsewhere has its place in this order.
    const third = await row(v, 3);
    await third.click();
    await v.until(() => v.fragment().get('op'), 'the op is selected');
    await v.page.reload();
    await v.ready();
    await v.until(async () => (await (await row(v, 3)).getAttribute('aria-selected')) === 'true', 'it is marked again');
});

test('rows are copied with Ctrl+C, as many as are marked, with plain numbers', async ({ open }) => {
    const ops = logged('tiny');
    const v = await open(['tiny'], { fragment: 'view=log' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await (await row(v, 1)).locator('[role=gridcell]').nth(4).click();
    await v.press('Control+KeyC');
    await v.until(async () => (await pasted(v)).includes(ops[1].name), 'a row is in the clipboard');
    const [names, one, rest] = (await pasted(v)).split('\n');
    assert.deepEqual(names.split('\t').slice(0, 2), ['start_relative_ns', 'duration_ns']);
    assert.equal(Number(one.split('\t')[1]), ops[1].duration_ns);
    assert.equal(rest, '');
    await v.press('Shift+ArrowDown', 'Shift+ArrowDown', 'Control+KeyC');
    await v.until(async () => (await pasted(v)).includes(`\t${ops[3].name}\t`), 'more rows are');
    const lines = (await pasted(v)).trimEnd().split('\n');
    assert.equal(lines.length, 4);
    for (const [i, line] of lines.slice(1).entries()) {
        assert.equal(Number(line.split('\t')[0]), ops[i + 1].start_relative_ns);
        assert.ok(line.split('\t').includes(ops[i + 1].name), line);
    }
    await v.press('ArrowUp');
    await v.page.getByRole('button', { name: 'Copy the rows' }).click();
    await v.until(async () => (await pasted(v)).split('\n').length > 50, 'the button copies what is there');
});

test('the context menu filters by the value, shows the op elsewhere, and works by keys', async ({ open }) => {
    const ops = logged('moe');
    const v = await open(['moe'], { fragment: 'view=log' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const at = ops.findIndex((op) => op.op === 'MUL_MAT_ID');
    await grid(v).focus();
    await v.press(...Array.from({ length: at }, () => 'ArrowDown'));
    await v.press('Shift+F10');
    const menu = v.page.getByRole('menu');
    await menu.waitFor();
    assert.equal((await v.focused()).role, 'menuitem');
    await v.press('Escape');
    await menu.waitFor({ state: 'detached' });
    assert.equal((await v.focused()).role, 'grid');
    await (await row(v, at)).locator('[role=gridcell]').nth(4).click({ button: 'right' });
    await menu.getByRole('menuitem', { name: `Copy name ${ops[at].name}` }).click();
    await v.until(async () => (await pasted(v)) === ops[at].name, 'the name is in the clipboard');
    await (await row(v, at)).locator('[role=gridcell]').nth(4).click({ button: 'right' });
    await menu.getByRole('menuitem', { name: 'Filter by op:MUL_MAT_ID' }).click();
    const left = ops.filter((op) => op.op.split('+').includes('MUL_MAT_ID'));
    await v.until(async () => (await grid(v).getAttribute('aria-rowcount')) === String(left.length + 1), 'only these ops are left');
    await (await row(v, 0)).click({ button: 'right' });
    await menu.getByRole('menuitem', { name: 'Show in Graph' }).press('Enter');
    await v.untilFragment('view', 'graph');
    assert.equal(v.fragment().get('op').split('.')[1], String(left[0].node));
});

test('a row of the statistics filters the log', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats' });
    const table = v.page.getByRole('grid', { name: /^Time and bytes by op/ });
    const cell = table.getByRole('gridcell', { name: 'MUL_MAT', exact: true });
    await cell.click({ button: 'right' });
    await v.page.getByRole('menuitem', { name: 'Filter the log by op:MUL_MAT' }).click();
    await v.untilFragment('view', 'log');
    await v.until(
        async () => (await grid(v).getAttribute('aria-rowcount')) === String(logged('tiny', '--op', 'MUL_MAT').length + 1),
        'the log has those ops',
    );
});

test('no number of a table is cut off: 10 million records', async ({ open, t }) => {
    if (!process.env.TT_GENTRACE) return t.skip('TT_GENTRACE names no gentrace');
    const folder = mkdtempSync(join(tmpdir(), 'tt-tables-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'big.ttrace');
    execFileSync(process.env.TT_GENTRACE, ['--records', '10000000', '-o', path]);
    const v = await open([path], { fragment: 'view=stats&stats_by=component' });
    await v.rest('.stats-table');
    const cut = () =>
        v.page.evaluate(() =>
            [...document.querySelectorAll('.vt-body .vt-number')]
                .filter((cell) => cell.scrollWidth > cell.clientWidth)
                .map((cell) => cell.textContent),
        );
    await v.until(async () => (await v.page.locator('.vt-body .vt-number').count()) > 0, 'there are numbers');
    assert.deepEqual(await cut(), []);
    // By the time of 10 million records: the server needs one pass.
    const begun = Date.now();
    await v.show('view=log&sort=duration');
    await v.until(async () => (await row(v, 0)).isVisible(), 'the slowest op is there');
    const took = Date.now() - begun;
    t.diagnostic(`sorted 10 million records in ${took} ms, with the page`);
    await v.rest('.log-rows');
    assert.deepEqual(await cut(), []);
});

test('the button that copies covers no heading, wherever the table is scrolled to', async ({ open }) => {
    for (const [view, width] of [['log', 1440], ['log', 1024], ['log', 820], ['stats', 1024], ['stats', 700], ['experts', 1024], ['buffers', 900]]) {
        const v = await open(['moe'], { viewport: { width, height: 700 }, fragment: `view=${view}&token=1` });
        await v.page.locator('#main .vt-copy').first().waitFor({ state: 'attached' });
        await v.rest();
        const covered = await v.page.evaluate(async () => {
            const found = [];
            for (const button of document.querySelectorAll('.vt-copy')) {
                const frame = button.closest('.vt-frame');
                const table = frame.querySelector('.vt');
                const b = button.getBoundingClientRect();
                if (b.width === 0) continue;
                for (const left of [0, 40, 95, table.scrollWidth]) {
                    table.scrollLeft = left;
                    await new Promise(requestAnimationFrame);
                    const shown = table.getBoundingClientRect();
                    if (shown.right > b.left + 0.5 && shown.top < b.bottom) found.push(`${table.ariaLabel}: the table ends at ${shown.right}, the button begins at ${b.left}`);
                    for (const cell of table.querySelectorAll('.vt-head .vt-cell')) {
                        const c = cell.getBoundingClientRect();
                        const right = Math.min(c.right, shown.right);
                        if (right - Math.max(c.left, shown.left) < 12) continue;
                        const on = document.elementFromPoint(right - 3, c.top + c.height / 2);
                        if (on && button.contains(on)) found.push(`${cell.textContent} at ${left}`);
                    }
                }
            }
            return found;
        });
        assert.deepEqual(covered, [], `${view} at ${width}`);
        assert.ok(await v.page.locator('#main .vt-copy').first().isVisible());
        await v.close();
    }
});
