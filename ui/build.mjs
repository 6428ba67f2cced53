// build.mjs [--out DIR] [--c FILE] [--weigh] [--watch]
//
// Bundles the pages into DIR (default ./dist), each file also as gzip, prints what they weigh, and
// with --c writes them as a table in C, which the program is linked with (src/serve/assets.h).
// With --weigh pages that are too heavy are an error (a test asks that way: who builds the program
// can do nothing about it). With --watch it stays and does so at every change, unminified: see CONTRIBUTING.md.
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
// Issue 6 promises pages that weigh less; what makes them heavier has to be worth it.
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

function workers() {
    return readdirSync(join(HERE, 'src'), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && entry.name.endsWith('.worker.ts'))
        .map((entry) => join(entry.parentPath ?? entry.path, entry.name));
}

function bundling() {
    const entryPoints = { app: join(HERE, 'src/main.tsx') };
    for (const path of workers()) entryPoints[basename(path, '.ts')] = path;
    return {
        absWorkingDir: HERE,
        entryPoints,
        outdir: resolve(options.out),
        bundle: true,
        write: false,
        metafile: true,
        minify: !options.watch,
        sourcemap: options.watch ? 'inline' : false,
        // Classic scripts: a worker needs no more, and the page's own starts with `defer`.
        format: 'iife',
        target: ['chrome108', 'firefox110', 'safari16'],
        jsx: 'automatic',
        jsxImportSource: 'preact',
        // Their licences are in licences.txt, as a whole.
        legalComments: 'none',
        logLevel: 'warning',
    };
}

/** Other people's work that is in the bundle comes with its licence. */
function licences(metafile) {
    const packages = new Set();
    for (const input of Object.keys(metafile.inputs)) {
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

function assetsOf(result) {
    const assets = [asset('/', readFileSync(join(HERE, 'index.html')))];
    for (const file of result.outputFiles) assets.push(asset(`/${basename(file.path)}`, file.contents));
    assets.push(asset('/icon.svg', readFileSync(join(HERE, 'icon.svg'))));
    assets.push(asset('/licences.txt', licences(result.metafile)));
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

function say(assets) {
    const row = (name, bytes, gzipped) => `${name.padEnd(24)}${String(bytes).padStart(9)}${String(gzipped).padStart(10)}`;
    let total = 0;
    console.log(`${'file'.padEnd(24)}${'bytes'.padStart(9)}${'gzipped'.padStart(10)}`);
    for (const { path, content, gzip } of assets) {
        console.log(row(path, content.length, gzip.length));
        total += gzip.length;
    }
    console.log(row('total', assets.reduce((sum, each) => sum + each.content.length, 0), total));
    return total;
}

function finish(result) {
    const assets = assetsOf(result);
    const out = resolve(options.out);
    for (const { path, content, gzip } of assets) {
        const name = path === '/' ? 'index.html' : path.slice(1);
        put(join(out, name), content);
        put(join(out, `${name}.gz`), gzip);
    }
    const total = say(assets);
    if (options.weigh && total > GZIPPED_BYTES_MAX) {
        console.error(`ui: the pages weigh ${total} bytes gzipped, more than the ${GZIPPED_BYTES_MAX} they may (ui/build.mjs)`);
        process.exit(1);
    }
    if (options.c) put(resolve(options.c), cTable(assets));
}

async function watch() {
    const context = await esbuild.context({
        ...bundling(),
        plugins: [
            {
                name: 'finish',
                setup(build) {
                    build.onEnd((result) => {
                        if (result.errors.length > 0) return;
                        finish(result);
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
    const result = await esbuild.build(bundling()).catch(() => process.exit(1));
    finish(result);
}
