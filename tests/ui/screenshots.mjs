// screenshots.mjs FOLDER: pictures of the views for people, of the traces that scripts/screenshots
// makes. Each is less than 320 KB, so that they can be kept beside the sources.
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { openBrowser } from './browser.mjs';
import { startServer } from './server.mjs';
import { Viewer } from './viewer.mjs';

const BYTES_MAX = 320_000;
const folder = process.argv[2];
const trace = (name) => join(process.env.TT_TRACES, `${name}.ttrace`);
const LAYER = 'layer=11&tensor=blk.11.ffn_up.weight';
const EXPERTS = 'layer=2&tensor=blk.2.ffn_down_exps.weight';

const PICTURES = [
    { name: 'overview', fragment: 'token=12', viewport: { width: 1440, height: 900 } },
    { name: 'memory', trace: 'moe', fragment: `view=memory&${EXPERTS}` },
    { name: 'memory-light', theme: 'light', trace: 'moe', fragment: `view=memory&${EXPERTS}` },
    { name: 'timeline', fragment: `view=timeline&token=12&${LAYER}`, act: (v) => v.press('KeyF', 'KeyF') },
    { name: 'graph', fragment: `view=graph&token=12&${LAYER}` },
    { name: 'log', fragment: `view=log&token=12&layer=11` },
    { name: 'experts', trace: 'moe', fragment: 'view=experts&token=12&layer=2' },
    { name: 'buffers', fragment: 'view=buffers&token=12' },
    { name: 'stats', fragment: 'view=stats' },
    { name: 'values', trace: 'values', fragment: 'view=values&token=12&layer=11' },
    { name: 'diff', trace: 'tinyllama', other: 'one-thread', fragment: 'view=diff&token=12' },
    { name: 'commands', theme: 'light', fragment: 'view=timeline&token=12', act: (v) => v.press('Control+Shift+KeyP') },
];

const browser = await openBrowser();
try {
    for (const { name, trace: shown = 'tinyllama', other, fragment, theme, act, viewport = { width: 1100, height: 700 } } of PICTURES) {
        const server = await startServer([shown, other].filter(Boolean).map(trace));
        const v = await Viewer.open(browser, server, { fragment, theme, viewport });
        await v.rest();
        await act?.(v);
        await v.rest();
        const path = join(folder, `${name}.png`);
        await v.page.screenshot({ path });
        const bytes = statSync(path).size;
        console.log(`${path.padEnd(36)}${String(bytes).padStart(8)} bytes`);
        if (bytes > BYTES_MAX) throw new Error(`${path} is larger than ${BYTES_MAX} bytes`);
        const problems = await v.problems();
        if (problems.length > 0) throw new Error(`${name}: ${problems.join('; ')}`);
        await v.close();
        await server.stop();
    }
} finally {
    await browser.close();
}
