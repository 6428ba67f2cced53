// Every view without a mouse and without eyes: axe-core's rules, the way of the Tab key, what is
// announced, reduced motion and forced colours.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { suite } from './harness.mjs';

const { test } = suite();
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const VIEWS = ['overview', 'memory', 'timeline', 'graph', 'log', 'experts', 'buffers', 'stats', 'values', 'diff'];
/** What views show instead. */
const MODES = ['memory&memory_as=path', 'memory&memory_as=tokens', 'stats&stats_show=tokens', 'stats&stats_show=roofline', 'stats&stats_show=flame'];
const SELECTED = 'token=2&layer=1&tensor=blk.1.ffn_up.weight';

const RULES = {
    dark: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    // The themes differ in colours only.
    light: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
};

/** What axe-core finds, a line for each element: in the dark theme, and what the colours of the light one change. */
async function violations(v) {
    if (!(await v.page.evaluate(() => 'axe' in window))) await v.page.evaluate(axeSource);
    const found = [];
    for (const [theme, runOnly] of Object.entries(RULES)) {
        await v.page.emulateMedia({ colorScheme: theme });
        await v.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
        const lines = await v.page.evaluate(async (only) => {
            const { violations } = await window.axe.run(document, { runOnly: only, resultTypes: ['violations'] });
            return violations.flatMap((rule) =>
                rule.nodes.map((node) => `${rule.id} (${rule.impact}): ${node.html.slice(0, 160)} ${node.any.map((each) => each.message).join('; ')}`),
            );
        }, runOnly);
        found.push(...lines.map((line) => `${theme}: ${line}`));
    }
    await v.page.emulateMedia({ colorScheme: 'dark' });
    return found;
}

test('axe-core finds nothing in any view', async ({ open }) => {
    const v = await open(['moe', 'tiny'], { reducedMotion: true });
    const found = [];
    for (const selected of ['', SELECTED])
        for (const view of [...VIEWS, ...MODES]) {
            await v.show(`view=${view}&${selected}`);
            await v.rest();
            for (const each of await violations(v)) found.push(`${view}${selected && ', selected'}: ${each}`);
        }
    assert.deepEqual(found, []);
    await v.show('view=log');
    await v.rest();
    await v.page.evaluate(() => {
        // Each in one theme only.
        for (const [text, color, background] of [
            ['pale light', 'light-dark(#777, #fff)', 'light-dark(#888, #000)'],
            ['pale dark', 'light-dark(#000, #777)', 'light-dark(#fff, #888)'],
        ]) {
            const pale = document.querySelector('main').appendChild(document.createElement('p'));
            pale.id = text; // stands first in what is reported
            pale.textContent = text;
            Object.assign(pale.style, { position: 'fixed', left: '40%', top: text === 'pale light' ? '50%' : '60%', zIndex: 99, colorScheme: 'light dark', color, background });
        }
    });
    const pale = await violations(v);
    for (const theme of Object.keys(RULES))
        assert.deepEqual(
            pale.filter((each) => each.startsWith(`${theme}: color-contrast`)).map((each) => /pale \w+/.exec(each)?.[0]),
            [`pale ${theme}`],
            'it finds what is there',
        );
});

test('axe-core finds nothing where there are values', async ({ open }) => {
    const v = await open(['nan', 'off'], { reducedMotion: true });
    const found = [];
    for (const fragment of ['view=values&token=1&layer=2', 'view=diff&diff_what=values&token=0', 'view=graph&op=1.31&token=0', 'view=timeline&tensor=blk.2.ffn_norm.weight&token=0']) {
        await v.show(fragment);
        await v.rest();
        for (const each of await violations(v)) found.push(`${fragment}: ${each}`);
    }
    assert.deepEqual(found, []);
});

test('axe-core finds nothing in flame charts, the times of one op and a context menu', async ({ open }) => {
    const v = await open(['moe'], { reducedMotion: true });
    const found = [];
    const look = async (what) => {
        for (const each of await violations(v)) found.push(`${what}: ${each}`);
    };
    for (const fragment of ['view=stats&stats_show=flame', 'view=stats&stats_show=flame&flame=merged&flame_zoom=layer%201', 'view=stats&stats_show=op&tensor=blk.1.attn_q.weight&token=3', 'view=timeline&tl_flame=1&folds=constant', 'view=log&sort=duration~100']) {
        await v.show(fragment);
        await v.rest();
        await v.page.evaluate(() => document.querySelectorAll('details.equivalent').forEach((e) => (e.open = true)));
        await v.rest();
        await look(fragment);
    }
    await v.page.locator('.log-rows [role=row][aria-rowindex="4"] [role=gridcell]').nth(2).click({ button: 'right' });
    await v.page.getByRole('menu').waitFor();
    await look('the context menu');
    assert.deepEqual(found, []);
});

test(`axe-core finds nothing in the memory's path and tokens with their tables`, async ({ open }) => {
    const v = await open(['moe'], { reducedMotion: true });
    const found = [];
    const pictures = ['path&memory_path_y=0.4~0.6', 'tokens&memory_tokens_x=0.4~0.6', 'tokens&memory_tokens_by=layer', 'tokens&memory_tokens_by=expert'];
    for (const picture of pictures)
        for (const selected of ['', SELECTED]) {
            await v.show(`view=memory&memory_as=${picture}&${selected}`);
            await v.until(async () => (await v.page.locator('.legend .page-sign, .legend .ramp, .legend .quiet').count()) > 0, `${picture}: there is a legend`);
            await v.page.evaluate(() => document.querySelectorAll('details.equivalent').forEach((e) => (e.open = true)));
            await v.rest();
            for (const each of await violations(v)) found.push(`${picture}${selected && ', selected'}: ${each}`);
        }
    assert.deepEqual(found, []);
});

test('axe-core finds nothing where there is a pool', async ({ open }) => {
    const v = await open(['boost'], { reducedMotion: true });
    const found = [];
    for (const selected of ['', '&token=2&tensor=blk.1.ffn_gate_exps.weight&slice=3']) {
        await v.show(`view=timeline${selected}`);
        await v.rest();
        await v.page.evaluate(() => document.querySelectorAll('details.equivalent').forEach((e) => (e.open = true)));
        await v.rest();
        for (const each of await violations(v)) found.push(`${selected || 'the run'}: ${each}`);
    }
    assert.deepEqual(found, []);
});

test('axe-core finds nothing in the dialogs, and where something is wrong', async ({ open }) => {
    const v = await open(['tiny']);
    for (const key of ['Control+Shift+KeyP', 'Shift+Slash', 'Control+KeyF', 'Control+KeyS', 'Shift+KeyM']) {
        await v.press(key);
        await v.until(async () => (await v.page.locator('dialog[open], [role=listbox]').count()) > 0, `${key} opens something`);
        await v.until(async () => (await v.page.locator('.loading').count()) === 0, `${key} shows something`);
        assert.deepEqual(await violations(v), [], key);
        await v.press('Escape');
    }
    const cut = await open(['cut']);
    await cut.page.locator('.banner').waitFor();
    assert.deepEqual(await violations(cut), [], 'the banner');
    const none = await open(['tiny'], { fragment: 'trace=7' });
    none.allow(/404/);
    await none.page.getByRole('alert').waitFor();
    assert.deepEqual(await violations(none), [], 'no such trace');
});

/** Everything that the Tab key reaches, until it comes round. */
async function walk(v) {
    const seen = [];
    await v.page.evaluate(() => {
        // From the top: taking the focus away would leave the browser where it was.
        document.body.tabIndex = -1;
        document.body.focus();
        document.body.removeAttribute('tabindex');
        let n = 0;
        window.numberOf = (e) => (e.dataset.walk ??= String(n++));
    });
    for (let i = 0; i < 400; i++) {
        await v.press('Tab');
        const at = await v.page.evaluate(() => {
            const e = document.activeElement;
            if (!e || e === document.body) return null;
            const style = getComputedStyle(e);
            const box = e.getBoundingClientRect();
            return {
                number: window.numberOf(e),
                what: `${e.tagName.toLowerCase()} ${e.getAttribute('role') ?? ''} ${e.getAttribute('aria-label') ?? e.textContent.trim().slice(0, 40)}`,
                marked: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
                visible: box.width > 0 && box.height > 0,
            };
        });
        if (!at || (seen[0] && at.number === seen[0].number)) return seen;
        assert.ok(!seen.some((each) => each.number === at.number), `Tab goes back and forth at ${at.what}`);
        seen.push(at);
    }
    assert.fail('Tab never comes round');
}

test('Tab reaches everything that can be worked, in every view, and each place is marked', async ({ open }) => {
    const v = await open(['moe', 'tiny']);
    for (const view of VIEWS) {
        await v.show(`view=${view}&${SELECTED}`);
        await v.rest();
        const seen = await walk(v);
        assert.match(seen[0].what, /Skip to the view/, view);
        for (const each of seen) {
            assert.ok(each.marked, `${view}: the focus is not seen on ${each.what}`);
            assert.ok(each.visible, `${view}: ${each.what} has no size`);
        }
        const missed = await v.page.evaluate(() =>
            [...document.querySelectorAll('button, select, input, a[href], summary, [tabindex="0"]')]
                .filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility({ visibilityProperty: true }) && e.dataset.walk === undefined && !e.closest('dialog:not([open])'))
                .map((e) => e.outerHTML.slice(0, 120)),
        );
        assert.deepEqual(missed, [], view);
        await v.page.evaluate(() => document.querySelectorAll('[data-walk]').forEach((e) => delete e.dataset.walk));
    }
});

test('every canvas is in something that takes the focus, has a name, and says the same in another way', async ({ open }) => {
    const v = await open(['moe', 'tiny']);
    for (const view of VIEWS) {
        await v.show(`view=${view}&token=2`);
        await v.rest();
        const bare = await v.page.evaluate(() => {
            const found = [];
            for (const canvas of document.querySelectorAll('canvas')) {
                const proxy = canvas.closest('[tabindex="0"][aria-label], [role=slider][aria-label], [aria-hidden=true]');
                if (!proxy) found.push(`no proxy: ${canvas.parentElement.outerHTML.slice(0, 150)}`);
                // The bar's is the table of the view Memory, a button beside it leads there.
                else if (proxy.closest('.memory-bar')) {
                    if (!proxy.closest('.memory-bar').querySelector('button')) found.push('the memory bar leads nowhere');
                } else if (proxy.matches('.canvas-proxy') && !document.getElementById('main').querySelector('.equivalent, table, [role=table], [role=grid]'))
                    found.push(`no table: ${proxy.outerHTML.slice(0, 150)}`);
            }
            return found;
        });
        assert.deepEqual(bare, [], view);
    }
});

test('what is selected is told to screen readers', async ({ open }) => {
    const v = await open(['tiny']);
    await v.press('KeyN');
    await v.until(async () => /token 0, prompt/.test(await v.said()), 'the token is told');
    await v.show('layer=1&tensor=blk.1.ffn_up.weight');
    await v.until(async () => /layer 1.*tensor blk\.1\.ffn_up\.weight/.test(await v.said()), 'layer and tensor are told');
});

test('landmarks: one main, a header, the inspector, the tokens; the skip link leads to the view', async ({ open }) => {
    const v = await open(['tiny']);
    for (const [role, name] of [['main'], ['banner'], ['complementary', 'Inspector'], ['region', 'Tokens'], ['tablist', 'Views']])
        assert.equal(await v.page.getByRole(role, name ? { name, exact: true } : {}).count(), 1, role);
    await v.press('Tab', 'Enter');
    assert.equal((await v.focused()).id, 'main');
});

test('who wants less motion gets none', async ({ open }) => {
    const v = await open(['cut'], { args: ['--live'], reducedMotion: true });
    const dot = v.page.locator('.dot');
    await dot.waitFor();
    assert.equal(await dot.evaluate((e) => getComputedStyle(e).animationName), 'none');
});

test('with the colours of the system, what is chosen is still told apart', async ({ open }) => {
    const v = await open(['tiny'], { forcedColors: true, fragment: 'token=3' });
    const ground = (locator) => locator.first().evaluate((e) => getComputedStyle(e).backgroundColor);
    const chosen = await ground(v.page.getByRole('tab', { selected: true }));
    assert.notEqual(chosen, await ground(v.page.getByRole('tab', { selected: false })));
    assert.equal(await ground(v.page.locator('.tape-token[data-current]')), chosen);
});
