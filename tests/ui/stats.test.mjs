// The statistics: what the page shows is what the command says, in the table, over the tokens and
// in the roofline.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

/** `tensortrace stats --json`, as people type it. */
function command(name, ...args) {
    return JSON.parse(execFileSync(process.env.TT_BIN, ['stats', '--json', ...args, trace(name)], { encoding: 'utf8' }));
}

const grouped = new Intl.NumberFormat('en');

function grid(v) {
    return v.page.getByRole('grid', { name: /^Time and bytes by/ });
}

/** The rows to be seen, cell by cell. */
async function cells(v) {
    return grid(v).locator('.vt-body [role=row]').evaluateAll((rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent)));
}

async function untilCells(v, check, what) {
    let seen;
    await v.until(async () => {
        seen = await cells(v);
        return check(seen);
    }, what);
    return seen;
}

/** The key, the count and the share of each row, as the page writes them. */
function expected(stats, key) {
    return stats.rows.map((r) => [String(r[key] ?? 'no layer'), grouped.format(r.count), r.share]);
}

function agrees(seen, stats, key) {
    const want = expected(stats, key);
    return (
        seen.length >= Math.min(want.length, 10) &&
        seen.every(([name, share, , count], i) => {
            const [wantName, wantCount, wantShare] = want[i] ?? [];
            return name === wantName && count === wantCount && Math.abs(parseFloat(share) / 100 - wantShare) < 0.0006;
        })
    );
}

test('each table is that of the command', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats' });
    const keys = { op: 'op', layer: 'layer_id', component: 'component', category: 'category', tensor: 'tensor', thread: 'thread_id', token: 'batch_id', phase: 'phase' };
    for (const [by, key] of Object.entries(keys)) {
        await v.page.getByRole('combobox', { name: 'Sum up by' }).selectOption(by);
        const stats = command('tiny', '--by', by);
        await untilCells(v, (seen) => agrees(seen, stats, key), `the table by ${by} is that of the command`);
    }
});

test('the selection filters, in words, and can be taken back', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&token=2&layer=1' });
    await untilCells(v, (seen) => agrees(seen, command('tiny', '--token', '2', '--layer', '1'), 'op'), 'token 2 of layer 1 is shown');
    await v.page.getByRole('button', { name: 'Remove the filter: layer 1' }).click();
    await v.untilFragment('layer', null);
    await untilCells(v, (seen) => agrees(seen, command('tiny', '--token', '2'), 'op'), 'token 2 is shown');
    // The next token, from anywhere.
    await v.press('KeyN');
    await untilCells(v, (seen) => agrees(seen, command('tiny', '--token', '3'), 'op'), 'token 3 is shown');
    await v.press('Escape');
    await untilCells(v, (seen) => agrees(seen, command('tiny'), 'op'), 'everything is shown');
});

test('a selected time leaves the ops with some time in it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats' });
    const all = (await v.api('traces/0/stats')).total.count;
    // Up to the third batch: how long that took, the machine decides.
    const to = Math.floor((await v.api('traces/0/summary')).batches.start_relative_ns[2]);
    await v.show(`view=stats&time=0~${to}`);
    await v.page.getByRole('button', { name: /Remove the filter: ops with some time from/ }).waitFor();
    const some = (await v.api(`traces/0/stats?from_ns=0&to_ns=${to}`)).total.count;
    assert.ok(some > 0 && some < all, `${some} of ${all}`);
    await v.until(async () => (await v.page.locator('.stats-foot').textContent()).startsWith(`${grouped.format(some)} op`), 'so many ops are said');
});

test('a row selects, and the other views have it', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&stats_by=tensor' });
    const first = command('tiny', '--by', 'tensor').rows.find((r) => r.tensor.startsWith('blk.'));
    await grid(v).getByText(first.tensor, { exact: true }).click();
    await v.untilFragment('tensor', first.tensor);
    await v.untilFragment('layer', first.tensor.split('.')[1]);
    // A reload brings back the same.
    await v.page.reload();
    await v.ready();
    await v.until(async () => (await grid(v).locator('[aria-selected=true]').count()) === 1, 'the row is selected after a reload');
    assert.match(await grid(v).locator('[aria-selected=true]').textContent(), new RegExp(first.tensor.replaceAll('.', '\\.')));
});

test('by the keyboard: sorted, moved, chosen', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&stats_by=layer' });
    await grid(v).getByRole('button', { name: 'Wait', exact: true }).focus();
    await v.press('Enter');
    await v.untilFragment('stats_sort', '-wait_ns');
    const stats = command('tiny', '--by', 'layer', '--sort', 'wait');
    const seen = await untilCells(v, (rows) => rows[0]?.[0] === String(stats.rows[0].layer_id ?? 'no layer'), 'the layer that waited most is first');
    await grid(v).focus();
    await v.press('ArrowDown', 'Enter');
    await v.untilFragment('layer', seen[1][0] === 'no layer' ? null : seen[1][0]);
    await v.press('Escape', 'BracketRight');
    await v.untilFragment('stats_by', 'component');
});

test('over the tokens: figures of the API, a click and a key select a token', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&stats_show=tokens&stats_by=category' });
    const proxy = v.page.getByRole('application', { name: /^Share of the time by category/ });
    await proxy.waitFor();
    const series = await v.api('traces/0/series?by=category&limit=7&points=400');
    await v.page.getByText('As a table').click();
    const table = await v.page.locator('.stats-plot table tr').evaluateAll((rows) => rows.map((row) => [...row.children].map((c) => c.textContent)));
    assert.deepEqual(table[0].slice(1), series.rows.map((r) => r.category));
    assert.equal(table.length, series.first_batch_id.length + 1);
    for (const [i, r] of series.rows.entries())
        for (const t of [0, series.first_batch_id.length - 1])
            assert.ok(Math.abs(parseFloat(table[t + 1][i + 1]) / 100 - r.total_ns[t] / series.all.total_ns[t]) < 0.0006, `${r.category} of token ${t}`);
    await v.page.getByText('As a table').click();
    await proxy.focus();
    await v.press('End');
    await v.untilFragment('token', String(series.first_batch_id.at(-1)));
    await v.press('ArrowLeft');
    await v.untilFragment('token', String(series.first_batch_id.at(-2)));
    const box = await v.page.locator('.u-over').boundingBox();
    await v.page.mouse.click(box.x + 3, box.y + box.height / 2);
    await v.untilFragment('token', String(series.first_batch_id[0]));
    await v.page.getByRole('button', { name: /^attention/ }).click();
    await v.untilFragment('stats_group', 'attention');
});

test('the roofline measures the machine only when asked', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&stats_show=roofline' });
    await v.page.getByText('The limits are unknown: measure them on request').waitFor();
    assert.equal((await v.api('machine')).measured, null);
    assert.equal(await v.page.locator('.edge').count(), 0);
    assert.ok((await v.page.locator('.mark').count()) > 3);
    await v.page.getByRole('button', { name: 'Measure this machine' }).click();
    await v.until(async () => (await v.page.locator('.edge').count()) > 0, 'the edges are drawn');
    assert.ok((await v.api('machine')).measured.bandwidth_bytes_per_s > 1e8);
});

test('rows are copied as the command names them', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: v.server.origin });
    await v.page.getByRole('button', { name: 'Copy TSV' }).click();
    const stats = command('tiny');
    let text = '';
    await v.until(async () => {
        text = await v.page.evaluate(() => navigator.clipboard.readText());
        return text !== '';
    }, 'something is in the clipboard');
    const [head, ...rows] = text.trimEnd().split('\n').map((line) => line.split('\t'));
    assert.equal(head[0], 'op');
    assert.equal(rows.length, stats.rows.length);
    assert.equal(rows[0][head.indexOf('total_ns')], String(stats.rows[0].total_ns));
});

test('hostile names are text', async ({ open }) => {
    const v = await open(['hostile'], { fragment: 'view=stats&stats_by=tensor' });
    await grid(v).waitFor();
    await v.press('BracketRight');
    await v.page.getByRole('button', { name: 'Over tokens' }).click();
    assert.equal(await v.page.locator('main script, main img, main iframe').count(), 0);
});

test('a filter that leaves nothing says so', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=stats&token=0&time=900000000000~900000000001' });
    await v.page.getByRole('heading', { name: 'No ops match' }).waitFor();
});
