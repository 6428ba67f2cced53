// "Share": pictures of every view that show what the screen shows, and the command that prints the same.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite, trace } from './harness.mjs';

const { test } = suite();

const dialog = (v) => v.page.getByRole('dialog', { name: 'Share' });

/** canvas: an element whose pixels the picture must have, or the upper `part` of it. */
const VIEWS = [
    { view: 'overview', traces: ['moe'], fragment: 'view=overview', canvas: '.overview canvas' },
    { view: 'memory', traces: ['moe'], fragment: 'view=memory&layer=1', canvas: '.memory-map canvas', part: 0.7 },
    { view: 'timeline', traces: ['moe'], fragment: 'view=timeline&token=5', canvas: '.tl-body canvas' },
    { view: 'graph', traces: ['tiny'], fragment: 'view=graph&token=3' },
    { view: 'log', traces: ['moe'], fragment: 'view=log&token=5', canvas: '.log-rows .vt' },
    { view: 'experts', traces: ['moe'], fragment: 'view=experts&token=5&layer=1', canvas: '.experts-host canvas' },
    { view: 'buffers', traces: ['moe'], fragment: 'view=buffers', canvas: '.buffers-host canvas' },
    { view: 'stats', traces: ['moe'], fragment: 'view=stats', canvas: '#main .vt' },
    { view: 'stats', traces: ['moe'], fragment: 'view=stats&stats_show=tokens', canvas: '.u-wrap canvas' },
    { view: 'stats', traces: ['moe'], fragment: 'view=stats&stats_show=roofline', canvas: '.roof-plot svg' },
    { view: 'stats', traces: ['moe'], fragment: 'view=stats&stats_show=flame', canvas: '#main canvas' },
    { view: 'values', traces: ['nan'], fragment: 'view=values&token=2', canvas: '.values-host canvas' },
    { view: 'diff', traces: ['tiny', 'again'], fragment: 'view=diff&token=4', canvas: '.diff-strip-canvases', viewport: { width: 1440, height: 1700 } },
];

/** The mean difference of blocks of 8 x 8 pixels (0 to 255) between a part of the screen and the same part of a picture,
 * which is `ratio` times as large and may have it further up or down. */
async function difference(v, screen, place, picture, type, ratio) {
    return v.page.evaluate(
        async ([shot, at, file, kind, times]) => {
            const load = async (data, mime) => {
                const image = new Image();
                image.src = `data:${mime};base64,${data}`;
                await image.decode();
                // At its own size: a drawing would be drawn coarsely for a small one.
                const canvas = document.createElement('canvas');
                canvas.width = image.width;
                canvas.height = image.height;
                canvas.getContext('2d').drawImage(image, 0, 0);
                return canvas;
            };
            const BLOCK = 8;
            const blocks = (image, x, y, w, h, scale) => {
                const canvas = document.createElement('canvas');
                canvas.width = Math.floor(w / BLOCK);
                canvas.height = Math.floor(h / BLOCK);
                const c = canvas.getContext('2d', { willReadFrequently: true });
                c.imageSmoothingQuality = 'high';
                c.fillRect(0, 0, canvas.width, canvas.height);
                c.drawImage(image, x * scale, y * scale, canvas.width * BLOCK * scale, canvas.height * BLOCK * scale, 0, 0, canvas.width, canvas.height);
                return c.getImageData(0, 0, canvas.width, canvas.height).data;
            };
            const [a, b] = [await load(shot, 'image/png'), await load(file, kind)];
            const wanted = blocks(a, 0, 0, at.width, at.height, 1);
            let best = Infinity;
            for (let y = Math.max(0, at.y - 160); y <= at.y + 40; y++) {
                const found = blocks(b, at.x, y, at.width, at.height, times);
                let sum = 0;
                for (let i = 0; i < wanted.length; i++) if (i % 4 !== 3) sum += Math.abs(wanted[i] - found[i]);
                best = Math.min(best, sum / (wanted.length * 0.75));
            }
            // Something else is that far away: the same picture upside down.
            const turned = [];
            const row = Math.floor(at.width / BLOCK) * 4;
            for (let i = wanted.length - row; i >= 0; i -= row) turned.push(...wanted.slice(i, i + row));
            let other = 0;
            for (let i = 0; i < wanted.length; i++) if (i % 4 !== 3) other += Math.abs(wanted[i] - turned[i]);
            return { best, other: other / (wanted.length * 0.75) };
        },
        [screen.toString('base64'), place, picture.toString('base64'), type, ratio],
    );
}

/** Where an element is in the picture, but for bars above it that are left out. */
async function placeOf(v, selector, part = 1) {
    return v.page.locator(selector).first().evaluate((e, part) => {
        const [r, m] = [e.getBoundingClientRect(), document.getElementById('main').getBoundingClientRect()];
        return { x: r.left - m.left + 12, y: r.top - m.top + 52, width: Math.floor(r.width), height: Math.floor(Math.min(r.height, innerHeight - r.top) * part) };
    }, part);
}

for (const { view, traces, fragment, canvas, part, viewport } of VIEWS)
    test(`PNG and SVG of ${fragment}`, async ({ open }) => {
        const v = await open(traces, { fragment, viewport });
        await v.rest();
        const png = await v.shared('PNG');
        const svg = await v.shared('SVG');
        assert.match(png.name, new RegExp(`^${traces[0]}-${view}[a-z0-9-]*\\.png$`));
        assert.match(svg.name, new RegExp(`^${traces[0]}-${view}[a-z0-9-]*\\.svg$`));
        const text = svg.data.toString();
        const parsed = await v.page.evaluate((all) => {
            const doc = new DOMParser().parseFromString(all, 'image/svg+xml');
            const known = ['svg', 'title', 'defs', 'g', 'path', 'text', 'clipPath', 'pattern', 'image'];
            return {
                broken: doc.querySelector('parsererror')?.textContent ?? null,
                foreign: [...doc.querySelectorAll('*')].map((e) => e.localName).filter((name) => !known.includes(name)),
                // Only the tiles of patterns are made of pixels.
                pixels: [...doc.querySelectorAll('image')].filter((e) => e.parentElement.localName !== 'pattern').length,
                texts: [...doc.querySelectorAll('text')].map((e) => e.textContent),
                width: Number(doc.documentElement.getAttribute('width')),
                height: Number(doc.documentElement.getAttribute('height')),
            };
        }, text);
        assert.equal(parsed.broken, null);
        assert.deepEqual(parsed.foreign, []);
        assert.equal(parsed.pixels, 0);
        assert.ok(parsed.texts[0].startsWith(`${traces[0]}.ttrace: `), parsed.texts[0]);
        assert.ok(parsed.texts.some((t) => t.startsWith('tensortrace ')), 'the command is below it');
        if (fragment.includes('token=')) assert.match(parsed.texts[1], /token \d/);
        // Twice as many pixels as the screen has.
        assert.equal(png.data.subarray(1, 4).toString(), 'PNG');
        assert.equal(png.data.readUInt32BE(16), 2 * parsed.width);
        assert.equal(png.data.readUInt32BE(20), 2 * parsed.height);
        if (!canvas) return;
        const place = await placeOf(v, canvas, part);
        await v.page.mouse.move(2, 2);
        const box = await v.page.locator(canvas).first().boundingBox();
        const screen = await v.page.screenshot({ clip: { ...box, width: place.width, height: place.height } });
        for (const [data, type, ratio] of [[png.data, 'image/png', 2], [svg.data, 'image/svg+xml', 1]]) {
            const { best, other } = await difference(v, screen, place, data, type, ratio);
            if (process.env.TT_SHOW) console.log(fragment, type, best, other);
            assert.ok(best < Math.min(6, other / 3), `${type} differs from the screen by ${best.toFixed(2)}, the screen upside down by ${other.toFixed(2)}`);
        }
    });

async function commandOf(v) {
    await v.press('Control+KeyS');
    await v.until(async () => ((await dialog(v).locator('code').textContent()) ?? '').startsWith('tensortrace '), 'there is a command');
    const command = await dialog(v).locator('code').textContent();
    await v.press('Escape');
    await dialog(v).waitFor({ state: 'hidden' });
    return command;
}

/** Runs it as somebody would who pasted it into a shell. */
function run(command, cwd = process.cwd()) {
    const path = `${dirname(process.env.TT_BIN)}:${process.env.PATH}`;
    return execFileSync('bash', ['-c', command], { cwd, env: { ...process.env, PATH: path }, maxBuffer: 1 << 28 }).toString();
}

const number = (text) => Number(/[\d,]+/.exec(text)[0].replaceAll(',', ''));

test('the command of the log has the rows that the page has', async ({ open }) => {
    const filter = encodeURIComponent('token:2..4 layer:1 op:MUL_MAT dur>1us');
    const v = await open(['moe'], { fragment: `view=log&log=${filter}` });
    await v.rest();
    const rows = number(await v.page.locator('.log-line [role=status]').textContent());
    assert.ok(rows > 5);
    const { ops } = JSON.parse(run(`${await commandOf(v)} --limit=0 --json`));
    assert.equal(ops.length, rows);
    assert.ok(ops.every((o) => o.layer_id === 1 && o.op === 'MUL_MAT'));
});

test('the command of the sorted log has the same first row', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=log&sort=wait~100' });
    await v.rest();
    const { ops } = JSON.parse(run(`${await commandOf(v)} --json`));
    assert.equal(ops.length, 100);
    assert.equal(await v.page.locator('.log-rows .vt-body [role=row]').first().locator('[aria-colindex="6"]').textContent(), ops[0].name);
});

test('the command of the timeline has the ops of the selected time', async ({ open }) => {
    const probe = await open(['moe'], { fragment: 'view=log' });
    const { batches } = await probe.api('traces/0/summary');
    const v = await open(['moe'], { fragment: `view=timeline&time=${Math.round(batches.start_relative_ns[3])}~${Math.round(batches.end_relative_ns[4])}` });
    const { ops } = JSON.parse(run(`${await commandOf(v)} --limit=0 --json`));
    assert.deepEqual([...new Set(ops.map((o) => o.batch_id))], [3, 4]);
});

test('the command of the statistics has the table\'s rows in its order', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=stats&stats_by=component&stats_sort=-count&token=3' });
    await v.rest();
    const shown = await v.page.locator('#main .vt-body [role=row]').evaluateAll((list) => list.map((row) => [...row.children].map((cell) => cell.textContent)));
    const { rows } = JSON.parse(run(`${await commandOf(v)} --json`));
    assert.ok(shown.length > 5);
    // Which of two with the same count is first is not said.
    const counts = new Map(rows.map((r) => [r.component, r.count]));
    assert.deepEqual(shown.map(([name]) => counts.get(name)), rows.map((r) => r.count));
});

test('the command of the memory map has its bytes', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_by=bytes&token=3' });
    await v.rest();
    const command = await commandOf(v);
    assert.match(command, / heat .*--batch 3/);
    const { rows } = JSON.parse(run(`${command} --json`));
    const sum = rows.reduce((all, r) => all + r.read_bytes, 0);
    const shown = await v.api('traces/0/stats?by=batch&batch=3');
    assert.equal(sum, shown.total.weight_bytes);
});

test('the commands of the memory view\'s path and tokens have what these show', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=memory&memory_as=path&window=all' });
    await v.rest();
    const { summary } = JSON.parse(run(`${await commandOf(v)} --json`));
    assert.ok((await v.page.locator('.memory-map .legend').innerText()).includes(`${summary.reads} reads`));
    for (const [by, layer] of [['layer', ''], ['file', ''], ['expert', '&layer=1']]) {
        await v.show(`view=memory&memory_as=tokens&memory_tokens_by=${by}&token=4${layer}`);
        await v.rest();
        const command = await commandOf(v);
        assert.match(command, new RegExp(` heat .*--by ${by === 'file' ? 'tensor' : by} --batch 4${layer && ' --layer 1'}`));
        assert.ok(JSON.parse(run(`${command} --json --limit=0`)).rows.length > 0);
    }
});

test('the commands of graph, experts, buffers and values have what the page has', async ({ open }) => {
    const words = async (v, pattern) => pattern.exec(await v.page.locator('#main').textContent());
    const graph = await open(['tiny'], { fragment: 'view=graph&token=3' });
    await graph.rest();
    const g = JSON.parse(run(`${await commandOf(graph)} --json`));
    assert.equal(g.batch_id, 3);
    assert.equal(g.nodes_total, number((await words(graph, /(\d+) nodes/))[1]));
    const experts = await open(['moe'], { fragment: 'view=experts&token=5&experts_of=upto' });
    await experts.rest();
    const e = JSON.parse(run(`${await commandOf(experts)} --json`));
    const chosen = e.layers.reduce((all, l) => all + l.experts.filter((x) => x.count > 0).length, 0);
    assert.equal(chosen, number((await words(experts, /(\d+) experts of \d+ chosen/))[1]));
    const buffers = await open(['moe'], { fragment: 'view=buffers' });
    await buffers.rest();
    assert.equal(JSON.parse(run(`${await commandOf(buffers)} --json`)).buffers.length, await buffers.page.locator('#main .vt-body [role=row]').count());
    const values = await open(['nan'], { fragment: 'view=values&token=2&layer=1' });
    await values.rest();
    const { rows } = JSON.parse(run(`${await commandOf(values)} --json`));
    assert.ok(rows.length > 0 && rows.every((r) => r.batch_id === 2 && r.layer_id === 1));
});

test('the command of a comparison compares the same two', async ({ open }) => {
    const v = await open(['tiny', 'again'], { fragment: 'view=diff&diff=1.0' });
    await v.rest();
    const command = await commandOf(v);
    assert.match(command, /diff \S*again\.ttrace \S*tiny\.ttrace$/);
    const { files_a, files_b } = JSON.parse(run(`${command} --json || true`));
    assert.deepEqual([files_a, files_b], [[trace('again')], [trace('tiny')]]);
});

test('names that a shell would obey are quoted, in the command and in file names', async ({ open, t }) => {
    const folder = mkdtempSync(join(tmpdir(), 'tt-share-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const names = ["it's; touch 'made'", '$(touch made) `touch made`', 'a\nb\u001b[31m\\', '-n <b>&"*?'];
    const paths = names.map((name) => join(folder, `${name}.ttrace`));
    for (const path of paths) copyFileSync(trace('tiny'), path);
    for (const path of paths) {
        const v = await open([path], { fragment: 'view=log&token=3&log="tensor:$(touch made)" layer:1' });
        await v.rest();
        const command = await commandOf(v);
        assert.match(command, /^[ -~]*$/, 'nothing that a terminal obeys');
        // No op has such a text in its name: the command says so, and where it looked.
        const { file } = JSON.parse(run(`${command} --json 2>said || true`, folder));
        assert.equal(file, path);
        const { name, data } = await v.shared('SVG');
        assert.match(name, /^[A-Za-z0-9][A-Za-z0-9._-]*\.svg$/);
        assert.ok(!data.toString().includes('<b>'));
        await v.close();
    }
    assert.ok(!readdirSync(folder).includes('made'), 'a part of a name was run');
});

test('the link is the address, and the clipboard gets the command', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log&token=3' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await v.page.getByRole('button', { name: 'Share', exact: true }).click();
    await dialog(v).getByRole('button', { name: 'Copy link' }).click();
    await v.until(async () => (await v.said()) === 'Link copied', 'it is said');
    assert.equal(await v.page.evaluate(() => navigator.clipboard.readText()), v.page.url());
    await dialog(v).getByRole('button', { name: 'Copy command' }).click();
    await v.until(async () => (await v.said()) === 'Command copied', 'it is said');
    assert.equal(await v.page.evaluate(() => navigator.clipboard.readText()), await dialog(v).locator('code').textContent());
});

/** The saved page, opened from the disk by a browser without a network. */
async function openSaved(v, browser, data, t) {
    const folder = mkdtempSync(join(tmpdir(), 'tt-page-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'saved.html');
    writeFileSync(path, data);
    const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, offline: true, javaScriptEnabled: true });
    t.after(() => context.close());
    const page = await context.newPage();
    const noted = [];
    page.on('console', (m) => noted.push(m.text()));
    page.on('pageerror', (e) => noted.push(String(e)));
    page.on('dialog', (d) => noted.push(d.message()));
    page.on('request', (r) => {
        if (r.url() !== `file://${path}` && !r.url().startsWith('data:')) noted.push(`asks ${r.url()}`);
    });
    await page.goto(`file://${path}`);
    return { page, noted };
}

test('a saved page opens without a server, and has the answer, the picture and the tables', async ({ open, browser, t }) => {
    for (const { traces, fragment, view, words } of [
        { traces: ['nan'], fragment: 'view=values&token=2', view: 'Values', words: [/token 2/, /Took/, /ffn_norm-2/] },
        { traces: ['moe'], fragment: 'view=memory&layer=1', view: 'Memory', words: [/Layer 1/, /Weights/] },
        { traces: ['moe'], fragment: 'view=log&token=5', view: 'Log', words: [/Token 5/, /RMS_NORM/] },
        { traces: ['tiny', 'again'], fragment: 'view=diff&token=4', view: 'Diff', words: [/MUL_MAT|ffn_down/] },
    ]) {
        const v = await open(traces, { fragment });
        await v.rest();
        const asked = await v.page.locator('aside').innerText();
        const { name, data } = await v.shared('Save as page');
        assert.match(name, new RegExp(`^${traces[0]}-${view.toLowerCase()}[a-z0-9-]*\\.html$`));
        assert.ok(data.length < 1_500_000, `${data.length} bytes`);
        const { page, noted } = await openSaved(v, browser, data, t);
        assert.equal(await page.title(), `${traces[0]}.ttrace: ${view}`);
        const text = await page.locator('body').innerText();
        for (const pattern of words) assert.match(text, pattern);
        // Each figure that the inspector shows.
        for (const figure of asked.match(/\d[\d.,]* (?:ms|us|MiB|KiB|GB\/s|tokens\/s)/g) ?? []) assert.ok(text.includes(figure), figure);
        assert.ok(text.includes('tensortrace '), 'the command');
        const box = await page.locator('figure svg').first().boundingBox();
        assert.ok(box.width > 600 && box.height > 100, JSON.stringify(box));
        assert.equal(await page.locator('script, link, iframe, img, button').count(), 0);
        const colours = await page.locator('figure svg').first().screenshot();
        assert.ok(colours.length > 20_000, 'the picture is not blank');
        assert.deepEqual(noted, []);
        await v.close();
    }
});

test('a saved page of hostile names has only text of them', async ({ open, browser, t }) => {
    for (const name of ['hostile', '<img src onerror=p>']) {
        const v = await open([name], { fragment: 'view=log&token=0' });
        await v.rest();
        const { data } = await v.shared('Save as page');
        const { page, noted } = await openSaved(v, browser, data, t);
        assert.equal(await page.locator('script, img, iframe, object, embed, [onerror], [onload], [onclick], a').count(), 0);
        assert.deepEqual(noted, []);
        assert.ok(!/<script|<img/i.test(data.toString()));
        await v.close();
    }
});

test('the log\'s saved page has more rows than the screen', async ({ open, browser, t }) => {
    const v = await open(['moe'], { fragment: 'view=log' });
    await v.rest();
    const visible = await v.page.locator('.log-rows .vt-body [role=row]').count();
    const { page } = await openSaved(v, browser, (await v.shared('Save as page')).data, t);
    assert.ok((await page.locator('.table tbody tr').count()) > 2 * visible);
});

test('the browser\'s own command prints the page where nothing was shared before', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=overview' });
    await v.rest();
    await v.page.emulateMedia({ media: 'print' });
    assert.ok(await v.page.getByText('tokens/s').first().isVisible(), 'a sheet of paper is not blank');
});

test('printing: light, no controls, the picture on one sheet', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=timeline', theme: 'dark' });
    // The inspector says of a slow token why: that takes another page.
    const { batches } = await v.api('traces/0/summary');
    const took = batches.end_relative_ns.map((end, i) => (batches.phase[i] === 'generate' ? end - batches.start_relative_ns[i] : Infinity));
    const token = batches.batch_id[took.indexOf(Math.min(...took))];
    await v.show(`view=timeline&token=${token}`);
    await v.rest();
    await v.page.evaluate(() => {
        window.print = () => (window.printed = (window.printed ?? 0) + 1);
    });
    await v.press('Control+KeyP');
    await v.until(() => v.page.evaluate(() => window.printed === 1), 'it is printed');
    await v.page.emulateMedia({ media: 'print' });
    const seen = await v.page.evaluate(() => {
        const svg = document.querySelector('#sheet figure svg');
        const r = svg.getBoundingClientRect();
        return {
            controls: [...document.querySelectorAll('header, button, [role=tablist], [role=slider]')].filter((e) => e.checkVisibility()).length,
            ground: getComputedStyle(document.body).backgroundColor,
            picture: svg.querySelector(':scope > path').getAttribute('fill'),
            filter: getComputedStyle(svg).filter,
            fits: r.right <= innerWidth + 1 && r.height <= innerHeight && r.width > 300,
            words: document.getElementById('sheet').innerText,
        };
    });
    assert.deepEqual({ ...seen, words: new RegExp(`Token ${token}\\b`).test(seen.words) }, { controls: 0, ground: 'rgb(255, 255, 255)', picture: '#ffffff', filter: 'none', fits: true, words: true });
    const pdf = (await v.page.pdf({ format: 'A4', landscape: true })).toString('latin1');
    assert.equal(pdf.match(/\/Type \/Page\b/g).length <= 2, true, 'picture, and what the inspector says');
    // The page is as it was.
    await v.page.emulateMedia({ media: 'screen' });
    assert.equal(await v.page.evaluate(() => document.documentElement.dataset.theme), 'dark');
});
