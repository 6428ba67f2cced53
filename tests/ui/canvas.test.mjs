// What is drawn is what is shown: no picture is squeezed, and what a click selects is what is seen
// there. Pixels tell where things are, never the code that answers the pointer.
import assert from 'node:assert/strict';
import { suite } from './harness.mjs';

const { test } = suite();
// Traces in which the views have all of their canvases: of experts, two to compare; and one with a NaN.
const SHOWN = [
    { traces: ['moe', 'again'], views: ['memory', 'memory&memory_as=path', 'memory&memory_as=tokens', 'timeline', 'graph', 'experts', 'buffers', 'stats', 'diff'] },
    { traces: ['nan'], views: ['values', 'memory&memory_by=pages'] },
];

/** Canvases that are stretched one way more than the other, or coarser than the screen, after the page
 * has drawn. */
async function squeezed(v) {
    await v.page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    return v.page.evaluate(() => {
        const ratio = Math.min(2, devicePixelRatio);
        const all = [...document.querySelectorAll('canvas')].filter((c) => c.clientWidth > 0 && c.clientHeight > 0);
        const stretched = (c) => Math.abs((c.width / c.clientWidth) * c.clientHeight - c.height) > 1.5;
        const bad = all.filter((c) => stretched(c) || c.width < c.clientWidth * ratio - 1);
        return { n: all.length, bad: bad.map((c) => `${c.parentElement.className} ${c.width}x${c.height} shown as ${c.clientWidth}x${c.clientHeight}`) };
    });
}

for (const [viewport, scale] of [[{ width: 1440, height: 900 }, 1], [{ width: 1440, height: 900 }, 2], [{ width: 1024, height: 700 }, 1]])
    test(`no canvas is squeezed at ${viewport.width}x${viewport.height} and ${scale} device pixels a pixel, with tables open and shut`, async ({ open }) => {
        for (const { traces, views } of SHOWN) {
            const v = await open(traces, { fragment: 'view=memory&token=1', viewport, scale });
            assert.equal(await v.page.evaluate(() => devicePixelRatio), scale);
            for (const view of views) {
                await v.show(`view=${view}&token=1&strip=1`);
                await v.ready();
                await v.until(async () => (await squeezed(v)).n > 0, `${view} has a canvas`);
                for (const open of [false, true]) {
                    await v.page.evaluate((is) => document.querySelectorAll('.equivalent').forEach((d) => (d.open = is)), open);
                    let last;
                    await v.until(async () => (last = await squeezed(v)).bad.length === 0, `canvases of ${view} are as large as they are shown`).catch((error) => {
                        throw new Error(`${error.message}: ${last.bad.join('; ')}`);
                    });
                }
            }
        }
    });

/** The rows of the map by their labels' ink, from above: [{ top, bottom }] in CSS pixels of the page
 * (which is dark). */
async function labelRows(v) {
    v.allow(/willReadFrequently/);
    return v.page.locator('.memory-map .canvas-proxy').evaluate((proxy) => {
        const canvas = proxy.querySelector('canvas');
        const c = canvas.getContext('2d');
        const scale = canvas.height / canvas.clientHeight;
        // Labels stand at the left, 8 px from the edge; what is right of them may be sizes.
        const { data, width, height } = c.getImageData(0, 0, Math.round(80 * scale), canvas.height);
        const rows = [];
        for (let y = 0; y < height; y++) {
            let ink = false;
            for (let x = 0; x < width && !ink; x++) {
                const at = (y * width + x) * 4;
                ink = data[at + 3] > 120 && data[at] + data[at + 1] + data[at + 2] > 330;
            }
            if (!ink) continue;
            const last = rows.at(-1);
            // Descenders and dots belong to the line above them.
            if (last && y - last.bottom <= 3 * scale) last.bottom = y;
            else rows.push({ top: y, bottom: y });
        }
        const box = proxy.getBoundingClientRect();
        return rows.map((r) => ({ top: box.top + r.top / scale, bottom: box.top + r.bottom / scale }));
    });
}

for (const [table, scale] of [[false, 1], [true, 1], [false, 2]])
    test(`a click at a layer's label selects that layer, with the table ${table ? 'open' : 'shut'}, ${scale} device pixels a pixel`, async ({ open }) => {
        const v = await open(['moe'], { fragment: 'view=memory', scale });
        if (table) await v.page.locator('.memory-map .equivalent summary').click();
        await v.until(async () => (await squeezed(v)).bad.length === 0, 'drawn anew');
        const rows = await labelRows(v);
        const box = await v.page.locator('.memory-map .canvas-proxy').boundingBox();
        // The ruler, the heading of the file, its metadata, the embedding, then the layers.
        const first = 4;
        assert.ok(rows.length > first + 3, `${rows.length} rows`);
        for (const layer of table ? [0, 1] : [0, 1, 2, 3]) {
            const row = rows[first + layer];
            const y = (row.top + row.bottom) / 2;
            await v.page.mouse.click(box.x + box.width / 2, y);
            await v.untilFragment('layer', String(layer));
            assert.match(v.fragment().get('tensor'), new RegExp(`^blk\\.${layer}\\.`));
            await v.press('Escape');
            await v.untilFragment('layer', null);
            // The label itself, too.
            await v.page.mouse.click(box.x + 20, y);
            await v.untilFragment('layer', String(layer));
            assert.equal(v.fragment().get('tensor'), null);
            await v.press('Escape');
            await v.untilFragment('layer', null);
        }
    });

test('the list of keys is cut off nowhere', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    for (const viewport of [{ width: 1440, height: 900 }, { width: 1024, height: 700 }]) {
        await v.page.setViewportSize(viewport);
        await v.press('F1');
        const dialog = v.page.locator('dialog[open]');
        await dialog.waitFor();
        const cut = await dialog.evaluate((d) => {
            const { right, left } = d.getBoundingClientRect();
            return [...d.querySelectorAll('td, th, kbd, h3')]
                .filter((e) => e.getBoundingClientRect().right > right || e.getBoundingClientRect().left < left || e.scrollWidth > e.clientWidth + 1)
                .filter((e) => getComputedStyle(e).display !== 'inline')
                .map((e) => e.textContent);
        });
        assert.deepEqual(cut, []);
        await v.press('Escape');
        await v.until(async () => (await dialog.count()) === 0, 'it is shut');
    }
});
