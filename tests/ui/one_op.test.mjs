// One op over the tokens: the distribution is that of the log's rows, the selected one is marked, the
// longest are listed and can be selected.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function logged(name, ...options) {
    const text = execFileSync(process.env.TT_BIN, ['log', '--json', ...options, trace(name)], { maxBuffer: 1 << 28 });
    return JSON.parse(text).ops;
}

const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1, `${what}: ${a}, and ${b}`);
/** Nearest rank. */
const quantile = (sorted, share) => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];

test('the figures are those of the log', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=stats&stats_show=op' });
    await v.page.getByText('No op is selected').waitFor();
    const first = (await v.api('traces/0/log/rows?tensor=blk.1.ffn_down_exps.weight&n=1&batch=3&batch_to=3'));
    const [op] = first.ops;
    for (const phase of ['any', 'generate']) {
        const rows = logged('moe', ...(phase === 'any' ? [] : ['--phase', phase])).filter((o) => o.name === op.name && o.op === op.op);
        const sorted = rows.map((o) => o.duration_ns).sort((a, b) => a - b);
        assert.ok(sorted.length > 5);
        const t = await v.api(`traces/0/op/times?run=${first.run[0]}&node=${op.node}&phase=${phase}`);
        assert.equal(t.count, sorted.length);
        near(t.median_ns, quantile(sorted, 0.5), 'median');
        near(t.p95_ns, quantile(sorted, 0.95), 'p95');
        near(t.max_ns, sorted.at(-1), 'longest');
        near(t.own_ns, op.duration_ns, 'the wanted one');
        assert.equal(t.longer, sorted.filter((x) => x > op.duration_ns).length);
        assert.equal(t.bars.count.reduce((a, b) => a + b), sorted.length);
        t.bars.count.forEach((n, i) => {
            const isLast = i === t.bars.count.length - 1;
            const inside = sorted.filter((x) => x >= t.bars.from_ns[i] + 1 && (isLast || x < t.bars.to_ns[i] - 1)).length;
            assert.ok(n >= inside, `bar ${i}: ${n}, and ${inside}`);
        });
        assert.deepEqual(t.times.batch_id, rows.map((o) => o.batch_id));
        const few = await v.api(`traces/0/op/times?run=${first.run[0]}&node=${op.node}&phase=${phase}&limit=2`);
        few.times.time_ns.sort((a, b) => b - a).forEach((x, i) => near(x, sorted.at(-1 - i), `longest ${i}`));
    }
});

test('the selected op is said and marked, and a row selects another token', async ({ open }) => {
    const v = await open(['moe'], { fragment: 'view=stats&stats_show=op&tensor=blk.1.ffn_down_exps.weight&token=3' });
    const name = logged('moe', '--tensor', 'blk.1.ffn_down_exps.weight', '--batch', '3')[0].name;
    await v.page.locator('.stats-words').getByText(name, { exact: true }).waitFor();
    const rows = logged('moe').filter((o) => o.name === name).sort((a, b) => b.duration_ns - a.duration_ns);
    const table = v.page.getByRole('grid', { name: /the longest first$/ });
    await table.locator('[aria-rowindex="2"]').click();
    await v.untilFragment('token', String(rows[0].batch_id));
    await v.until(async () => /The selected one took .* 0 others took longer/.test(await v.page.locator('.stats-words').textContent()), 'it is the longest');
    assert.equal(await table.locator('[aria-rowindex="2"]').getAttribute('aria-selected'), 'true');
    await v.page.reload();
    await v.ready();
    await v.until(async () => /0 others took longer/.test(await v.page.locator('.stats-words').textContent()), 'a reload restores it');
    await v.page.locator('.stats-histogram .canvas-proxy').focus();
    await v.press('ArrowRight');
    await v.until(async () => /: \d+ times?, /.test(await v.page.locator('.stats-histogram .canvas-proxy').getAttribute('aria-label')), 'a bar is read out');
});
