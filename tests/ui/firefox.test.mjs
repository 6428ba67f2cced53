// The main tasks in Debian's Firefox: every view draws, things are selected, found, played and shared.
import assert from 'node:assert/strict';
import { openFirefox } from './browser.mjs';
import { suite } from './harness.mjs';

const { test } = suite(openFirefox);

/** Of each canvas that can be seen in the view: its size and how many colours it has (0: blank). */
function canvases(v) {
    return v.page.evaluate(() =>
        [...document.querySelectorAll('#main canvas')]
            .filter((e) => e.checkVisibility() && e.clientWidth > 40)
            .map((e) => {
                const copy = document.createElement('canvas');
                copy.width = e.width;
                copy.height = e.height;
                const c = copy.getContext('2d', { willReadFrequently: true });
                c.drawImage(e, 0, 0);
                const data = new Uint32Array(c.getImageData(0, 0, copy.width, copy.height).data.buffer);
                const ratio = Math.min(2, devicePixelRatio);
                return {
                    colours: new Set(data.filter((pixel) => pixel !== 0)).size,
                    off: Math.max(Math.abs(e.width - e.clientWidth * ratio), Math.abs(e.height - e.clientHeight * ratio)),
                };
            }),
    );
}

const DRAWN = [
    ['memory', 'moe', 'view=memory'],
    ['timeline', 'moe', 'view=timeline&token=5'],
    ['graph', 'tiny', 'view=graph&token=3'],
    ['experts', 'moe', 'view=experts&layer=1'],
    ['buffers', 'moe', 'view=buffers'],
    ['statistics', 'moe', 'view=stats&stats_show=tokens'],
    ['values', 'nan', 'view=values&token=2'],
];
for (const [name, trace, fragment] of DRAWN)
    test(`${name}: the canvas has a picture of its own size`, async ({ open }) => {
        const v = await open([trace], { fragment });
        await v.until(async () => (await canvases(v)).some(({ colours }) => colours > 8), 'a canvas has colours');
        for (const { off } of await canvases(v)) assert.ok(off <= 2, `a canvas is ${off} pixels larger or smaller than it is shown`);
    });

test('the log, the statistics and the comparison have their rows', async ({ open }) => {
    const v = await open(['tiny', 'again'], { fragment: 'view=log&token=3' });
    const rows = () => v.page.locator('#main .vt-body [role=row], #main tbody tr').count();
    await v.until(async () => (await rows()) > 10, 'rows of the log');
    await v.show('view=stats&stats_by=op');
    await v.until(async () => (await rows()) > 4, 'rows of the statistics');
    await v.show('view=diff&token=3');
    await v.until(async () => (await rows()) > 8, 'rows of the comparison');
});

test('a click selects, Escape clears, Back brings it back', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=experts' });
    await v.until(async () => (await canvases(v)).some(({ colours }) => colours > 8), 'the matrix is drawn');
    const box = await v.page.locator('.experts-host canvas').boundingBox();
    await v.page.mouse.click(box.x + 120, box.y + 60);
    await v.until(() => v.fragment().get('layer') !== null && v.fragment().get('expert') !== null, 'an expert is selected');
    const { layer } = Object.fromEntries(v.fragment());
    await v.page.locator('aside').getByText(`Layer ${layer}`).first().waitFor();
    await v.press('Escape');
    await v.untilFragment('layer', null);
    await v.page.goBack();
    await v.untilFragment('layer', layer);
});

test('a tensor is found by a part of its name', async ({ open }) => {
    const v = await open(['moe']);
    await v.press('Control+KeyK');
    await v.page.keyboard.type('blk.3.ffn_down');
    await v.page.getByRole('option').filter({ hasText: 'blk.3.ffn_down_exps' }).first().waitFor();
    await v.press('Enter');
    await v.untilFragment('tensor', 'blk.3.ffn_down_exps.weight');
});

test('the film plays from token to token', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory&token=2&speed=4' });
    await v.page.locator('#main').focus();
    await v.press('Space');
    await v.until(() => Number(v.fragment().get('token')) >= 5, 'some tokens on');
    await v.press('Space');
});

/** What the page gives the browser to save: BiDi tells nothing of downloads. */
async function shared(v, form) {
    await v.page.evaluate(() => {
        const make = URL.createObjectURL;
        window.saved = null;
        URL.createObjectURL = (blob) => {
            URL.createObjectURL = make;
            const reader = new FileReader();
            reader.onload = () => (window.saved = reader.result.replace(/^.*,/, ''));
            reader.readAsDataURL(blob);
            return make.call(URL, blob);
        };
    });
    await v.press('Control+KeyS');
    await v.page.getByRole('dialog', { name: 'Share' }).getByRole('button', { name: form, exact: true }).click();
    await v.until(() => v.page.evaluate(() => window.saved !== null), `${form} is saved`);
    return Buffer.from(await v.page.evaluate(() => window.saved), 'base64');
}

test('it is shared: command, pictures, a page', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=timeline&token=5' });
    await v.until(async () => (await canvases(v)).some(({ colours }) => colours > 8), 'the timeline is drawn');
    const png = await shared(v, 'PNG');
    assert.equal(png.subarray(1, 4).toString(), 'PNG');
    const svg = (await shared(v, 'SVG')).toString();
    for (const text of ['thread 0', 'moe.ttrace: Timeline']) assert.ok(svg.includes(`>${text}</text>`), text);
    assert.equal(png.readUInt32BE(16), 2 * Number(/width="(\d+)"/.exec(svg)[1]));
    const page = (await shared(v, 'Save as page')).toString();
    assert.match(page, /^<!doctype html>/);
    assert.ok(page.includes('Token') && page.includes('<svg'));
    await v.press('Control+KeyS');
    await v.until(async () => /^tensortrace log .*--batch 5/.test(await v.page.locator('dialog code').textContent()), 'the command');
});
