// Ten questions that people come with, each answered in at most three actions from opening the page. The
// answers are those of the commands.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import { suite, trace } from './harness.mjs';

const { test } = suite();

const folder = mkdtempSync(join(tmpdir(), 'tt-tasks-'));
after(() => rmSync(folder, { recursive: true }));

/** A command's JSON; some exit with 1 for what they found. */
function said(command, ...args) {
    const { stdout } = spawnSync(process.env.TT_BIN, [command, '--json', ...args], { maxBuffer: 1 << 28, encoding: 'utf8' });
    return JSON.parse(stdout);
}

const main = (v) => v.page.locator('#main');
const inspector = (v) => v.page.getByRole('complementary', { name: 'Inspector' });

/** A page on which each step is one action of a person, of which there are three at most. */
async function opened(open, names, options) {
    const v = await open(names, options);
    let actions = 0;
    return {
        v,
        async act(action) {
            await action();
            actions++;
            assert.ok(actions <= 3, `${actions} actions`);
        },
    };
}

/** The text of an element once it matches. */
async function answer(v, locator, pattern) {
    let text = '';
    await v.until(async () => {
        text = ((await locator.count()) > 0 && (await locator.first().textContent())) || '';
        return pattern.test(text);
    }, `there is ${pattern}`).catch((error) => assert.fail(`${error.message}; it says "${text}"`));
    return text;
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

test('1 why is this token slow: the sentence of `why`', async ({ open }) => {
    const path = join(folder, 'slow.ttrace');
    execFileSync(process.env.TT_GENTRACE, ['-o', path, '--tokens', '60', '--layers', '4', '--width', '64', '--vocab', '300', '--experts', '8', '--faults', '--usage']);
    const { slow } = said('why', path);
    const wanted = said('why', '--batch', String(slow[0].batch_id), path);
    const { v, act } = await opened(open, [path]);
    await act(() => main(v).getByRole('button', { name: new RegExp(`^Token ${slow[0].batch_id}, `) }).click());
    for (const sentence of wanted.text) await answer(v, inspector(v), new RegExp(escaped(sentence)));
    assert.ok(wanted.cause !== null);
});

test('2 which experts are cold, and what does it save to evict them', async ({ open }) => {
    const { v, act } = await opened(open, ['moe']);
    await act(() => v.press('Digit5'));
    await act(() => v.page.getByRole('button', { name: 'What to keep' }).click());
    await act(() => v.page.getByRole('slider', { name: /Memory for weights/ }).fill('30'));
    const { touched_bytes } = await v.api('traces/0/whatif?steps=40');
    const size = Math.floor(touched_bytes / 40) * 30;
    const [{ steady_per_token_bytes: again }] = said('whatif', '--unit', 'expert', '--warm', '--policy', 'pin-hot', '--ram', String(size), trace('moe')).results;
    const MIB = 1024 ** 2;
    const about = (bytes) => (bytes < MIB ? `${(bytes / 1024).toPrecision(3)} KiB` : `${(bytes / MIB).toPrecision(3)} MiB`);
    const text = await answer(v, v.page.locator('.experts-keep-answer'), new RegExp(`${escaped(about(touched_bytes - size))}.*${escaped(about(again))}`));
    assert.ok(text.length > 0);
    const never = said('routing', trace('moe')).layers.reduce((sum, l) => sum + l.unused_experts, 0);
    await answer(v, v.page.locator('.experts-keep .experts-notes'), new RegExp(`^${never} expert`));
});

test('3 how much of the model is in RAM at this token', async ({ open }) => {
    const { v, act } = await opened(open, ['moe']);
    await act(() => v.press('Digit1'));
    await act(() => v.page.getByRole('button', { name: 'In RAM', exact: true }).click());
    await act(() => v.press('KeyN'));
    const { batches } = await v.api('traces/0/summary');
    const token = Number(v.fragment().get('token') ?? 0);
    const at = batches.batch_id.indexOf(token);
    assert.ok(at >= 0);
    const text = await answer(v, main(v), /([\d.]+) of ([\d.]+) MiB in RAM/);
    const [, present, all] = /([\d.]+) of ([\d.]+) MiB in RAM/.exec(text).map(Number);
    // The file was just read: all of it is there.
    const [file] = (await v.api('traces/0/summary')).model_files;
    assert.ok(Math.abs(all - file.size_bytes / 1024 ** 2) < 0.06, `${all} of ${file.size_bytes}`);
    assert.ok(present > 0 && present <= all);
});

test('4 where does the access jump: how many reads go on, forward and back', async ({ open }) => {
    const { v, act } = await opened(open, ['tiny']);
    await act(() => v.press('Digit1'));
    await act(() => v.page.getByRole('button', { name: 'Path', exact: true }).click());
    const pattern = /([\d.]+) % of reads continue where the previous one ended, ([\d.]+) % jump forward, ([\d.]+) % back/;
    const shares = pattern.exec(await answer(v, main(v), pattern)).slice(1).map(Number);
    // From read to read, as the command counts them; the window leaves out few of them.
    const { steps } = said('heat', '--count-copies-as-file', trace('tiny')).summary;
    const all = steps.count + steps.other_file;
    for (const [i, count] of [steps.adjacent, steps.forward.count, steps.backward.count].entries())
        assert.ok(Math.abs(shares[i] - (100 * count) / all) < 1, `${shares} of ${JSON.stringify(steps)}`);
});

test('5 is the second run slower: the sentence of `diff`', async ({ open }) => {
    const { v, act } = await opened(open, ['tiny', 'again']);
    await act(() => v.press('Digit9'));
    // It exits with 1 where the second is surely slower.
    const { stdout: text } = spawnSync(process.env.TT_BIN, ['diff', trace('tiny'), trace('again')], { encoding: 'utf8', env: { ...process.env, COLUMNS: '1000' } });
    const change = /([\d.]+ % (?:more|less)|[\d.]+x (?:slower|faster))/.exec(text);
    assert.ok(change, text.slice(0, 400));
    await answer(v, main(v), new RegExp(escaped(change[1])));
});

test('6 where does NaN begin: the op, its layer and token', async ({ open }) => {
    const { v, act } = await opened(open, ['nan']);
    const { first } = said('values', '--first-bad', trace('nan'));
    await answer(v, main(v).locator('.finding').first(), new RegExp(`NaN.*${escaped(first.output.name)}`));
    await act(() => v.page.getByRole('button', { name: 'Show where it begins' }).click());
    await v.untilFragment('op', `${first.output.run}.${first.output.op_node}`);
    await answer(v, main(v), new RegExp(escaped(first.origins?.[0]?.tensor ?? 'blk.2.ffn_norm.weight')));
});

test('7 find blk.3.ffn_down and see it', async ({ open }) => {
    const { v, act } = await opened(open, ['tiny']);
    await act(() => v.press('Control+KeyK'));
    await act(() => v.page.keyboard.type('blk.3.ffn_down'));
    const found = v.page.getByRole('search').getByRole('option', { selected: true });
    await answer(v, found, /blk\.3\.ffn_down\.weight/);
    await act(() => v.press('Enter'));
    await v.untilFragment('tensor', 'blk.3.ffn_down.weight');
    const row = said('gguf', join(process.env.TT_TRACES, 'tiny.gguf')).tensors.find((t) => t.name === 'blk.3.ffn_down.weight');
    await answer(v, inspector(v), new RegExp(`blk\\.3\\.ffn_down\\.weight.*${row.dtype}`, 'i'));
});

test('8 the film: Space runs through the tokens, and the map follows', async ({ open }) => {
    const { v, act } = await opened(open, ['moe']);
    await act(() => v.press('Digit1'));
    await v.rest();
    const seen = new Set();
    await act(() => v.press('Space'));
    await v.until(() => {
        const token = v.fragment().get('token');
        if (token !== null) seen.add(token);
        return seen.size >= 3;
    }, 'three tokens were shown');
    await act(() => v.press('Space'));
    const token = v.fragment().get('token');
    await answer(v, inspector(v), new RegExp(`Token ${token}`));
});

test('9 share: the command that prints what is shown', async ({ open }) => {
    const { v, act } = await opened(open, ['moe'], { fragment: 'view=log&log=layer:1' });
    await v.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await v.rest();
    await act(() => v.page.getByRole('button', { name: 'Share' }).click());
    await act(() => v.page.getByRole('button', { name: 'Copy command' }).click());
    let command = '';
    await v.until(async () => {
        command = await v.page.evaluate(() => navigator.clipboard.readText());
        return command.startsWith('tensortrace log ');
    }, 'a command is copied');
    const out = execFileSync('sh', ['-c', `${command.replace(/^tensortrace/, `"$TT_BIN"`)} --csv`], { encoding: 'utf8', cwd: process.env.TT_TRACES });
    const rows = /([\d,]+) rows?/.exec(await answer(v, v.page.locator('.log-line'), /[\d,]+ rows?/))[1].replace(/,/g, '');
    assert.equal(out.trim().split('\n').length - 1, Number(rows));
});

test('10 a run that goes on is seen while it does', async ({ open, newRun }) => {
    const run = newRun();
    run.begin();
    const { v } = await opened(open, [run.path], { args: ['--live'], ready: false });
    v.allow(/503/);
    await v.page.getByText('Still recording:').waitFor();
    const tokens = async () => Number(/Batches\s*([\d,]+)/.exec(await inspector(v).textContent())?.[1].replace(/,/g, '') ?? 0);
    let before = 0;
    await v.until(async () => (before = await tokens()) > 0, 'there are tokens');
    await v.until(async () => (await tokens()) > before, 'there are more');
    await run.end();
    await v.page.getByText('Still recording:').waitFor({ state: 'hidden' });
    await v.until(async () => (await tokens()) === said('info', '--brief', run.path).counts.batches, 'all are there');
});
