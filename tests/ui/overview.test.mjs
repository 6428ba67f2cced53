// The first view: its figures are those of the commands, its links select what they name, and it says
// what is true of traces that lack something.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { nanoseconds, suite, trace } from './harness.mjs';

const { test } = suite();
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** JSON that a command prints; some exit with 1 for what they found. */
function said(command, ...args) {
    const { stdout } = spawnSync(process.env.TT_BIN, [command, '--json', ...args], { maxBuffer: 1 << 28, encoding: 'utf8' });
    return JSON.parse(stdout);
}

/** A trace that is the same each time, with one token that takes 27 times as long as the others. */
const folder = mkdtempSync(join(tmpdir(), 'tt-ui-'));
after(() => rmSync(folder, { recursive: true }));
function withSlowToken() {
    const slowTrace = join(folder, 'slow.ttrace');
    if (existsSync(slowTrace)) return slowTrace;
    generate(slowTrace);
    return slowTrace;
}

function generate(path, ...more) {
    const args = ['--tokens', '60', '--layers', '4', '--width', '64', '--vocab', '300', '--experts', '8', '--faults', '--usage', ...more];
    execFileSync(process.env.TT_GENTRACE, ['-o', path, ...args]);
}

/** Besides, the program begins token 40 a millisecond late. */
function withLateToken() {
    const lateTrace = join(folder, 'late.ttrace');
    if (!existsSync(lateTrace)) generate(lateTrace, '--late', '40');
    return lateTrace;
}

const main = (v) => v.page.locator('#main');
const inspector = (v) => v.page.getByRole('complementary', { name: 'Inspector' });

async function overview(open, name, options = {}) {
    const v = await open([name], options);
    await answered(v);
    return v;
}

/** Until the endpoint has answered. */
async function answered(v) {
    await v.page.locator('.overview[aria-busy=false]').waitFor();
}

/** "936 tokens/s" as a number. */
const figure = (text) => Number(/[\d.,]+/.exec(text)[0].replace(/,/g, ''));

/** What is selected, by the address. */
function selected(v) {
    const get = (name) => v.fragment().get(name);
    return { token: get('token'), layer: get('layer'), tensor: get('tensor'), op: get('op') };
}

test('it opens first; speed, time and tensors are those of info and stats', async ({ open }) => {
    const v = await overview(open, 'moe');
    assert.equal(v.fragment().get('view'), null);
    assert.equal(await v.page.getByRole('tab', { selected: true }).getAttribute('id'), 'tab-overview');
    const info = said('info', trace('moe'));
    const tile = (title) => main(v).locator('.tile', { hasText: title }).locator('dd').textContent();
    for (const [title, want] of [['Generated', info.generate.tokens_per_s], ['Prompt', info.prompt.tokens_per_s]])
        assert.ok(Math.abs(figure(await tile(title)) - want) <= want / 100 + 0.5, `${title}: ${await tile(title)}, not ${want}`);
    assert.ok((await main(v).locator('h2').textContent()).startsWith(await tile('Generated')), 'the headline begins with the speed');
    // The parts of the time are all of it: from the first batch to the end of the last.
    const { batches } = await v.api('traces/0/summary');
    const legend = await main(v).getByRole('region', { name: 'Where the time went' }).getByRole('listitem').allTextContents();
    const shares = legend.map((text) => /([\d.]+) %/.exec(text)).filter(Boolean).map((found) => Number(found[1]));
    assert.ok(Math.abs(shares.reduce((a, b) => a + b, 0) - 100) < 0.5, `${legend}`);
    const whole = batches.end_relative_ns.at(-1) - batches.start_relative_ns[0];
    assert.ok(Math.abs(nanoseconds(legend.at(-1)) - whole) < 0.006 * whole, `${legend.at(-1)} is ${whole} ns`);
    // By the time of their ops, with what these waited for a disk.
    const rows = said('stats', '--by', 'tensor', trace('moe')).rows.filter((r) => !r.tensor.startsWith('('));
    const first = rows.sort((a, b) => b.total_ns - a.total_ns).slice(0, 5);
    const names = await main(v).locator('.top-tensors tbody th').allTextContents();
    assert.deepEqual(names, first.map((r) => r.tensor));
    await main(v).getByRole('button', { name: names[1], exact: true }).click();
    await v.untilFragment('tensor', names[1]);
    await inspector(v).getByRole('heading', { name: `Tensor ${names[1]}` }).waitFor();
});

test('all of it is on one screen', async ({ open }) => {
    for (const [name, width, height] of [['moe', 1440, 900], ['tiny', 1440, 900], ['moe', 1024, 700], ['tiny', 1024, 700], ['nan', 1024, 700], [withSlowToken(), 1024, 700]]) {
        const v = await overview(open, name, { viewport: { width, height } });
        await v.rest();
        const size = await main(v).evaluate((e) => ({ room: e.clientHeight, content: e.scrollHeight, wide: e.scrollWidth - e.clientWidth }));
        assert.ok(size.content <= size.room && size.wide <= 0, JSON.stringify({ name, width, ...size }));
        // Nothing is cut off inside of it either, but for a long list of findings.
        const cut = await main(v).evaluate((e) => [...e.querySelectorAll('section, nav, footer, h2, dl, td, th')].filter((x) => x.scrollWidth > x.clientWidth + 1 && getComputedStyle(x).overflowX !== 'visible').map((x) => x.outerHTML.slice(0, 80)));
        assert.deepEqual(cut, []);
        await v.close();
    }
});

test('each finding selects what it names, and opens its view', async ({ open }) => {
    for (const name of ['nan', 'moe', 'boost', withSlowToken()]) {
        const v = await overview(open, name);
        const { findings } = await v.api('traces/0/overview');
        assert.ok(findings.length > 0);
        const order = { error: 0, warning: 1, note: 2 };
        const ranks = findings.map((f) => order[f.severity]);
        assert.deepEqual(ranks, [...ranks].sort(), 'the most severe first');
        for (const [i, f] of findings.entries()) {
            await v.show('view=overview&token=0&layer=0&tensor=output.weight');
            await answered(v);
            const row = main(v).locator('.finding').nth(i);
            assert.ok((await row.textContent()).includes(f.text), f.text);
            if (f.view === null) {
                assert.equal(await row.getByRole('button').count(), 0);
                continue;
            }
            await row.getByRole('button').click();
            await v.untilFragment('view', f.view === 'overview' ? null : f.view);
            const s = f.select;
            const text = (value) => (value === null ? null : String(value));
            assert.deepEqual(selected(v), {
                token: text(s.batch_id),
                layer: text(s.layer_id),
                tensor: s.tensor,
                op: s.run === null ? null : `${s.run}.${s.node}`,
            });
            // The measure that shows it, not the one that the view begins with.
            const shown = { 'memory disk': ['memory_by', 'faults'], 'experts cold_experts': ['experts_by', 'count'], 'values nan': ['values_by', 'bad'] }[`${f.view} ${f.kind}`];
            if (shown) await v.untilFragment(shown[0], shown[1]);
            if (s.lane !== null) assert.equal(v.fragment().get('lanes'), `lane${s.lane}`);
        }
        await v.close();
    }
});

test('NaN is the first finding, where values --first-bad says', async ({ open }) => {
    const v = await overview(open, 'nan');
    const { first, summary } = said('values', '--first-bad', trace('nan'));
    const text = await main(v).locator('.finding').first().textContent();
    assert.match(text, new RegExp(`Error.*${summary.bad} of ${summary.outputs} outputs.*${first.output.name}`));
    await main(v).locator('.finding').first().getByRole('button').click();
    await v.untilFragment('op', `${first.output.run}.${first.output.op_node}`);
});

test('tokens: a click selects one, and the inspector says why it took so long', async ({ open }) => {
    const path = withSlowToken();
    const v = await overview(open, path);
    const { slow, usual } = await v.api('traces/0/overview');
    assert.ok(slow.length > 0 && slow.length <= 3);
    const { batches } = await v.api('traces/0/summary');
    const times = batches.batch_id.map((id, i) => ({ id, ns: batches.end_relative_ns[i] - batches.start_relative_ns[i] }));
    // The median of those that are compared is that of all generated tokens, about.
    const generated = times.filter((_, i) => batches.phase[i] === 'generate').map((t) => t.ns).sort((a, b) => a - b);
    assert.ok(usual.median_ns >= generated[Math.floor(generated.length * 0.3)] && usual.median_ns <= generated[Math.floor(generated.length * 0.7)]);
    // By mouse, where the token's bar is.
    const box = await main(v).locator('.tokens .canvas-proxy').boundingBox();
    const at = batches.batch_id.indexOf(slow[0].batch_id);
    const [left, right] = [62, 8];
    const pitch = Math.min(64, (box.width - left - right) / batches.batch_id.length);
    const x = box.x + left + (at + 0.5) * pitch;
    await v.page.mouse.move(x, box.y + box.height - 30);
    await v.until(async () => (await v.page.locator('.tooltip').textContent())?.includes(slow[0].text), 'the tooltip has the cause');
    await v.page.mouse.click(x, box.y + box.height - 30);
    await v.untilFragment('token', String(slow[0].batch_id));
    // The command says the same of it.
    const why = said('why', path, '--token', String(slow[0].batch_id));
    const part = inspector(v).getByRole('region', { name: 'Why' });
    await part.getByText(why.text[0]).waitFor();
    for (const each of [...why.text, ...why.excluded, ...why.not_known]) assert.ok((await part.textContent()).includes(each), each);
    const rows = part.getByRole('row');
    const parts = why.parts.filter((p) => p.time_ns === null || p.time_ns > 0 || p.usual_ns > 0);
    assert.equal(await rows.count(), 1 + parts.length);
    // An op that took longer than its median is a link.
    const [op] = why.ops;
    await part.getByRole('button', { name: op.name, exact: true }).first().click();
    await v.untilFragment('op', `${op.run}.${op.node}`);
    const ofOp = said('why', path, '--op', `${op.run}:${op.node}`);
    assert.equal(ofOp.of.layer_id, op.layer_id);
    assert.ok(Math.abs(ofOp.time_ns - op.time_ns) < 0.01 * op.time_ns, `${ofOp.time_ns} ns, not ${op.time_ns}`);
    await inspector(v).getByRole('region', { name: 'Op', exact: true }).getByRole('region', { name: 'Why' }).getByText(ofOp.text[0]).waitFor();
    // By keyboard.
    await main(v).getByRole('application', { name: /^Time of 68 tokens in 61 batches/ }).focus();
    await v.press('Home', 'ArrowRight');
    await v.untilFragment('token', String(batches.batch_id[1]));
    await v.press('End');
    await v.untilFragment('token', String(batches.batch_id.at(-1)));
});

test('the slowest are marked at their bars, with cause and time', async ({ open }) => {
    const v = await overview(open, withSlowToken());
    const list = main(v).getByRole('list', { name: 'Slow or late tokens' });
    const { slow } = await v.api('traces/0/overview');
    const { batches } = await v.api('traces/0/summary');
    assert.ok(slow.length > 0);
    const texts = await list.getByRole('listitem').allTextContents();
    slow.forEach((s, i) => assert.ok(texts[i].includes(`Token ${s.batch_id},`) && texts[i].includes(s.text), texts[i]));
    // Ink of the mark's colour above their bars and above no other one of the same row of pixels.
    const marked = await main(v).locator('.tokens canvas').evaluate((canvas, n) => {
        const c = canvas.getContext('2d');
        const scale = canvas.width / canvas.clientWidth;
        const probe = document.body.appendChild(document.createElement('i'));
        probe.style.color = 'var(--mark)';
        const want = getComputedStyle(probe).color.match(/\d+/g).map(Number);
        probe.remove();
        const pitch = Math.min(64, (canvas.clientWidth - 70) / n);
        const found = [];
        for (let i = 0; i < n; i++) {
            const data = c.getImageData(Math.round((62 + (i + 0.5) * pitch) * scale), 34 * scale, 1, 1).data;
            if (want.every((part, k) => Math.abs(part - data[k]) < 12)) found.push(i);
        }
        return found;
    }, batches.batch_id.length);
    assert.deepEqual(marked, slow.map((s) => batches.batch_id.indexOf(s.batch_id)).sort((a, b) => a - b));
    await list.getByRole('button').first().click();
    await v.untilFragment('token', String(slow[0].batch_id));
});

test('a token that began late is said to be late, by how much, in the words of why; once', async ({ open }) => {
    const path = withLateToken();
    const v = await overview(open, path, { viewport: { width: 1440, height: 900 } });
    const why = said('why', path, '--token', '40');
    const { batches } = await v.api('traces/0/summary');
    const at = batches.batch_id.indexOf(40);
    // By the summary's times: the gap, less the usual one.
    const gaps = batches.start_relative_ns.slice(1).map((ns, i) => ns - batches.end_relative_ns[i]);
    const usual = [...gaps].sort((a, b) => a - b)[Math.floor(gaps.length / 2)];
    assert.ok(Math.abs(why.late_ns - (gaps[at - 1] - usual)) < 100, `${why.late_ns} is not ${gaps[at - 1]} - ${usual}`);
    assert.match(why.text[0], /^Token 40 began 1\.00 ms late: /);
    const list = main(v).getByRole('list', { name: 'Slow or late tokens' });
    const item = await list.getByRole('listitem').filter({ hasText: 'Token 40' }).textContent();
    assert.match(item, /^Token 40 1\.00 ms late: the program began it /);
    // The mark on the picture is drawn text: the page's own function draws it.
    await v.page.mouse.move(0, 0);
    const { slow, findings } = await v.api('traces/0/overview');
    assert.deepEqual(slow.map((s) => [s.batch_id, s.late_ns === null]).sort(), [[29, true], [40, false]]);
    const drawn = await textsDrawn(v);
    assert.ok(drawn.includes('1.00 ms late'), `${drawn}`);
    assert.ok(!drawn.some((text) => text.includes('between batches')), `${drawn}`);
    // No finding repeats a token of the list; one counts them.
    const of = findings.filter((f) => f.kind.startsWith('slow_token'));
    assert.deepEqual(of.map((f) => f.text), ['2 of 60 tokens took unusually long or began late.']);
    for (const { text } of slow) assert.equal(findings.filter((f) => f.text.includes(text)).length, 0, text);
    assert.equal((await main(v).textContent()).split(slow[0].text).length, 2, 'told once');
    // One usual time of a token in all of them.
    const { usual: run } = await v.api('traces/0/overview');
    for (const token of [5, 29, 40, 59]) assert.equal(said('why', path, '--token', String(token)).usual.median_ns, run.median_ns);
});

/** What the picture of the tokens writes when it is drawn anew. */
async function textsDrawn(v) {
    await v.page.evaluate(() => {
        const own = CanvasRenderingContext2D.prototype.fillText;
        window.drawnTexts = [];
        CanvasRenderingContext2D.prototype.fillText = function (text, ...at) {
            if (this.canvas.closest('.tokens')) window.drawnTexts.push(text);
            return own.call(this, text, ...at);
        };
    });
    const box = await main(v).locator('.tokens .canvas-proxy').boundingBox();
    await v.page.mouse.move(box.x + 100, box.y + box.height - 30);
    await v.until(() => v.page.evaluate(() => window.drawnTexts.length > 0), 'it is drawn again');
    return v.page.evaluate(() => window.drawnTexts);
}

test('bars that are cut off have a sign in the legend, with the time', async ({ open }) => {
    const v = await overview(open, withSlowToken());
    const { usual } = await v.api('traces/0/overview');
    const legend = main(v).locator('.tokens-legend');
    const text = await legend.first().textContent();
    // Four times the usual time; the axis ends there.
    const us = figure(/cut off above ([\d.,]+) us/.exec(text)[1]);
    assert.ok(Math.abs(us - (4 * usual.median_ns) / 1000) < 1, `${text}: ${usual.median_ns}`);
    assert.ok((await textsDrawn(v)).includes(`${us} us`), 'the axis says the same');
    // Nothing is cut off where all take about as long.
    const folderOf = join(folder, 'even.ttrace');
    execFileSync(process.env.TT_GENTRACE, ['-o', folderOf, '--tokens', '8', '--layers', '2', '--width', '64', '--vocab', '300']);
    const even = await overview(open, folderOf);
    assert.doesNotMatch(await main(even).locator('.tokens-legend').first().textContent(), /cut off/);
});

test('tokens are counted the same everywhere, those of the prompt too; batches by that word', async ({ open }) => {
    const v = await overview(open, withSlowToken());
    const { batches } = await v.api('traces/0/summary');
    const tokens = batches.n_tokens.reduce((a, b) => a + b, 0);
    const n = batches.batch_id.length;
    assert.ok(tokens > n);
    const words = `${tokens} tokens in ${n} batches`;
    assert.ok((await main(v).locator('.tokens h3').textContent()).startsWith(words));
    assert.ok((await v.page.locator('.scrubber-readout').textContent()).includes(`All ${words}`));
    const figureOf = (name) => inspector(v).locator('.figure', { has: v.page.getByText(name, { exact: true }) }).locator('dd').textContent();
    assert.equal(await figureOf('Tokens'), `${tokens}: 8 prompt, 60 generated`);
    assert.equal(await figureOf('Batches'), String(n));
    const { layers } = await v.api('traces/0/experts');
    assert.ok(layers.every((l) => l.n_tokens === tokens), 'Experts counts them so, too');
});

test('figures have thousands separators; no number is parted from its unit', async ({ open }) => {
    const v = await overview(open, withSlowToken(), { viewport: { width: 1440, height: 900 }, fragment: 'token=29' });
    const { generate, prompt } = said('info', withSlowToken());
    const grouped = (n) => Math.round(n).toLocaleString('en');
    assert.ok(generate.tokens_per_s > 1000 && prompt.tokens_per_s > 100_000);
    const tiles = await main(v).locator('.tile dd').allTextContents();
    assert.deepEqual(tiles.slice(0, 2), [generate, prompt].map((p) => `${grouped(p.tokens_per_s)} tokens/s`));
    const text = (await main(v).innerText()) + (await inspector(v).innerText());
    assert.doesNotMatch(text, /(?<![\d.,#])\d{5,}(\.\d+)? (tokens|us|ms|ops|KiB|B)\b/);
    await inspector(v).getByRole('region', { name: 'Why' }).locator('.unit').first().waitFor();
    // Where a line ends, by the text's own boxes, at every width of the inspector.
    for (const width of [220, 260, 300, 340, 420]) {
        await v.page.evaluate((px) => document.querySelector('.inspector').style.setProperty('flex-basis', `${px}px`), width);
        const parted = await v.page.evaluate(() => {
            const found = [];
            for (const root of document.querySelectorAll('.inspector, #main h2, #main .findings, #main .slow, #main .tiles')) {
                const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
                for (let node = walker.nextNode(); node; node = walker.nextNode())
                    for (const m of node.data.matchAll(/\d[\d.,]* (?:ns|us|ms|s|KiB|MiB|B|%)(?![\w/])/g)) {
                        const range = document.createRange();
                        range.setStart(node, m.index);
                        range.setEnd(node, m.index + m[0].length);
                        const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
                        if (lines.size > 1) found.push(m[0]);
                    }
            }
            return found;
        });
        assert.deepEqual(parted, [], `at ${width} px`);
    }
});

test('waiting of several threads is said to be of several; a layer has a why, too', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'token=3&layer=1' });
    const { total } = await v.api('traces/0/stats?by=op&limit=1&batch=3');
    assert.ok(total.wait_ns > 0);
    const token = inspector(v).getByRole('region', { name: 'Token', exact: true });
    await v.until(async () => / \(2 threads\' sum\)/.test((await token.locator('.figure', { hasText: /^At barriers/ }).textContent()) ?? ''), 'of two threads');
    const why = said('why', trace('moe'), '--layer', '1', '--token', '3');
    const layer = inspector(v).getByRole('region', { name: 'Layer', exact: true });
    await layer.getByRole('region', { name: 'Why' }).getByText(why.text[0]).waitFor();
    for (const part of [token, layer]) {
        await part.getByRole('button', { name: 'Stats', exact: true }).click();
        await v.untilFragment('view', 'stats');
        await v.show('token=3&layer=1');
    }
});

test('the pictures are of this trace, and open their views', async ({ open }) => {
    const v = await overview(open, 'moe');
    const thumbs = v.page.getByRole('navigation', { name: 'Views as pictures' });
    const names = ['Memory', 'Timeline', 'Graph', 'Log', 'Experts', 'Buffers', 'Stats'];
    const ink = () => thumbs.locator('canvas').evaluateAll((all) => all.map((c) => {
        const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
        let n = 0;
        for (let i = 3; i < data.length; i += 4) n += data[i] > 0;
        return n;
    }));
    await v.until(async () => (await ink()).length === names.length && (await ink()).every((n) => n > 300), 'all are drawn');
    for (const name of names) {
        await thumbs.getByRole('button', { name: new RegExp(`^${name}:`) }).click();
        await v.untilFragment('view', name.toLowerCase());
        await v.press('Digit0');
        await v.untilFragment('view', null);
        await answered(v);
    }
    // A model without experts has no picture of them, a trace with values one.
    const dense = await overview(open, 'nan');
    const other = dense.page.getByRole('navigation', { name: 'Views as pictures' });
    await other.getByRole('button', { name: /^Values:/ }).waitFor();
    await dense.until(async () => (await other.getByRole('button', { name: /^Experts:/ }).count()) === 0, 'no experts');
});

test('what was not recorded comes with the command that records it', async ({ open }) => {
    const v = await overview(open, 'tiny');
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: v.server.origin });
    const footer = v.page.getByRole('contentinfo', { name: 'Not recorded' }).or(main(v).locator('footer'));
    const { not_recorded: missing } = await v.api('traces/0/overview');
    const options = missing.map((m) => m.option);
    assert.ok(options.includes('--faults=both') && options.includes('--residency'));
    for (const m of missing) assert.ok((await footer.first().textContent()).includes(m.what));
    const clipboard = () => v.page.evaluate(() => navigator.clipboard.readText());
    await footer.first().getByRole('button', { name: '--faults=both' }).click();
    // The program of this trace, as the recorder noted it, into another file.
    const { environment } = said('info', trace('tiny'));
    const program = environment.command.slice(environment.command.indexOf(' runner ') + ' runner '.length);
    await v.until(async () => (await clipboard()) === `tensortrace run --faults=both -o tiny-2.ttrace ${program}`, 'the command is copied');
    await footer.first().getByRole('button', { name: 'Copy the command with all' }).click();
    await v.until(async () => (await clipboard()) === `tensortrace run ${[...new Set(options)].filter(Boolean).join(' ')} -o tiny-2.ttrace ${program}`, 'with all options');
    // What this one had is recorded again.
    const moe = await overview(open, 'moe');
    await moe.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: moe.server.origin });
    await main(moe).locator('footer').getByRole('button', { name: '--values=stats' }).click();
    await moe.until(() => moe.page.evaluate(async () => (await navigator.clipboard.readText()).startsWith('tensortrace run --faults=both --residency --values=stats -o moe-2.ttrace -m moe.gguf ')), 'with the options of this one');
    // `run` has them.
    const help = execFileSync(process.env.TT_BIN, ['run', '--help'], { encoding: 'utf8' });
    for (const option of options.filter(Boolean)) assert.ok(help.includes(option.split('=')[0]), option);
});

test('0 and the backquote open it from every view, and Shift+0 shows all there', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=memory&token=2' });
    for (const view of ['memory', 'timeline', 'graph', 'log', 'experts', 'buffers', 'stats', 'values', 'diff'])
        for (const key of ['Digit0', 'Backquote']) {
            await v.show(`view=${view}&token=2`);
            await v.untilFragment('view', view);
            await v.ready();
            await v.press(key);
            await v.untilFragment('view', null);
            assert.equal(v.fragment().get('token'), '2');
        }
});

test('ggml alone, cut off, hostile: nothing is claimed that is not known', async ({ open }) => {
    const raw = await overview(open, 'raw');
    const text = await main(raw).textContent();
    assert.match(text, /No tokens were recorded/);
    for (const title of ['Generated', 'Prompt', 'First token', 'Weights a token'])
        assert.match(await main(raw).locator('.tile').filter({ has: raw.page.getByText(title, { exact: true }) }).locator('dd').textContent(), /^not known\S/, 'with the reason');
    assert.equal(await main(raw).locator('.tokens canvas').count(), 0);
    const cut = await overview(open, 'cut');
    await main(cut).getByRole('heading', { name: 'Nothing could be read from the ops' }).waitFor();
    assert.match(await main(cut).textContent(), /tensortrace recover cut\.ttrace/);
    assert.equal(await main(cut).getByRole('region', { name: 'Where the time went' }).count(), 0);
    const hostile = await overview(open, 'hostile');
    await hostile.rest();
    assert.ok((await main(hostile).locator('.tile').count()) === 5);
});

test('the first picture does not wait for the ops: speed and tokens are there before the answer', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=log' });
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await v.page.route('**/traces/0/overview', async (route) => {
        await held;
        await route.continue();
    });
    await v.press('Digit0');
    await main(v).locator('.tokens canvas').waitFor();
    const { generate } = said('info', trace('tiny'));
    const text = await main(v).locator('.tile', { hasText: 'Generated' }).locator('dd').textContent();
    assert.ok(Math.abs(figure(text) - generate.tokens_per_s) < generate.tokens_per_s / 100, text);
    await main(v).getByText('Reading the ops').waitFor();
    release();
    await answered(v);
});

for (const [width, height] of [[1440, 900], [1024, 700], [390, 844]])
    for (const theme of ['dark', 'light'])
        test(`axe-core finds nothing at ${width}x${height}, ${theme}`, async ({ open }) => {
            const v = await overview(open, 'moe', { viewport: { width, height }, theme, fragment: width < 900 ? 'inspector=0' : 'token=6' });
            await v.rest();
            await v.page.evaluate(axeSource);
            const found = await v.page.evaluate(async () => {
                const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
                return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)} ${node.any.map((each) => each.message).join('; ')}`));
            });
            assert.deepEqual(found, []);
            const wide = await main(v).evaluate((e) => e.scrollWidth - e.clientWidth);
            assert.ok(wide <= 0, 'nothing is scrolled sideways');
        });
