// What passes at the second try only is written down, for the last lines of scripts/check.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from './harness.mjs';

const { test } = suite();

test('a second try is named, with what failed at the first', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tensortrace-retry-'));
    try {
        const file = join(folder, 'odd.test.mjs');
        const retries = join(folder, 'retries');
        writeFileSync(
            file,
            `import { suite } from ${JSON.stringify(new URL('harness.mjs', import.meta.url).href)};
             const { test } = suite();
             let tries = 0;
             test('steady', async () => {});
             test('now and then', async () => {
                 if (++tries === 1) throw new Error('too early\\nand more');
             });`,
        );
        // As a run of its own, not as a part of this one.
        const { NODE_TEST_CONTEXT, ...env } = process.env;
        execFileSync(process.execPath, [file], { env: { ...env, TT_RETRIES: retries } });
        assert.equal(readFileSync(retries, 'utf8'), 'ui.odd "now and then": too early\n');
    } finally {
        rmSync(folder, { recursive: true });
    }
});
