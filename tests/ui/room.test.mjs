// The picture gets the window: at least half of it at 1440x900, 40 % at 1024x700, in every view; and a
// phone can read all of them.
import assert from 'node:assert/strict';
import { suite } from './harness.mjs';

const { test } = suite();
/** What one looks at in each view: its main canvas or table. */
const PICTURES = {
    overview: ['.overview .tiles', '.overview .where', '.overview .tokens', '.overview .findings', '.overview .top-tensors', '.overview .thumbs'],
    memory: ['.memory-map .canvas-proxy'],
    timeline: ['.timeline .canvas-proxy', '.tl-gutter'],
    graph: ['.graph-stage .canvas-proxy'],
    log: ['.log-rows'],
    experts: ['.experts .canvas-proxy', '.experts table', '.experts [role=grid]'],
    buffers: ['.buffers .canvas-proxy', '.buffers-list'],
    stats: ['.stats [role=grid], .stats .canvas-proxy'],
    diff: ['.diff-plots'],
    values: ['.values-heat', '.values-lines .canvas-proxy'],
};

/** The share of the window that the union of the elements' visible parts has. */
async function share(v, selectors) {
    return v.page.evaluate((list) => {
        const view = document.getElementById('main').getBoundingClientRect();
        const boxes = [...document.querySelectorAll(list.join(','))].map((e) => e.getBoundingClientRect()).map((b) => ({
            left: Math.max(b.left, view.left), right: Math.min(b.right, view.right),
            top: Math.max(b.top, view.top), bottom: Math.min(b.bottom, view.bottom),
        })).filter((b) => b.right > b.left && b.bottom > b.top);
        // Exact for rectangles: between their edges.
        const xs = [...new Set(boxes.flatMap((b) => [b.left, b.right]))].sort((a, b) => a - b);
        const ys = [...new Set(boxes.flatMap((b) => [b.top, b.bottom]))].sort((a, b) => a - b);
        let area = 0;
        for (let i = 0; i + 1 < xs.length; i++)
            for (let j = 0; j + 1 < ys.length; j++)
                if (boxes.some((b) => b.left <= xs[i] && b.right >= xs[i + 1] && b.top <= ys[j] && b.bottom >= ys[j + 1]))
                    area += (xs[i + 1] - xs[i]) * (ys[j + 1] - ys[j]);
        return area / (innerWidth * innerHeight);
    }, selectors);
}

const tracesOf = (view) => (view === 'values' ? ['values'] : view === 'diff' ? ['tiny', 'again'] : ['moe']);

for (const [viewport, least] of [[{ width: 1440, height: 900 }, 0.5], [{ width: 1024, height: 700 }, 0.4]])
    test(`at ${viewport.width}x${viewport.height} the picture of every view has ${least * 100} % of the window`, async ({ open, t }) => {
        const small = [];
        for (const [view, selectors] of Object.entries(PICTURES)) {
            const v = await open(tracesOf(view), { viewport, fragment: `view=${view}&token=1` });
            await v.until(async () => (await share(v, selectors)) > 0, `${view} has its picture`);
            await v.rest();
            const now = await share(v, selectors);
            t.diagnostic(`${view} ${(now * 100).toFixed(1)} %`);
            if (now < least) small.push(`${view}: ${(now * 100).toFixed(1)} %`);
            assert.ok((await v.page.locator('.scrubber').boundingBox()).height <= 60, 'the tokens take one narrow band');
            await v.close();
        }
        assert.deepEqual(small, []);
    });

test('what is above the rows of the log takes two lines at 1440 and at 1024', async ({ open }) => {
    for (const [width, height] of [[1440, 900], [1024, 700]])
        for (const fragment of ['view=log', 'view=log&token=1', 'view=log&token=1&layer=2&sort=duration~100&log=op:MUL_MAT']) {
            const v = await open(['moe'], { viewport: { width, height }, fragment });
            await v.page.locator('.log-line [role=status]').getByText(' rows').waitFor();
            const main = await v.page.locator('#main').boundingBox();
            const rows = await v.page.locator('.log-rows').boundingBox();
            assert.ok(rows.y - main.y <= 84, `${fragment} at ${width}: ${rows.y - main.y} px`);
            // By the middles of what can be pressed: so many lines.
            const middles = await v.page.locator('.log-bar :is(input, button), .log-second .log-tools > label > input, .log-second summary').evaluateAll((all) => all.map((e) => e.getBoundingClientRect()).filter((b) => b.height > 0).map((b) => b.top + b.height / 2).sort((a, b) => a - b));
            const lines = middles.filter((y, i) => i === 0 || y - middles[i - 1] > 10).length;
            assert.ok(middles.length >= 5 && lines <= 2, `${middles}`);
            await v.close();
        }
});

test('a phone: one view at a time in all of the width, the inspector a sheet below it, tabs that scroll', async ({ open }) => {
    const viewport = { width: 390, height: 844 };
    const v = await open(['moe'], { viewport, fragment: 'view=memory&token=1&panes=memory,log' });
    for (const view of ['overview', 'memory', 'timeline', 'graph', 'log', 'experts', 'buffers', 'stats', 'values']) {
        await v.show(`view=${view}&token=1&panes=memory,log`);
        await v.rest();
        const box = await v.page.locator('#main').boundingBox();
        assert.equal(Math.round(box.width), 390, view);
        assert.ok(box.height > 400, `${view} is ${box.height} px high`);
        const over = await v.page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
        assert.ok(over <= 0, `${view}: nothing is beside the window (${over} px)`);
        const proxy = v.page.locator('#main .canvas-proxy').first();
        if (await proxy.count()) assert.ok((await proxy.boundingBox()).width > 200, `${view}: the canvas has a width`);
    }
    assert.equal(await v.page.locator('.pane').count(), 1);
    const inspector = v.page.getByRole('complementary', { name: 'Inspector' });
    assert.match(await inspector.innerText(), /token 1/);
    await inspector.getByRole('button', { name: 'Show the inspector' }).click();
    await inspector.getByRole('heading', { name: 'Token 1' }).waitFor();
    const sheet = await inspector.boundingBox();
    const main = await v.page.locator('#main').boundingBox();
    assert.ok(sheet.y >= main.y + main.height - 1 && sheet.width === 390, 'the sheet is below the view');
    // The tab of a view far to the right comes into sight when it is shown.
    await v.show('view=values&token=1');
    await v.until(async () => {
        const tab = await v.page.getByRole('tab', { selected: true }).boundingBox();
        return tab.x >= 0 && tab.x + tab.width <= 390;
    }, 'the selected tab is to be seen');
});

test('two fingers zoom the map, the graph and the timeline', async ({ open }) => {
    const v = await open(['tiny'], { viewport: { width: 390, height: 844 }, fragment: 'view=memory&token=1' });
    const cdp = await v.context.newCDPSession(v.page);
    const pinch = async () => {
        const box = await v.page.locator('#main .canvas-proxy').first().boundingBox();
        const [x, y] = [box.x + box.width / 2, box.y + Math.min(box.height, 300) / 2];
        const fingers = (by) => [{ x: x - by, y, id: 1 }, { x: x + by, y, id: 2 }];
        await cdp.send('Input.dispatchTouchEvent', { type: 'touchStart', touchPoints: fingers(20) });
        for (const by of [30, 40, 60, 80]) await cdp.send('Input.dispatchTouchEvent', { type: 'touchMove', touchPoints: fingers(by) });
        await cdp.send('Input.dispatchTouchEvent', { type: 'touchEnd', touchPoints: [] });
    };
    await v.rest();
    const token = v.fragment().get('token');
    await pinch();
    // Four times as near: 80 of 20 pixels.
    const width = () => { const [from, to] = (v.fragment().get('memory_x') ?? '0~1').split('~').map(Number); return to - from; };
    await v.until(() => Math.abs(width() - 0.25) < 0.03, 'the map is four times as wide');
    await v.show('view=graph&token=1');
    await v.rest();
    const before = await v.rest('#main .canvas-view');
    await pinch();
    await v.until(async () => !(await v.rest('#main .canvas-view')).equals(before), 'the graph is nearer');
    await v.show('view=timeline&token=1&window=all');
    await v.rest();
    const shown = v.fragment().get('window');
    await pinch();
    await v.until(() => v.fragment().get('window') !== shown && v.fragment().get('window') !== 'all', 'the timeline is nearer');
    await v.rest();
    assert.equal(v.fragment().get('token'), token, 'nothing was chosen by it');
});
