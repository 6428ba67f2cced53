// The buffers: the peak and the lives that the command tells, and what a click selects.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, trace } from './harness.mjs';

const { test } = suite();

function command(name) {
    return JSON.parse(execFileSync(process.env.TT_BIN, ['buffers', '--json', trace(name)], { encoding: 'utf8' }));
}

function grid(v) {
    return v.page.getByRole('grid', { name: 'Buffers of the engine' });
}

function bytes(n) {
    const units = ['B', 'KiB', 'MiB', 'GiB'];
    let i = 0;
    for (; n >= 1024 && i < 3; i++) n /= 1024;
    return i ? `${n.toFixed(n >= 100 ? 0 : n >= 10 ? 1 : 2)} ${units[i]}` : `${n} B`;
}

test('the list and the peak are those of the command', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=buffers' });
    const said = command('tiny');
    await grid(v).waitFor();
    const rows = await grid(v).locator('.vt-body [role=row]').evaluateAll((list) => list.map((row) => [...row.children].map((c) => c.textContent)));
    const want = [...said.buffers].sort((a, b) => a.allocated_relative_ns - b.allocated_relative_ns);
    assert.deepEqual(rows.map((r) => [r[0], r[1], r[3], r[7]]), want.map((b) => [String(b.buffer_id), b.name, bytes(b.size_bytes), bytes(b.used_bytes)]));
    assert.match(await v.page.locator('.buffers-head').textContent(), new RegExp(`Most allocated: ${bytes(said.peak.allocated.size_bytes)}`));
    // Without mappings, what made the peak is what the command lists.
    await v.page.getByRole('checkbox', { name: /with mapped files/ }).uncheck();
    const made = await v.page.locator('.buffers-lived li .buffers-line-name').allTextContents();
    assert.deepEqual(made.map((t) => Number(t.trim().split(' ')[0])).sort((a, b) => a - b), said.peak.allocated.buffer_ids);
});

test('the plot says its figures, and steps by the keyboard', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=buffers' });
    const curve = await v.api('traces/0/buffers_curve');
    const proxy = v.page.getByRole('application', { name: /^Memory of the engine/ });
    await proxy.focus();
    await v.press('Home');
    await v.untilFragment('buffers_at', String(curve.time_relative_ns[0]));
    await v.press('Period');
    await v.untilFragment('buffers_at', String(curve.time_relative_ns[1]));
    const all = curve.series.reduce((sum, s) => sum + s.size_bytes[1], 0);
    assert.match(await proxy.getAttribute('aria-label'), new RegExp(`${bytes(all)} in all`));
    await v.page.getByText('As a table').click();
    assert.equal(await v.page.locator('.buffers-plot tbody tr').count(), curve.time_relative_ns.length);
    await v.page.getByText('As a table').click();
    await v.page.getByRole('button', { name: 'Back to the peak' }).click();
    await v.untilFragment('buffers_at', null);
});

test('a buffer becomes the selected region, a drag the selected time', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=buffers' });
    const { buffers } = await v.api('traces/0/buffers');
    const kv = buffers.find((b) => b.kind === 'kv_cache');
    await grid(v).locator('.vt-body [role=row]', { hasText: 'KV cache' }).click();
    await v.untilFragment('region', `buffer${kv.buffer_index}:0-${kv.size_bytes}`);
    await v.page.reload();
    await v.ready();
    await v.until(async () => (await grid(v).locator('[aria-selected=true]').count()) === 1, 'it is selected after a reload');
    const box = await v.page.locator('.buffers-host').boundingBox();
    await v.page.mouse.move(box.x + box.width / 2, box.y + 40);
    await v.page.mouse.down();
    await v.page.mouse.move(box.x + box.width / 2 + 60, box.y + 40, { steps: 4 });
    await v.page.mouse.up();
    await v.until(() => v.fragment().get('time') !== null, 'a time is selected');
    const [from, to] = v.fragment().get('time').split('~').map(Number);
    assert.ok(to > from);
    await v.until(async () => (await v.page.locator('.buffers-band').count()) > 0, 'the rows show the time as a band');
    // The same time filters elsewhere.
    await v.press('Digit7');
    await v.page.getByRole('button', { name: /Remove the filter: ops with some time from/ }).waitFor();
    await v.press('Escape');
    await v.untilFragment('time', null);
    await v.untilFragment('region', null);
});

test('zooms and shows all again', async ({ open }) => {
    const v = await open(['tiny'], { fragment: 'view=buffers', reducedMotion: true });
    // Not how long the first one is: it may live all the time, and be as wide as its cell in any part of it.
    const begins = async () => (await grid(v).locator('.buffers-bar').evaluateAll((bars) => bars.map((bar) => bar.getAttribute('style')))).map((style) => parseFloat(style.match(/left: ([-\d.e]+)%/)[1]));
    const before = await begins();
    const moved = async () => { const now = await begins(); return now.length !== before.length || now.some((left, i) => Math.abs(left - before[i]) > 0.002); };
    assert.ok(before.length > 1);
    await v.page.locator('main').focus();
    await v.hold('KeyW', () => v.until(moved, 'the axis moved'));
    await v.press('Shift+Digit0');
    await v.until(async () => !(await moved()), 'all is shown');
});

test('a trace cut off and hostile names are shown', async ({ open }) => {
    for (const name of ['cut', 'hostile']) {
        const v = await open([name], { fragment: 'view=buffers' });
        await v.until(async () => (await grid(v).count()) > 0 || (await v.page.locator('main .message h2').count()) > 0, `${name} is shown`);
        assert.equal(await v.page.locator('main script, main img').count(), 0);
    }
});
