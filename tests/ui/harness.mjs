// What every test of the pages stands on: a server of its own, a real browser, and the rule that
// nothing may go wrong unnoticed.
//
//     import { suite } from './harness.mjs';
//     const { test } = suite();
//     test('a click selects an op', async ({ open }) => {
//         const v = await open(['tiny']);
//         await v.press('Digit2');
//         await v.until(() => v.fragment().get('view') === 'timeline', 'the timeline is shown');
//     });
//
// Environment (tests/ui/CMakeLists.txt): TT_BIN the program, TT_TRACES a folder of traces that
// make-traces.mjs made, TT_PICTURES where screenshots go, TT_RETRIES a file that is told what was tried twice.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { openBrowser } from './browser.mjs';
import { startServer } from './server.mjs';
import { Viewer } from './viewer.mjs';

/** The path of a trace by its short name; a path stays one. */
export function trace(name) {
    return name.includes('/') ? name : join(process.env.TT_TRACES, `${name}.ttrace`);
}

/** The first time that a text says, in ns. */
export function nanoseconds(text) {
    const [, value, unit] = /([\d.]+) (ns|us|ms|s)\b/.exec(text);
    return Number(value) * { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[unit];
}

/** A run into a new folder, which goes on until it is interrupted (killed, it would leave its engine running). */
function newRun() {
    const folder = mkdtempSync(join(tmpdir(), 'tt-live-'));
    const path = join(folder, 'run.ttrace');
    let child, ended;
    const run = {
        path,
        begin() {
            child = spawn(
                process.env.TT_BIN,
                ['run', '-q', '-o', path, '--engine', join(process.env.TT_ENGINES, 'v0.5.0'), '-m',
                    join(process.env.TT_TRACES, 'tiny.gguf'), '-p', 'Once upon a time', '-n', '15000', '-c', '16384',
                    '-t', '1', '--ignore-eos'],
                { stdio: ['ignore', 'ignore', 'inherit'] },
            );
            ended = new Promise((resolve) => child.once('exit', resolve).once('error', resolve));
        },
        async end() {
            child?.kill('SIGINT');
            await ended;
        },
        async remove() {
            await run.end();
            rmSync(folder, { recursive: true });
        },
    };
    return run;
}

/** One browser a file of tests; each test gets pages and servers that end with it. */
export function suite(launch = openBrowser) {
    let browser;
    if (!existsSync(trace('tiny'))) {
        // CTest takes 77 for a skip.
        console.log('skipped: there are no traces; make-traces.mjs says why');
        process.exit(77);
    }
    before(async () => {
        browser = await launch();
    });
    after(() => browser?.close());
    return {
        test: (name, body) => test(name, { timeout: 240_000 }, (t) => run(browser, t, body)),
    };
}

/** A browser on a busy machine misses a moment now and then: what fails is tried once more, with a
 * fresh server and page, and is named in the last lines of scripts/check (TT_RETRIES). A page that
 * had problems of its own is not. */
async function run(browser, t, body) {
    try {
        await once(browser, t, body);
    } catch (error) {
        if (error.message.startsWith(PROBLEMS)) throw error;
        t.diagnostic(`failed, and tried again: ${error.message}`);
        const file = basename(process.argv[1], '.test.mjs');
        const why = error.message.split('\n')[0];
        if (process.env.TT_RETRIES) appendFileSync(process.env.TT_RETRIES, `ui.${file} "${t.name}": ${why}\n`);
        await once(browser, t, body);
    }
}

const PROBLEMS = 'the page had problems';

async function once(browser, t, body) {
    const ends = [];
    const viewers = [];
    const tools = {
        t,
        browser,
        /** A run to be begun, { path, begin(), end() }, which ends with the test at the latest. */
        newRun() {
            const run = newRun();
            ends.push(() => run.remove());
            return run;
        },
        /** A server of the traces, without a page: { url, origin, secret, stop() }. */
        async serve(names, args = []) {
            const server = await startServer(names.map(trace), args);
            ends.push(() => server.stop());
            return server;
        },
        /** A page on a server: of `options.server`, or of one of its own with `options.args`. */
        async open(names, options = {}) {
            const server = options.server ?? (await tools.serve(names, options.args));
            return Viewer.open(browser, server, options, (viewer) => {
                ends.push(() => viewer.close());
                viewers.push(viewer);
            });
        },
    };
    try {
        await body(tools);
        for (const viewer of viewers) {
            const problems = await viewer.problems();
            assert.equal(problems.length, 0, `${PROBLEMS}: ${problems.join('; ')}`);
        }
    } catch (error) {
        await keepPicture(viewers, t.name);
        for (const viewer of viewers) for (const each of viewer.seen()) t.diagnostic(each);
        throw error;
    } finally {
        for (const end of ends.reverse()) await end();
    }
}

/** What the page looked like when it failed, into the build tree. */
async function keepPicture(viewers, name) {
    const folder = process.env.TT_PICTURES;
    if (!folder) return;
    mkdirSync(folder, { recursive: true });
    for (const viewer of viewers)
        await viewer.page
            .screenshot({ path: join(folder, `failed-${name.replace(/\W+/g, '-')}.png`), timeout: 5000 })
            .catch(() => undefined);
}
