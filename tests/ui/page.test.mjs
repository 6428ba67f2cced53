// The page comes up, says what it shows, and keeps its rules.
import assert from 'node:assert/strict';
import { suite } from './harness.mjs';

const { test } = suite();

test('a trace is shown, and nothing goes wrong', async ({ open }) => {
    const v = await open(['tiny']);
    await v.until(async () => /tiny/.test(await v.page.title()), 'the title names the trace');
    assert.equal(await v.page.getByRole('tab').count(), 10);
    assert.equal(await v.page.getByRole('tab', { selected: true }).count(), 1);
});

test('digits switch the views, and Back goes back', async ({ open }) => {
    const v = await open(['tiny']);
    const ids = await v.page.getByRole('tab').evaluateAll((tabs) => tabs.map((tab) => tab.id.replace('tab-', '')));
    for (let i = ids.length - 1; i >= 1; i--) {
        await v.press(`Digit${i}`);
        await v.untilFragment('view', ids[i]);
        assert.equal(await v.page.getByRole('tab', { selected: true }).getAttribute('id'), `tab-${ids[i]}`);
    }
    await v.page.goBack();
    await v.untilFragment('view', ids[2]);
});

test('the secret is not left in the address', async ({ open }) => {
    const v = await open(['tiny']);
    assert.ok(!v.page.url().includes(v.server.secret), v.page.url());
});

test('an unknown view in the address is the first one, and its tab says so', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=nothing' });
    const tabs = v.page.getByRole('tab');
    assert.equal(await tabs.first().getAttribute('aria-selected'), 'true');
    assert.equal(await v.page.locator('.memory-bar').count(), 0);
    const title = await tabs.first().textContent();
    await v.until(async () => (await v.page.title()).includes(title.replace(/^\d+\s*/, '')), 'the title names it');
});

test('the strip of the memory is above other views only on request, and the address keeps it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    await v.rest();
    assert.equal(await v.page.locator('.memory-bar').count(), 0);
    await v.press('Control+KeyK');
    await v.page.keyboard.type('strip of the memory');
    await v.press('Enter');
    await v.untilFragment('strip', '1');
    await v.page.locator('.memory-bar canvas').first().waitFor();
    await v.show('view=memory&strip=1');
    await v.page.locator('.memory-bar').waitFor({ state: 'detached' });
});
