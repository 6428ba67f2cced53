// watch.mjs URL: the pages as they are being worked on, with the data of a running server.
//
// URL is what `tensortrace serve --no-open` printed. The pages are bundled at every change and
// served from ui/dist, with the rules that the server's own pages have; the API's requests go on
// to the server. For who works on the pages, on their own machine: whoever reaches the address
// reads the trace.
import { spawn } from 'node:child_process';
import { createReadStream, existsSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = dirname(fileURLToPath(import.meta.url));
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml', txt: 'text/plain; charset=utf-8' };
const opened = new URL(process.argv[2] ?? 'nothing:');
if (opened.hostname !== '127.0.0.1' || !opened.pathname.startsWith('/open/')) {
    console.error('usage: node watch.mjs http://127.0.0.1:PORT/open/SECRET   (as `tensortrace serve --no-open` printed it)');
    process.exit(2);
}

/** A request to the server: resolves to its response. */
function ask(path, headers = {}) {
    return new Promise((resolve, reject) => {
        request({ host: '127.0.0.1', port: opened.port, path, headers }, resolve).on('error', reject).end();
    });
}

const letIn = await ask(opened.pathname);
const cookie = letIn.headers['set-cookie']?.[0]?.split(';')[0];
if (!cookie) {
    console.error(`the server does not know ${opened}; start it again and use the address it prints`);
    process.exit(1);
}
const rules = letIn.headers['content-security-policy'];
letIn.resume();

async function passOn(from, to) {
    const answer = await ask(from.url, { cookie });
    to.writeHead(answer.statusCode, { 'content-type': answer.headers['content-type'] ?? 'application/octet-stream' });
    answer.pipe(to);
}

function page(from, to) {
    const name = basename(new URL(from.url, 'http://localhost').pathname) || 'index.html';
    const path = join(HERE, 'dist', name);
    if (!existsSync(path)) {
        to.writeHead(404).end();
        return;
    }
    to.writeHead(200, { 'content-type': TYPES[name.split('.').pop()] ?? 'application/octet-stream', 'content-security-policy': rules, 'cache-control': 'no-store' });
    createReadStream(path).pipe(to);
}

const server = createServer((from, to) => {
    if (!from.url.startsWith('/api/')) page(from, to);
    // What a stopped server looks like to the page.
    else passOn(from, to).catch(() => to.destroy());
});
server.listen(0, '127.0.0.1', () => console.log(`pages: http://127.0.0.1:${server.address().port}/`));
const bundling = spawn(process.execPath, [join(HERE, 'build.mjs'), '--watch'], { stdio: 'inherit' });
bundling.on('exit', (code) => process.exit(code ?? 1));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => {
        bundling.kill();
        process.exit(0);
    });
