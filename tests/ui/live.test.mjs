// A real run that is watched while it goes on: from before its file is there to its end.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from './harness.mjs';

const { test } = suite();

/** A run that goes on until it is interrupted. */
function record(path) {
    const child = spawn(
        process.env.TT_BIN,
        ['run', '-q', '-o', path, '--engine', join(process.env.TT_ENGINES, 'v0.5.0'), '-m',
            join(process.env.TT_TRACES, 'tiny.gguf'), '-p', 'Once upon a time', '-n', '15000', '-c', '16384',
            '-t', '1', '--ignore-eos'],
        { stdio: ['ignore', 'ignore', 'inherit'] },
    );
    return { child, ended: new Promise((resolve) => child.once('exit', (code, signal) => resolve(signal ?? code))) };
}

test('a run is followed from its begin to its end', async ({ open, t }) => {
    const folder = mkdtempSync(join(tmpdir(), 'tt-live-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const path = join(folder, 'run.ttrace');
    const v = await open([path], { args: ['--live'], ready: false });
    v.allow(/503/);
    await v.page.getByText('Waiting for the trace').waitFor();
    const run = record(path);
    t.after(() => run.child.kill('SIGKILL'));
    await v.page.getByText('Still recording:').waitFor();
    const first = await v.api('traces/0/state');
    assert.equal(first.state, 'live');
    assert.match(first.reading, /run\.ttrace\.part$/);
    await v.until(async () => (await v.api('traces/0/state')).generation > first.generation, 'it grows');
    run.child.kill('SIGINT');
    await run.ended;
    await v.page.getByText('Still recording:').waitFor({ state: 'hidden' });
    const last = await v.api('traces/0/state');
    assert.equal(last.state, 'ended');
    assert.equal(last.complete, true);
    assert.match(last.reading, /run\.ttrace$/);
    const { batches, problems } = await v.api('traces/0/summary');
    const info = JSON.parse(execFileSync(process.env.TT_BIN, ['info', '--json', '--brief', path], { maxBuffer: 64 << 20 }));
    assert.equal(batches.batch_id.length, info.counts.batches);
    assert.deepEqual(problems, []);
});
