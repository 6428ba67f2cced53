// measure.mjs TRACE...: how soon the timeline shows a trace, and how it moves, in headless Chromium.
// Prints CSV: trace,renderer,what,n,p50_ms,p95_ms,p99_ms,most_ms. It takes TT_BIN, and playwright-core
// from tests/ui (scripts/fetch-npm).
//
//   first picture   from starting the server to the first frame that shows all lanes of the whole run
//   page            from opening the page (the trace is open already) to that frame
//   pan, zoom       milliseconds between frames while a key is held
//   ..., own work   what our own code took of each of these frames
import { basename } from 'node:path';
import { openBrowser } from '../../tests/ui/browser.mjs';
import { startServer } from '../../tests/ui/server.mjs';

const HOLD_MS = Number(process.env.BENCH_QUICK ? 700 : 2500);

function quantiles(list) {
    const sorted = [...list].sort((a, b) => a - b);
    const at = (q) => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? NaN;
    return [at(0.5), at(0.95), at(0.99), sorted.at(-1) ?? NaN].map((v) => v.toFixed(2));
}

function say(trace, renderer, what, list) {
    console.log([basename(trace), renderer, what, list.length, ...quantiles(list)].join());
}

/** Opens the timeline; resolves with the moment (ms since the epoch) of the first whole picture. */
async function open(browser, server, renderer) {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.goto(server.url, { waitUntil: 'commit' });
    await page.goto('about:blank');
    const began = Date.now();
    await page.goto(`${server.origin}/#view=timeline&measure=1${renderer === 'canvas' ? '&renderer=canvas' : ''}`);
    const shown = await page.waitForFunction(
        () => {
            const mark = performance.getEntriesByName('timeline whole')[0];
            return mark && performance.timeOrigin + mark.startTime;
        },
        null,
        { timeout: 120_000, polling: 20 },
    );
    return { context, page, began, shown: await shown.jsonValue() };
}

/** Frames while a key is held: time between them, and our own part. */
async function held(page, key) {
    await page.evaluate(() => {
        performance.clearMeasures();
        window.deltas = [];
        let before = 0;
        window.watching = true;
        const next = (now) => {
            if (before) window.deltas.push(now - before);
            before = now;
            if (window.watching) requestAnimationFrame(next);
        };
        requestAnimationFrame(next);
    });
    await page.keyboard.down(key);
    await page.waitForTimeout(HOLD_MS);
    await page.keyboard.up(key);
    return page.evaluate(() => {
        window.watching = false;
        return { deltas: window.deltas, work: performance.getEntriesByName('timeline frame').map((m) => m.duration) };
    });
}

async function measure(browser, trace, renderer) {
    const started = Date.now();
    const server = await startServer([trace]);
    try {
        const first = await open(browser, server, renderer);
        say(trace, renderer, 'first picture', [first.shown - started]);
        await first.context.close();
        const { context, page, began, shown } = await open(browser, server, renderer);
        say(trace, renderer, 'page', [shown - began]);
        const all = { zoom: { deltas: [], work: [] }, pan: { deltas: [], work: [] } };
        // In to where ops stand on their own, moving at several scales on the way, and out again.
        for (const [what, key] of [['zoom', 'KeyW'], ['pan', 'KeyD'], ['zoom', 'KeyW'], ['pan', 'KeyA'], ['zoom', 'KeyW'], ['pan', 'KeyD'], ['zoom', 'KeyS']]) {
            const { deltas, work } = await held(page, key);
            all[what].deltas.push(...deltas);
            all[what].work.push(...work);
        }
        for (const what of ['pan', 'zoom']) {
            say(trace, renderer, what, all[what].deltas);
            say(trace, renderer, `${what} (own work)`, all[what].work);
        }
        await context.close();
    } finally {
        await server.stop();
    }
}

const browser = await openBrowser();
console.log('trace,renderer,what,n,p50_ms,p95_ms,p99_ms,most_ms');
try {
    for (const trace of process.argv.slice(2))
        for (const renderer of ['webgl2', 'canvas']) await measure(browser, trace, renderer);
} finally {
    await browser.close();
}
