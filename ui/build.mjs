// build.mjs [--out DIR] [--c FILE] [--weigh] [--watch]
//
// Bundles the pages into DIR (default ./dist), each file also as gzip, prints what they weigh, and
// with --c writes them as a table in C, which the program is linked with (src/serve/assets.h).
// With --weigh pages that are too heavy are an error (a test asks that way: who builds the program
// can do nothing about it). With --watch it stays and does so at every change, unminified (watch.mjs).
//
// Plain Node and esbuild; it must go on working with Debian 12's Node 18.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { constants, gzipSync } from 'node:zlib';
import * as esbuild from 'esbuild';

const HERE = dirname(fileURLToPath(import.meta.url));
// Of what is loaded to show any one view. What makes it heavier has to be worth it.
const GZIPPED_BYTES_MAX = 120 * 1024;
const TYPES = {
    html: 'text/html; charset=utf-8',
    js: 'text/javascript; charset=utf-8',
    css: 'text/css; charset=utf-8',
    svg: 'image/svg+xml',
    txt: 'text/plain; charset=utf-8',
};

const { values: options } = parseArgs({
    options: {
        out: { type: 'string', default: join(HERE, 'dist') },
        c: { type: 'string' },
        weigh: { type: 'boolean', default: false },
        watch: { type: 'boolean', default: false },
    },
});

function sourcesEnding(ending) {
    return readdirSync(join(HERE, 'src'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
        .sort();
}

const COMMON = {
    absWorkingDir: HERE,
    outdir: resolve(options.out),
    bundle: true,
    write: false,
    metafile: true,
    minify: !options.watch,
    sourcemap: options.watch ? 'inline' : false,
    target: ['chrome110', 'firefox115', 'safari16'],
    // Their licences are in licences.txt, as a whole.
    legalComments: 'none',
    logLevel: 'warning',
};

/** The page's code: what all views need, and a chunk for each view, fetched when it is shown. */
const PAGE = {
    ...COMMON,
    entryPoints: { app: join(HERE, 'src/main.tsx') },
    format: 'esm',
    splitting: true,
    chunkNames: '[name]-[hash]',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    // One sheet for all of it, below: a chunk cannot bring its own along.
    loader: { '.css': 'empty' },
};

/** Classic scripts, each whole: new Worker('/NAME.worker.js'). */
function bundleWorkers() {
    const entryPoints = Object.fromEntries(sourcesEnding('.worker.ts').map((path) => [basename(path, '.ts'), path]));
    return esbuild.build({ ...COMMON, entryPoints, format: 'iife' });
}

/** What main.tsx says of the page first, then others' sheets, then each folder's own. */
function bundleStyles(page) {
    const imported = Object.keys(page.metafile.inputs).filter((path) => path.endsWith('.css'));
    const order = (path) => (path === 'src/style.css' ? 0 : path.startsWith('node_modules/') ? 1 : 2);
    imported.sort((a, b) => order(a) - order(b) || (a < b ? -1 : 1));
    const contents = imported.map((path) => `@import "./${path}";`).join('\n');
    return esbuild.build({ ...COMMON, stdin: { contents, resolveDir: HERE, loader: 'css' }, entryNames: 'app' });
}

/** Other people's work that is in the bundle comes with its licence. */
function licences(results) {
    const packages = new Set();
    for (const input of results.flatMap((result) => Object.keys(result.metafile.inputs))) {
        const found = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input);
        if (found) packages.add(found[1]);
    }
    const texts = ['What is in these pages from others.\n'];
    for (const name of [...packages].sort()) {
        const folder = join(HERE, 'node_modules', name);
        const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
        const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
        if (!file) throw new Error(`${name} has no licence file`);
        texts.push(`${name} ${version}\n\n${readFileSync(join(folder, file), 'utf8').trim()}\n`);
    }
    return Buffer.from(texts.join('\n----------------\n\n'));
}

function asset(path, content) {
    const type = TYPES[path === '/' ? 'html' : path.split('.').pop()];
    if (!type) throw new Error(`${path}: build.mjs knows no media type for it`);
    const gzip = gzipSync(content, { level: constants.Z_BEST_COMPRESSION });
    const etag = createHash('sha256').update(content).digest('hex').slice(0, 20);
    return { path, type, content, gzip, etag };
}

function assetsOf(results) {
    const assets = [asset('/', readFileSync(join(HERE, 'index.html')))];
    for (const file of results.flatMap((result) => result.outputFiles))
        assets.push(asset(`/${basename(file.path)}`, file.contents));
    assets.push(asset('/icon.svg', readFileSync(join(HERE, 'icon.svg'))));
    assets.push(asset('/licences.txt', licences(results)));
    return assets.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whole or not at all, and untouched when nothing changed, so that nothing is built again for it. */
function put(path, content) {
    try {
        if (readFileSync(path).equals(Buffer.from(content))) return;
    } catch {
        // Not there yet.
    }
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(`${path}.part`, content);
    renameSync(`${path}.part`, path);
}

function cBytes(bytes) {
    const lines = [];
    for (let i = 0; i < bytes.length; i += 24) lines.push(`    ${[...bytes.subarray(i, i + 24)].join(',')},`);
    return lines.join('\n');
}

function cTable(assets) {
    const parts = ['/* Made by ui/build.mjs. */', '#include "serve/assets.h"', ''];
    assets.forEach(({ gzip }, i) => {
        parts.push(`static const unsigned char asset_${i}[] = {`, cBytes(gzip), '};', '');
    });
    parts.push('const tt_asset tt_assets[] = {');
    assets.forEach(({ path, type, etag }, i) => {
        parts.push(
            `    {.path = "${path}", .type = "${type}", .data = asset_${i}, .size = sizeof asset_${i},`,
            `     .etag = "\\"${etag}\\"", .gzipped = true},`,
        );
    });
    parts.push('    {.path = NULL}};', '');
    return parts.join('\n');
}

/** What is loaded to show each view, by its name: paths of assets. */
function neededBy(page, workers) {
    const outputs = page.metafile.outputs;
    const at = (path) => `/${basename(path)}`;
    const whole = (path, found = new Set()) => {
        if (found.has(path)) return found;
        found.add(path);
        for (const each of outputs[path].imports) if (each.kind === 'import-statement') whole(each.path, found);
        return found;
    };
    const app = Object.keys(outputs).find((path) => basename(path) === 'app.js');
    const views = new Map();
    for (const [path, output] of Object.entries(outputs)) {
        const view = /^src\/views\/(\w+)\/index\.tsx$/.exec(output.entryPoint ?? '')?.[1];
        if (!view) continue;
        const needed = new Set(['/', '/app.css', '/icon.svg', ...[...whole(app), ...whole(path)].map(at)]);
        for (const [worker, { entryPoint }] of Object.entries(workers.metafile.outputs))
            if (entryPoint?.startsWith(`src/views/${view}/`)) needed.add(at(worker));
        views.set(view, needed);
    }
    return views;
}

function row(name, bytes, gzipped) {
    return `${name.padEnd(32)}${String(bytes).padStart(9)}${String(gzipped).padStart(10)}`;
}

/** Prints what everything weighs; returns the heaviest view's gzipped bytes. */
function say(assets, views) {
    const sum = (list, bytes) => list.reduce((total, each) => total + each[bytes].length, 0);
    console.log(row('file', 'bytes', 'gzipped'));
    for (const { path, content, gzip } of assets) console.log(row(path, content.length, gzip.length));
    console.log(row('all', sum(assets, 'content'), sum(assets, 'gzip')));
    let most = 0;
    for (const [view, needed] of views) {
        const list = assets.filter(({ path }) => needed.has(path));
        most = Math.max(most, sum(list, 'gzip'));
        console.log(row(`to show ${view}`, sum(list, 'content'), sum(list, 'gzip')));
    }
    return most;
}

async function finish(page) {
    const [workers, styles] = await Promise.all([bundleWorkers(), bundleStyles(page)]);
    const assets = assetsOf([page, workers, styles]);
    const out = resolve(options.out);
    for (const { path, content, gzip } of assets) {
        const name = path === '/' ? 'index.html' : path.slice(1);
        put(join(out, name), content);
        put(join(out, `${name}.gz`), gzip);
    }
    const most = say(assets, neededBy(page, workers));
    if (options.weigh && most > GZIPPED_BYTES_MAX) {
        console.error(`ui: a view takes ${most} bytes gzipped, more than the ${GZIPPED_BYTES_MAX} it may (ui/build.mjs)`);
        process.exit(1);
    }
    if (options.c) put(resolve(options.c), cTable(assets));
}

async function watch() {
    const context = await esbuild.context({
        ...PAGE,
        plugins: [
            {
                name: 'finish',
                setup(build) {
                    build.onEnd(async (result) => {
                        if (result.errors.length > 0) return;
                        await finish(result).catch((error) => console.error(error.message));
                        console.log(`written to ${relative(process.cwd(), resolve(options.out)) || '.'}; reload the page`);
                    });
                },
            },
        ],
    });
    await context.watch();
}

if (options.watch) {
    await watch();
} else {
    rmSync(resolve(options.out), { recursive: true, force: true });
    // esbuild has said what is wrong with the sources; a stack of this script adds nothing.
    await finish(await esbuild.build(PAGE).catch(() => process.exit(1)));
}
