// The search box: what is found, commands and views; the list of keys, colours and the copied address.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

const search = (v) => v.page.getByRole('search');
const box = (v) => search(v).getByRole('combobox');
const list = (v) => search(v).getByRole('listbox');
const help = (v) => v.page.getByRole('dialog', { name: 'Keys' });

test('the search box is to be seen, and lists every command with its keys', async ({ open }) => {
    const v = await open(['tiny']);
    assert.match(await box(v).getAttribute('placeholder'), /Ctrl\+K/);
    assert.ok(await box(v).isVisible());
    await box(v).click();
    await list(v).waitFor();
    const rows = await list(v).getByRole('option').allTextContents();
    for (const [title, key] of [['Next token', 'N'], ['Clear the selection', 'Esc'], ['Show Graph', '3'], ['List all keys', '?']])
        assert.ok(rows.some((row) => row.includes(title) && row.endsWith(key)), `${title}: ${key} in ${rows}`);
    // Every tab has its command.
    const tabs = await v.page.getByRole('tab').allTextContents();
    for (const tab of tabs) assert.ok(rows.some((row) => row.startsWith(`Show ${tab.replace(/^\d+\s*/, '')}: `)), tab);
});

test('Ctrl+K, Ctrl+Shift+P, Ctrl+F and / go to the box, in every view; a view may keep /', async ({ open }) => {
    const v = await open(['tiny']);
    for (const view of ['memory', 'timeline', 'experts', 'buffers', 'stats', 'values']) {
        await v.show(`view=${view}`);
        await v.ready();
        for (const key of ['Control+KeyK', 'Control+Shift+KeyP', 'Control+KeyF', 'Slash']) {
            await v.press(key);
            assert.equal((await v.focused())?.id, 'search', `${key} in ${view}`);
            await v.press('Escape');
            await list(v).waitFor({ state: 'hidden' });
        }
    }
    await v.show('view=log');
    await v.rest();
    await v.press('Slash');
    assert.match((await v.focused()).name, /ilter/);
});

test('a few letters find a command, Enter runs it, the focus goes back', async ({ open }) => {
    const v = await open(['tiny']);
    await v.page.getByRole('slider', { name: 'Token', exact: true }).focus();
    await v.press('Control+Shift+KeyP');
    await v.page.keyboard.type('nxtok');
    await v.until(async () => /^Next token/.test((await list(v).getByRole('option', { selected: true }).textContent({ timeout: 1000 }).catch(() => '')) ?? ''), 'the command is marked');
    await v.press('Enter');
    await list(v).waitFor({ state: 'hidden' });
    await v.untilFragment('token', '0');
    assert.equal((await v.focused()).role, 'slider');
});

test('the list is worked by arrows, says when nothing is found, and Esc closes only it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'token=3' });
    await v.press('Control+KeyK');
    const marked = list(v).getByRole('option', { selected: true });
    const first = await marked.textContent();
    await v.press('ArrowDown');
    assert.notEqual(await marked.textContent(), first);
    const active = await box(v).getAttribute('aria-activedescendant');
    assert.equal(await marked.getAttribute('id'), active);
    await v.press('ArrowUp', 'ArrowUp');
    assert.equal(await marked.textContent(), await list(v).getByRole('option').last().textContent());
    await v.page.keyboard.type('qqqqq');
    await search(v).getByText('No match.', { exact: true }).waitFor();
    await v.press('Escape');
    await list(v).waitFor({ state: 'hidden' });
    assert.equal(v.fragment().get('token'), '3');
});

test('"token 3", a layer, an expert, a view: each is the first in the list, and Enter selects it', async ({ open }) => {
    const v = await open(['moe']);
    for (const [text, name, value] of [
        ['token 3', 'token', '3'],
        ['layer 2', 'layer', '2'],
        ['layer 1 expert 3', 'slice', '3'],
        ['ffn_up_exps.weight[2]', 'slice', '2'],
        ['buffers', 'view', 'buffers'],
    ]) {
        await v.press('Control+KeyK');
        await v.page.keyboard.type(text);
        await v.press('Enter');
        await v.untilFragment(name, value);
        await v.press('Escape');
        await v.until(() => v.fragment().get('token') === null && v.fragment().get('layer') === null, 'nothing is selected');
    }
});

test('Shift+Enter selects and goes on; what was chosen is recent', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await v.press('Control+KeyK');
    await v.page.keyboard.type('attn_k');
    await list(v).getByRole('option', { name: /^blk\.0\.attn_k\.weight/ }).waitFor();
    await v.press('Shift+Enter');
    await v.untilFragment('tensor', 'blk.0.attn_k.weight');
    await v.press('ArrowDown', 'Shift+Enter');
    await v.untilFragment('tensor', 'blk.1.attn_k.weight');
    await v.press('Escape');
    assert.equal(v.fragment().get('tensor'), 'blk.1.attn_k.weight');
    await v.press('Escape', 'Control+KeyK');
    const recent = list(v).getByRole('group', { name: 'Recent' }).getByRole('option');
    assert.match(await recent.first().textContent(), /blk\.1\.attn_k\.weight/);
    await v.press('Enter');
    await v.untilFragment('tensor', 'blk.1.attn_k.weight');
});

test('questions have answers: those of the command line, selected', async ({ open }) => {
    // That something is bad is an exit status, too.
    const tool = (...args) => JSON.parse(spawnSync(process.env.TT_BIN, args, { encoding: 'utf8', maxBuffer: 1 << 26 }).stdout);
    const ask = async (v, name) => {
        await v.press('Control+KeyK');
        await list(v).getByRole('option', { name }).click();
    };
    const v = await open(['nan']);
    const { batches } = await v.api('traces/0/summary');
    const took = batches.batch_id.map((_, i) => (batches.phase[i] === 'generate' ? batches.end_relative_ns[i] - batches.start_relative_ns[i] : -1));
    await ask(v, /^Slowest token/);
    await v.untilFragment('token', String(batches.batch_id[took.indexOf(Math.max(...took))]));
    const { output } = tool('values', '--first-bad', '--json', trace('nan')).first;
    await ask(v, /^First NaN/);
    await v.untilFragment('op', `${output.run}.${output.op_node}`);
    assert.equal(v.fragment().get('view'), 'values');
    const rows = tool('log', '--json', trace('nan'));
    const waits = (rows.ops ?? rows.rows).map((op) => op.wait_ns ?? -1);
    const longest = (rows.ops ?? rows.rows)[waits.indexOf(Math.max(...waits))];
    await ask(v, /^Largest wait/);
    await v.until(() => v.fragment().get('op')?.endsWith(`.${longest.node}`) && v.fragment().get('token') === String(longest.batch_id), 'the op that waited longest is selected');
    assert.equal(v.fragment().get('view'), 'log');
    const moe = await open(['moe']);
    const counts = (await moe.api('traces/0/experts')).layers.map((l) => l.count);
    const least = Math.min(...counts.flat());
    await ask(moe, /^Coldest experts/);
    await moe.untilFragment('view', 'experts');
    const [layer, slice] = [Number(moe.fragment().get('layer')), Number(moe.fragment().get('slice'))];
    assert.equal(counts[layer][slice], least);
});

test('no key of a view takes one of those that work everywhere', async ({ open }) => {
    const v = await open(['tiny', 'again']);
    const views = (await v.page.getByRole('tab').allTextContents()).map((text) => text.replace(/^\d+\s*/, ''));
    for (let i = 0; i < views.length; i++) {
        await v.press(`Digit${i}`);
        await v.rest();
        await v.press('Shift+Slash');
        await help(v).waitFor();
        const scopes = await help(v).locator('section').evaluateAll((list) =>
            list.map((s) => [s.querySelector('h3').textContent, [...s.querySelectorAll('kbd')].map((k) => k.textContent)]),
        );
        const everywhere = scopes.find(([scope]) => scope === 'Everywhere')[1];
        assert.ok(everywhere.includes('<') && everywhere.includes('N'), everywhere.join());
        // Others are those of a part of a view, while it has the focus.
        // "/" goes to the box of a view that has one.
        for (const [scope, keys] of scopes.filter(([name]) => views.includes(name)))
            assert.deepEqual(keys.filter((k) => k !== '/' && everywhere.includes(k)), [], scope);
        await v.press('Escape');
        await help(v).waitFor({ state: 'hidden' });
    }
});

test('? lists the keys of every scope; the page below keeps still', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await v.press('Shift+Slash');
    await help(v).waitFor();
    const text = await help(v).textContent();
    for (const each of ['Everywhere', 'Mouse', 'Next token', 'Search, or run a command', 'Ctrl+Wheel'])
        assert.ok(text.includes(each), each);
    await v.press('Digit1', 'KeyN');
    await v.press('Escape');
    await help(v).waitFor({ state: 'hidden' });
    assert.equal(v.fragment().get('view'), 'log');
    assert.equal(v.fragment().get('token'), null);
});

test('no two bindings of one scope share a key', async ({ open }) => {
    const v = await open(['tiny']);
    for (let i = 1; i <= 8; i++) {
        await v.press(`Digit${i}`);
        await v.press('F1');
        await help(v).waitFor();
        const clashes = await help(v).evaluate((dialog) => {
            const found = [];
            for (const section of dialog.querySelectorAll('section')) {
                const keys = [...section.querySelectorAll('kbd')].map((kbd) => kbd.textContent);
                // A view may give a key another meaning than it has everywhere; not twice itself.
                for (const key of keys) if (keys.indexOf(key) !== keys.lastIndexOf(key)) found.push(`${section.querySelector('h3').textContent}: ${key}`);
            }
            return found;
        });
        assert.deepEqual(clashes, []);
        await v.press('Escape');
        await help(v).waitFor({ state: 'hidden' });
    }
});

test('dark, light, and the theme of the system', async ({ open }) => {
    const v = await open(['tiny'], { theme: 'light' });
    const theme = () => v.page.evaluate(() => document.documentElement.dataset.theme);
    assert.equal(await theme(), 'light');
    await v.page.getByLabel('Light or dark').selectOption('dark');
    await v.untilFragment('theme', 'dark');
    assert.equal(await theme(), 'dark');
    await v.page.reload();
    await v.ready();
    assert.equal(await theme(), 'dark');
    await v.page.getByLabel('Light or dark').selectOption('system');
    assert.equal(await theme(), 'light');
    await v.page.emulateMedia({ colorScheme: 'dark' });
    await v.until(async () => (await theme()) === 'dark', 'the page follows the system');
});
