// What the ops put out: the figures are those of `values --json`, NaN is marked wherever it is, and
// of two runs the first output that differs is found.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

/** A command's JSON, whatever it exits with. */
function said(...args) {
    try {
        return JSON.parse(execFileSync(process.env.TT_BIN, args, { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 }));
    } catch (error) {
        return JSON.parse(error.stdout);
    }
}

function values(name, ...args) {
    return said('values', '--json', ...args, trace(name));
}

function heat(v) {
    return v.page.getByRole('application', { name: /^Values of/ });
}

/** As the page writes them: four digits. */
function isNear(text, value) {
    return value === null ? text === 'none' : Math.abs(Number(text) - value) <= 0.00051 * Math.abs(value);
}

/** The rows of the table beside the plot of that title. */
async function profile(v, title) {
    const lines = v.page.getByRole('region', { name: title, exact: true });
    await lines.waitFor();
    return lines.locator('tbody tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((c) => c.textContent)));
}

test('RMS, range and mean are those of the command, over tokens and layers', async ({ open }) => {
    const v = await open(['values'], { fragment: 'view=values&layer=1&token=3' });
    await heat(v).waitFor();
    const { rows } = values('values', '--name', 'l_out-*');
    const check = (cells, row) => {
        for (const [k, key] of [[1, 'rms'], [2, 'min'], [3, 'max'], [4, 'mean']])
            assert.ok(isNear(cells[k], row[key]), `${row.name} of token ${row.batch_id}: ${key} ${cells[k]} is not ${row[key]}`);
    };
    const overTokens = await profile(v, 'Layer 1, over the tokens');
    const ofLayer = rows.filter((r) => r.layer_id === 1);
    assert.equal(overTokens.length, ofLayer.length);
    ofLayer.forEach((row, i) => check(overTokens[i], row));
    const overLayers = await profile(v, 'Token 3, over the layers');
    const ofToken = rows.filter((r) => r.batch_id === 3);
    assert.equal(overLayers.length, 4);
    ofToken.forEach((row, i) => check(overLayers[i], row));
    // Another output of the layer, and another thing that colour tells: in the address.
    await v.page.getByRole('combobox', { name: 'Output' }).selectOption('ffn_up');
    await v.untilFragment('values_place', 'ffn_up');
    const ffn = values('values', '--name', 'ffn_up-1', '--token', '3').rows[0];
    await v.until(async () => isNear((await profile(v, 'Layer 1, over the tokens'))[3][1], ffn.rms), 'the RMS of ffn_up is shown');
    await v.press('KeyM');
    await v.untilFragment('values_by', 'max_abs');
    await v.page.reload();
    await v.ready();
    await v.until(async () => /Values of ffn_up.*largest magnitude/.test((await heat(v).getAttribute('aria-label')) ?? ''), 'the same after a reload');
    await v.press('KeyR');
    await v.untilFragment('values_place', null);
});

test('a cell selects token, layer and op, by mouse and by keyboard; the inspector has the figures', async ({ open }) => {
    const v = await open(['values'], { fragment: 'view=values' });
    await heat(v).focus();
    await v.press('ArrowDown', 'ArrowRight', 'ArrowRight');
    await v.until(async () => (await v.said()).startsWith('layer 1, token 2: RMS'), 'it is said aloud where the keyboard is');
    await v.press('Enter');
    await v.untilFragment('token', '2');
    await v.untilFragment('layer', '1');
    const row = values('values', '--name', 'l_out-1', '--token', '2', '--samples').rows[0];
    await v.untilFragment('op', `${row.run}.${row.op_node}`);
    const part = v.page.getByRole('complementary', { name: 'Inspector' }).getByRole('region', { name: 'Values' });
    await part.waitFor();
    await v.until(async () => (await part.textContent()).includes(row.hash.slice(0, 12)), 'its digest is shown');
    const text = await part.textContent();
    assert.ok(text.includes(row.blake3.slice(0, 12)), text);
    assert.ok(isNear(/RMS([\d.e-]+)Range/.exec(text)[1], row.rms), text);
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: v.server.origin });
    await part.getByRole('button', { name: 'Copy BLAKE3' }).click();
    await v.until(async () => (await v.page.evaluate(() => navigator.clipboard.readText())) === row.blake3, 'the whole digest is copied');
    await part.locator('canvas').waitFor();
    // The mouse reaches another one.
    const box = await v.page.locator('.values-host canvas').last().boundingBox();
    await v.page.mouse.click(box.x + 66 + 10, box.y + 20 + 10);
    await v.untilFragment('token', '0');
    await v.untilFragment('layer', '0');
});

/** With everything that is not a rectangle. */
const TIMELINE = '.tl-body canvas >> nth=1';

/** Pixels of a canvas that have the colour of what is bad. */
async function badPixels(v, selector) {
    return v.page.locator(selector).evaluate((canvas) => {
        const probe = document.createElement('canvas').getContext('2d');
        probe.fillStyle = getComputedStyle(document.documentElement).getPropertyValue('--bad').trim();
        probe.fillRect(0, 0, 1, 1);
        const want = probe.getImageData(0, 0, 1, 1).data;
        const all = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
        let n = 0;
        for (let i = 0; i < all.length; i += 4) n += all[i] === want[0] && all[i + 1] === want[1] && all[i + 2] === want[2] && all[i + 3] === 255;
        return n;
    });
}

test('NaN: where it was made, the list of what has it, and marks in every view', async ({ open }) => {
    const { first, summary } = values('nan', '--first-bad');
    assert.equal(first.output.name, 'ffn_norm-2');
    const v = await open(['nan'], { fragment: 'view=values' });
    // What this test does, the page does not.
    v.allow(/Multiple readback operations/);
    await v.page.getByText('NaN made at ffn_norm-2').waitFor();
    await v.page.getByText(`Outputs with NaN or Inf: ${summary.bad}`).waitFor();
    await v.page.getByText(/The model file itself contains it: blk\.2\.ffn_norm\.weight has 1 NaN, at \[17/).waitFor();
    const sources = v.page.getByRole('list', { name: 'What it was computed from' });
    assert.match(await sources.textContent(), /blk\.2\.ffn_norm\.weight: a weight with 1 NaN in the model file, first at \[17, 0, 0, 0\]/);
    await v.until(async () => (await badPixels(v, '.values-host canvas >> nth=0')) > 100, 'cells with NaN have their colour');
    await v.page.getByRole('button', { name: 'Select it' }).click();
    await v.untilFragment('op', `${first.output.run}.${first.output.op_node}`);
    await v.untilFragment('layer', '2');
    // The graph of that token: as many marks as it has bad outputs.
    const ofToken = values('nan', '--only', 'bad', '--token', String(first.output.batch_id)).rows;
    const ops = new Set(ofToken.map((r) => `${r.run}.${r.op_node}`)).size;
    await v.page.getByRole('button', { name: 'Show it in the graph' }).click();
    await v.page.getByText(`in the output of ${ops} ops`).waitFor();
    await v.until(async () => (await badPixels(v, '.graph-stage canvas')) > 100, 'boxes are marked');
    await v.page.locator('.graph-stage').getByText('As a table').click();
    const nodes = v.page.getByRole('grid', { name: /^Nodes and leafs/ });
    await nodes.focus();
    await v.until(async () => {
        await v.press('PageDown');
        return (await nodes.getByText('its output has NaN').count()) > 0;
    }, 'the table says it, too');
    // The timeline.
    await v.press('Digit2');
    await v.page.getByText('NaN or Inf in outputs').waitFor();
    await v.until(async () => (await badPixels(v, TIMELINE)) > 10, 'ops are marked');
});

test('NaN is said above every view, and on the tab; the way leads to the first', async ({ open }) => {
    const { first, summary } = values('nan', '--first-bad');
    const v = await open(['nan', 'values']);
    const banner = v.page.getByRole('region', { name: 'NaN or Inf in outputs' });
    const tab = v.page.getByRole('tab', { name: /Values/ });
    for (const view of ['memory', 'timeline', 'graph', 'log', 'experts', 'buffers', 'stats', 'diff']) {
        await v.show(`view=${view}`);
        await banner.waitFor();
        const text = await banner.textContent();
        assert.ok(text.includes(`${summary.bad} outputs`), `${view}: ${text}`);
        assert.ok(text.includes(`token ${first.output.batch_id}`) && text.includes(`layer ${first.output.layer_id}`), text);
        assert.equal(await tab.getByRole('img', { name: 'NaN or Inf' }).count(), 1);
    }
    const colour = await banner.evaluate((e) => getComputedStyle(e).borderLeftColor);
    const bad = await v.page.evaluate(() => {
        const e = document.createElement('i');
        e.className = 'failure';
        const probe = document.body.appendChild(e);
        probe.style.color = 'var(--bad)';
        const found = getComputedStyle(probe).color;
        probe.remove();
        return found;
    });
    assert.equal(colour, bad, 'it is red');
    await banner.getByRole('button', { name: 'Show where it begins' }).click();
    await v.untilFragment('view', 'values');
    assert.equal(v.fragment().get('op'), `${first.output.run}.${first.output.op_node}`);
    assert.equal(await banner.count(), 0, 'that view has its own');
    // Of another trace it is not said, and hidden it stays.
    await v.show('view=log&trace=1');
    await v.page.getByRole('row').nth(3).waitFor();
    await v.rest();
    assert.equal(await banner.count() + (await tab.getByRole('img').count()), 0);
    await v.show('view=log');
    await banner.getByRole('button', { name: 'Hide' }).click();
    await v.press('Digit7');
    await v.untilFragment('view', 'stats');
    assert.equal(await banner.count(), 0);
});

test('without NaN nothing is marked', async ({ open }) => {
    const v = await open(['values'], { fragment: 'view=values' });
    v.allow(/Multiple readback operations/);
    await v.page.getByText('All finite.').waitFor();
    assert.equal(await v.page.getByRole('region', { name: 'Outputs with NaN or Inf' }).count(), 0);
    await v.press('Digit2');
    await v.rest();
    assert.equal(await badPixels(v, TIMELINE), 0);
    assert.equal(await v.page.getByText('NaN or Inf in outputs').count(), 0);
});

test('a trace without values says how they are recorded', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=values&op=3.3' });
    await v.page.getByRole('heading', { name: 'This trace has no values' }).waitFor();
    assert.match(await v.page.locator('main').textContent(), /tensortrace run --values=stats/);
    assert.equal(await v.page.getByRole('complementary', { name: 'Inspector' }).getByRole('region', { name: 'Values' }).count(), 0);
});

test('two runs: the first output that differs is found and selected', async ({ open }) => {
    const diff = said('diff', '--values', '--json', trace('values'), trace('off'));
    assert.equal(diff.verdict, 'differs');
    assert.equal(diff.first.a.name, 'ffn_norm-1');
    assert.equal(diff.first.blame, 'own');
    const v = await open(['values', 'off'], { fragment: 'view=diff' });
    await v.page.locator('.diff-verdict').waitFor();
    await v.press('KeyV');
    await v.untilFragment('diff_what', 'values');
    await v.page.getByText(diff.text).waitFor();
    const counts = await v.page.getByRole('list', { name: 'Number of values' }).textContent();
    for (const verdict of ['equal', 'differs']) assert.ok(counts.includes(`${diff.counts[verdict]} ${verdict}`), counts);
    const own = v.page.getByRole('grid', { name: /^Values that are not equal/ }).getByRole('row').nth(1);
    assert.match(await own.textContent(), /ffn_norm/);
    assert.match(await own.textContent(), /own error/);
    await v.page.getByRole('button', { name: 'Go to the first difference' }).click();
    await v.untilFragment('layer', '1');
    await v.untilFragment('token', String(diff.first.a.batch_id));
    await v.until(() => v.fragment().get('op') !== null, 'its op is selected');
    const [run, node] = v.fragment().get('op').split('.');
    const op = await v.api(`traces/0/op?run=${run}&node=${node}`);
    assert.ok(op.nodes.includes('ffn_norm-1'), op.nodes.join());
    // The errors by layer, in the table beside the plot: before the change there are none.
    const depth = v.page.locator('.diff-depths .equivalent').first().locator('tbody tr');
    const errors = await depth.evaluateAll((rows) => Object.fromEntries(rows.map((row) => [row.children[0].textContent, row.children[2].textContent])));
    assert.equal(errors['0'], '0');
    for (const row of diff.layers.filter((r) => r.layer >= 1))
        assert.ok(Math.abs(Number(errors[row.layer]) - row.rel_l2) <= 0.06 * row.rel_l2, `layer ${row.layer}: ${errors[row.layer]} is not ${row.rel_l2}`);
    // The strip of tokens works by keyboard.
    await v.page.getByRole('application', { name: /^Tokens, by the largest error/ }).focus();
    await v.press('Home');
    await v.untilFragment('token', '0');
    await v.press('ArrowRight');
    await v.untilFragment('token', '1');
});

test('two runs of which one has no values: not equal, not measured', async ({ open }) => {
    const v = await open(['values', 'tiny'], { fragment: 'view=diff&diff_what=values' });
    await v.page.getByText('Not measured:').first().waitFor();
    assert.equal(await v.page.getByText(/All that was compared is equal/).count(), 0);
    assert.equal(await v.page.getByText(/^Equal/).count(), 0);
});
