// The palette, the list of keys, colours and the copied address.
import assert from 'node:assert/strict';
import { suite } from './harness.mjs';

const { test } = suite();

const palette = (v) => v.page.getByRole('dialog', { name: 'Commands' });
const help = (v) => v.page.getByRole('dialog', { name: 'Keys' });

test('Ctrl+Shift+P lists every command with its keys', async ({ open }) => {
    const v = await open(['tiny']);
    await v.press('Control+Shift+KeyP');
    await palette(v).waitFor();
    const rows = await palette(v).getByRole('option').allTextContents();
    for (const [title, key] of [['Next token', 'N'], ['Clear the selection', 'Esc'], ['Show Graph', '3'], ['List all keys', '?']])
        assert.ok(rows.some((row) => row.includes(title) && row.endsWith(key)), `${title}: ${key} in ${rows}`);
    // Every tab has its command.
    assert.equal(rows.filter((row) => /^Show (Memory|Timeline|Graph|Log|Experts|Buffers|Stats|Diff): /.test(row)).length, 8);
});

test('a few letters find a command, Enter runs it, the focus goes back', async ({ open }) => {
    const v = await open(['tiny']);
    await v.page.getByRole('slider', { name: 'Token', exact: true }).focus();
    await v.press('Control+Shift+KeyP');
    await v.page.keyboard.type('nxtok');
    assert.match(await palette(v).getByRole('option', { selected: true }).textContent(), /^Next token/);
    await v.press('Enter');
    await palette(v).waitFor({ state: 'hidden' });
    await v.untilFragment('token', '0');
    assert.equal((await v.focused()).role, 'slider');
});

test('the palette is worked by arrows, says when nothing is found, and Esc closes only it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'token=3' });
    await v.press('Control+KeyK');
    const marked = palette(v).getByRole('option', { selected: true });
    const first = await marked.textContent();
    await v.press('ArrowDown');
    assert.notEqual(await marked.textContent(), first);
    const active = await palette(v).getByRole('combobox').getAttribute('aria-activedescendant');
    assert.equal(await marked.getAttribute('id'), active);
    await v.press('ArrowUp', 'ArrowUp');
    assert.equal(await marked.textContent(), await palette(v).getByRole('option').last().textContent());
    await v.page.keyboard.type('qqqqq');
    await palette(v).getByText('No command has these letters').waitFor();
    await v.press('Escape');
    await palette(v).waitFor({ state: 'hidden' });
    assert.equal(v.fragment().get('token'), '3');
});

test('no key of a view takes one of those that work everywhere', async ({ open }) => {
    const v = await open(['tiny', 'again']);
    const views = (await v.page.getByRole('tab').allTextContents()).map((text) => text.replace(/^\d+\s*/, ''));
    for (let i = 1; i <= views.length; i++) {
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
        for (const [scope, keys] of scopes.filter(([name]) => views.includes(name)))
            assert.deepEqual(keys.filter((k) => everywhere.includes(k)), [], scope);
        await v.press('Escape');
        await help(v).waitFor({ state: 'hidden' });
    }
});

test('? lists the keys of every scope; the page below keeps still', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await v.press('Shift+Slash');
    await help(v).waitFor();
    const text = await help(v).textContent();
    for (const each of ['Everywhere', 'Mouse', 'Next token', 'Run a command by its name', 'Ctrl+Wheel'])
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
