// Names and texts that would run as scripts if a page let them: in every view nothing runs, nothing
// is loaded, and what is shown is the text.
import assert from 'node:assert/strict';
import { suite } from './harness.mjs';

const { test } = suite();
const VIEWS = ['overview', 'memory', 'timeline', 'graph', 'log', 'experts', 'buffers', 'stats', 'diff'];

/** `p` is what the names try to run; reading it is noted. */
async function watch(v) {
    await v.page.addInitScript(() => {
        window.ran = [];
        Object.defineProperty(window, 'p', { get: () => window.ran.push(new Error('read').stack) });
    });
    await v.page.reload();
    await v.ready();
}

async function nothingRan(v, where) {
    const found = await v.page.evaluate(() => ({
        ran: window.ran,
        // What a name became, had it been taken for markup.
        elements: [...document.querySelectorAll('script:not([src="/app.js"]), iframe, object, embed, base, img, [onerror], [onload], [onfocus], [onclick], a[href^="javascript:"], svg[onload]')].map((e) => e.outerHTML),
        polluted: {}.toString !== Object.prototype.toString || 'weight' in {},
    }));
    assert.deepEqual(found, { ran: [], elements: [], polluted: false }, where);
}

for (const [name, what] of [['hostile', 'names of tensors and files'], ['<img src onerror=p>', 'a prompt and a file of a real run']])
    test(`nothing runs of ${what}, in any view`, async ({ open }) => {
        const v = await open([name, 'tiny']);
        await watch(v);
        const { name: names } = await v.api('traces/0/tensors');
        const bad = names.filter((each) => /[<"{\u202e]|javascript:|__proto__/.test(each));
        assert.ok(name !== 'hostile' || bad.length >= 7, `the trace has them: ${names}`);
        for (const view of VIEWS)
            for (const tensor of [null, ...bad]) {
                const fragment = new URLSearchParams({ view, token: '0', ...(tensor === null ? {} : { tensor, layer: '1' }) });
                await v.show(fragment.toString());
                await v.ready();
                await v.page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
                await nothingRan(v, `${view} ${tensor}`);
            }
    });

test('what is shown of a hostile name is its text, without marks that turn the text around it', async ({ open }) => {
    const v = await open(['hostile'], { fragment: new URLSearchParams({ tensor: '<img src onerror=p>' }).toString() });
    const inspector = v.page.getByRole('complementary', { name: 'Inspector' });
    await inspector.getByText('<img src onerror=p>', { exact: true }).first().waitFor();
    const { name: names } = await v.api('traces/0/tensors');
    const turned = names.find((each) => each.includes('\u202e'));
    await v.show(new URLSearchParams({ tensor: turned }).toString());
    await v.until(async () => (await inspector.textContent()).includes('\ufffdblk.2.'), 'the mark is replaced');
    assert.ok(!(await v.page.evaluate(() => document.body.innerText)).includes('\u202e'));
    assert.ok(!/[\u0000-\u0008\u000b-\u001f\u202e]/.test(await v.page.title()));
});

test('the title and the trace\'s name of a hostile file are text, too', async ({ open }) => {
    const v = await open(['<img src onerror=p>']);
    await watch(v);
    assert.ok((await v.page.title()).startsWith('<img src onerror=p>.ttrace'));
    await v.page.getByText('<img src onerror=p>.ttrace').first().waitFor();
    await v.press('KeyN');
    await v.page.getByRole('complementary', { name: 'Inspector' }).getByText('<script>p</script>', { exact: false }).first().waitFor();
    await nothingRan(v, 'the name and the prompt');
});

test('a hostile address is text, too', async ({ open }) => {
    const v = await open(['tiny']);
    await watch(v);
    for (const [key, value] of Object.entries({ view: '<img src onerror=p>', tensor: '"><script>p</script>', theme: 'javascript:p', find: '<svg onload=p>', speed: '{{p}}', trace: '0', layer: '1' })) {
        await v.show(new URLSearchParams({ token: '1', [key]: value }).toString());
        await v.ready();
        await nothingRan(v, key);
    }
});
