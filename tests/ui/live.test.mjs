// A real run that is watched while it goes on: from before its file is there to its end.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite } from './harness.mjs';

const { test } = suite();

test('a run is followed from its begin to its end', async ({ open, newRun }) => {
    const run = newRun();
    const v = await open([run.path], { args: ['--live'], ready: false });
    v.allow(/503/);
    await v.page.getByText('Waiting for the trace').waitFor();
    run.begin();
    await v.page.getByText('Still recording:').waitFor();
    const first = await v.api('traces/0/state');
    assert.equal(first.state, 'live');
    assert.match(first.reading, /run\.ttrace\.part$/);
    await v.until(async () => (await v.api('traces/0/state')).generation > first.generation, 'it grows');
    // What goes on is not whole, and that is no flaw of it.
    const view = v.page.locator('#main .findings');
    await view.waitFor();
    await v.until(async () => (await v.api('traces/0/overview')).findings.some((f) => f.kind === 'cut'), 'the trace is not whole yet');
    assert.doesNotMatch(await view.innerText(), /not whole/);
    await run.end();
    await v.page.getByText('Still recording:').waitFor({ state: 'hidden' });
    const last = await v.api('traces/0/state');
    assert.equal(last.state, 'ended');
    assert.equal(last.complete, true);
    assert.match(last.reading, /run\.ttrace$/);
    const { batches, problems } = await v.api('traces/0/summary');
    const info = JSON.parse(execFileSync(process.env.TT_BIN, ['info', '--json', '--brief', run.path], { maxBuffer: 64 << 20 }));
    assert.equal(batches.batch_id.length, info.counts.batches);
    assert.deepEqual(problems, []);
});

test('an op is there soon after its end, for as long as the run goes on', async ({ serve, newRun, t }) => {
    const run = newRun();
    run.begin();
    const server = await serve([run.path], ['--live']);
    const { headers } = await fetch(server.url, { redirect: 'manual' });
    const cookie = headers.get('set-cookie').split(';')[0];
    const ask = async (name) => {
        const reply = await fetch(`${server.origin}/api/v1/traces/0/${name}`, { headers: { cookie } });
        return reply.ok ? reply.json() : null;
    };
    let first = null;
    for (const until = Date.now() + 20_000; !first && Date.now() < until; ) {
        [first] = (await ask('log/rows?n=1'))?.ops ?? [];
        await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.ok(first, 'the run has begun');
    // CLOCK_MONOTONIC, as the trace has it and as this program's clock is.
    const zero_ns = first.start_ns - first.start_relative_ns;
    const ages_ms = [];
    for (const until = Date.now() + 8000; Date.now() < until; ) {
        const { end_relative_ns, growing } = await ask('summary');
        assert.ok(growing, 'it goes on');
        ages_ms.push((Number(process.hrtime.bigint()) - zero_ns - end_relative_ns) / 1e6);
        await new Promise((resolve) => setTimeout(resolve, 20));
    }
    ages_ms.sort((a, b) => a - b);
    const [median, most] = [ages_ms[ages_ms.length >> 1], ages_ms.at(-1)];
    const { opening_s, size_bytes } = await ask('state');
    t.diagnostic(`the newest op had ended ${median.toFixed(0)} ms before (median), ${most.toFixed(0)} ms at most; ` +
        `${(size_bytes / 1e6).toFixed(1)} MB are opened in ${(opening_s * 1e3).toFixed(0)} ms`);
    assert.ok(ages_ms[0] > 0, `an op that has not ended yet: ${ages_ms[0]} ms`);
    // A busy machine takes its time; a recorder that writes every 10 s is at 5 s in the median.
    assert.ok(median < 3000, `${median} ms`);
});
