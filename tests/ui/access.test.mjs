// Who may ask the server: only this machine's own pages, let in by the printed address. Tried from
// pages of other origins in the browser, and by raw requests that no browser would make.
import assert from 'node:assert/strict';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { suite } from './harness.mjs';

const { test } = suite();

/** A raw request; resolves to { status, headers, body }. */
function ask(server, options = {}) {
    return new Promise((resolve, reject) => {
        const sent = request(
            { host: '127.0.0.1', port: server.port, path: '/api/v1', ...options },
            (response) => {
                let body = '';
                response.setEncoding('utf8');
                response.on('data', (chunk) => (body += chunk));
                response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
            },
        );
        sent.on('error', reject);
        sent.end(options.body);
    });
}

/** The cookie that the printed address gives. */
async function cookieOf(server) {
    const { headers } = await ask(server, { path: new URL(server.url).pathname });
    return headers['set-cookie'][0].split(';')[0];
}

/** Somebody else's web site, on this machine for lack of a network. */
async function otherSite(t) {
    const site = createServer((_, response) => response.setHeader('content-type', 'text/html').end('<p>elsewhere'));
    await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
    t.after(() => site.close());
    return `http://127.0.0.1:${site.address().port}/`;
}

test('without the printed address nothing is told', async ({ serve }) => {
    const server = await serve(['tiny']);
    for (const path of ['/api/v1', '/api/v1/traces/0/summary', '/api/v1/traces/0/tensors']) {
        const reply = await ask(server, { path });
        assert.ok([401, 403].includes(reply.status), `${path}: ${reply.status}`);
        assert.ok(!reply.body.includes('blk.'), path);
    }
    const cookie = await cookieOf(server);
    assert.equal((await ask(server, { headers: { cookie } })).status, 200);
});

test('a wrong secret opens nothing and sets no cookie', async ({ serve }) => {
    const server = await serve(['tiny']);
    const wrong = server.secret.replace(/./g, (c) => (c === '0' ? '1' : '0'));
    for (const secret of [wrong, '', server.secret.slice(0, -1), `${server.secret}0`, server.secret.toUpperCase() + '%00']) {
        const reply = await ask(server, { path: `/open/${secret}` });
        assert.ok(reply.status >= 400, `${secret}: ${reply.status}`);
        assert.equal(reply.headers['set-cookie'], undefined);
    }
    const cookie = (await cookieOf(server)).replace(server.secret, wrong);
    assert.ok([401, 403].includes((await ask(server, { headers: { cookie } })).status));
});

test('the cookie is for this server only', async ({ serve }) => {
    const server = await serve(['tiny']);
    const { headers, status } = await ask(server, { path: new URL(server.url).pathname });
    assert.ok(status >= 300 && status < 400);
    assert.match(headers['set-cookie'][0], /HttpOnly/i);
    assert.match(headers['set-cookie'][0], /SameSite=Strict/i);
    assert.match(headers['cache-control'], /no-store/);
});

test('DNS rebinding: another name for this address is refused, with the right cookie', async ({ serve }) => {
    const server = await serve(['tiny']);
    const cookie = await cookieOf(server);
    for (const host of ['evil.example', `evil.example:${server.port}`, `127.0.0.1.evil.example:${server.port}`, '127.0.0.1:1', 'localhost.evil'])
        assert.equal((await ask(server, { headers: { host, cookie } })).status, 403, host);
    for (const host of ['Host: \r\n', ''])
        assert.match(await raw(server, `GET /api/v1 HTTP/1.1\r\n${host}Cookie: ${cookie}\r\nConnection: close\r\n\r\n`), /^HTTP\/1.1 40[03]/);
});

test('a foreign Origin or a cross-site request is refused, with the right cookie', async ({ serve }) => {
    const server = await serve(['tiny']);
    const cookie = await cookieOf(server);
    for (const headers of [
        { origin: 'https://evil.example' },
        { origin: 'null' },
        { origin: `http://localhost.evil:${server.port}` },
        { origin: `http://127.0.0.1:${server.port + 1}` },
        { 'sec-fetch-site': 'cross-site' },
    ]) {
        const reply = await ask(server, { headers: { cookie, ...headers } });
        assert.equal(reply.status, 403, JSON.stringify(headers));
        assert.equal(reply.headers['access-control-allow-origin'], undefined);
    }
});

test('only GET and HEAD', async ({ serve }) => {
    const server = await serve(['tiny']);
    const cookie = await cookieOf(server);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE'])
        assert.equal((await ask(server, { method, headers: { cookie }, body: method === 'POST' ? 'x'.repeat(9000) : undefined })).status, 405, method);
    const head = await ask(server, { method: 'HEAD', headers: { cookie } });
    assert.equal(head.status, 200);
    assert.equal(head.body, '');
});

test('oversize and senseless requests are refused, and the server goes on', async ({ serve }) => {
    const server = await serve(['tiny']);
    const cookie = await cookieOf(server);
    const long = 'a'.repeat(200_000);
    for (const options of [
        { path: `/api/v1/${long}` },
        { path: `/api/v1/traces/0/summary?${'a=b&'.repeat(5000)}` },
        { headers: { cookie, 'x-long': long } },
        { path: '/api/v1/traces/0/../../../etc/passwd' },
        { path: '/api/v1/traces/%2e%2e%2f/summary' },
        { path: '/api/v1/traces/0/summary%00' },
        { path: '/api/v1/traces/18446744073709551616/summary' },
        { path: '/api/v1/traces/0/summary?nonsense=1' },
        { path: '//etc/passwd' },
    ]) {
        const { status } = await ask(server, { headers: { cookie }, ...options }).catch((error) => ({ status: error.code }));
        assert.ok(status === 'ECONNRESET' || status === 'EPIPE' || (status >= 400 && status < 500), `${options.path?.slice(0, 60)}: ${status}`);
    }
    await raw(server, 'GET / HTTP/9.9\r\n\r\n');
    await raw(server, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc');
    assert.equal((await ask(server, { headers: { cookie } })).status, 200);
});

/** Bytes that no client of a library would send; resolves to the answer. */
function raw(server, bytes) {
    return new Promise((resolve) => {
        let answer = '';
        const socket = connect(server.port, '127.0.0.1', () => socket.end(bytes, 'latin1'));
        socket.on('data', (chunk) => (answer += chunk));
        socket.on('error', () => resolve(answer));
        socket.on('close', () => resolve(answer));
    });
}

test('a page of another site in the same browser learns nothing', async ({ open, t }) => {
    const v = await open(['tiny']);
    const site = await otherSite(t);
    const page = await v.context.newPage();
    await page.goto(site);
    const learnt = await page.evaluate(async (origin) => {
        const tried = {};
        for (const mode of ['cors', 'no-cors'])
            tried[mode] = await fetch(`${origin}/api/v1`, { mode, credentials: 'include' }).then((r) => r.text(), () => 'refused');
        tried.image = await new Promise((resolve) => {
            const image = new Image();
            image.onload = () => resolve('loaded');
            image.onerror = () => resolve('refused');
            image.src = `${origin}/icon.svg`;
        });
        tried.script = await new Promise((resolve) => {
            const script = document.createElement('script');
            script.onload = () => resolve('loaded');
            script.onerror = () => resolve('refused');
            script.src = `${origin}/app.js`;
            document.head.append(script);
        });
        return tried;
    }, v.server.origin);
    assert.deepEqual(learnt, { cors: 'refused', 'no-cors': 'refused', image: 'refused', script: 'refused' });
});

test('a page of another site cannot frame the viewer', async ({ open, t }) => {
    const v = await open(['tiny']);
    const page = await v.context.newPage();
    await page.goto(await otherSite(t));
    const url = v.server.origin;
    await page.evaluate((src) => {
        const frame = document.createElement('iframe');
        frame.src = src;
        document.body.append(frame);
    }, url);
    await v.until(() => page.frames().length === 2 && page.frames()[1].url() !== 'about:blank', 'the frame has tried');
    assert.equal(await page.frames()[1].locator('#app').count(), 0);
});

test('the page may do nothing that its rules do not name', async ({ open }) => {
    const v = await open(['tiny']);
    const rules = (await v.page.request.get(v.server.origin)).headers()['content-security-policy'];
    assert.match(rules, /default-src 'none'/);
    assert.ok(!/unsafe|\*|https?:/.test(rules), rules);
    v.allow(/Content Security Policy/);
    const ran = await v.page.evaluate(async () => {
        window.ran = [];
        const script = document.createElement('script');
        script.textContent = 'window.ran.push("inline")';
        document.body.append(script);
        const box = document.createElement('div');
        box.innerHTML = '<img src onerror="window.ran.push(\'handler\')">';
        document.body.append(box);
        await fetch('https://example.com/').then(() => window.ran.push('fetch'), () => undefined);
        await new Promise((resolve) => setTimeout(resolve, 300));
        return window.ran;
    });
    assert.deepEqual(ran, []);
    assert.ok(v.seen().some((each) => /Content Security Policy/.test(each)), 'the rules were broken in vain');
});
