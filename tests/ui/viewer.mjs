// A page of the viewer in the browser, and what people do with it.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';

const WAIT_MS = Number(process.env.TT_WAIT_MS ?? 30_000);
/** Without a request for so long: what follows from the last answer has been asked. */
const RECENT = 8; // pictures
const QUIET_MS = 300;

export class Viewer {
    #underWay = new Set();
    #lastAsked = 0;
    #noted = [];
    #allowed = [];
    #session = null;

    constructor(page, context, server) {
        this.page = page;
        this.context = context;
        this.server = server;
    }

    /** `born` gets it before anything can fail. options: fragment ("view=log&token=3"), viewport, scale (device pixels a CSS pixel), theme ("dark" or "light"), reducedMotion,
     * forcedColors, noWebgl (the Canvas2D fallback), ready (false: do not wait for the trace). */
    static async open(browser, server, options = {}, born = () => undefined) {
        const context = await browser.newContext({
            viewport: options.viewport ?? { width: 1440, height: 900 },
            deviceScaleFactor: options.scale ?? 1,
            colorScheme: options.theme ?? 'dark',
            reducedMotion: options.reducedMotion ? 'reduce' : 'no-preference',
            forcedColors: options.forcedColors ? 'active' : 'none',
            acceptDownloads: true,
        });
        context.setDefaultTimeout(WAIT_MS);
        const page = await context.newPage();
        const viewer = new Viewer(page, context, server);
        viewer.#listen();
        born(viewer);
        if (options.noWebgl) await page.addInitScript(withoutWebgl);
        await page.goto(options.fragment ? `${server.url}#${options.fragment}` : server.url, { waitUntil: 'load' });
        if (options.ready !== false) await viewer.ready();
        return viewer;
    }

    #listen() {
        this.page.on('console', (message) => {
            // Of emulated WebGL, whose canvas the browser reads back to put the page together.
            if (message.text().includes('GPU stall due to ReadPixels')) return;
            if (['error', 'warning'].includes(message.type())) this.#noted.push(`console: ${message.text()}`);
        });
        this.page.on('pageerror', (error) => this.#noted.push(`exception: ${error.stack ?? error}`));
        this.page.on('dialog', (dialog) => {
            this.#noted.push(`dialog: ${dialog.message()}`);
            void dialog.dismiss();
        });
        this.page.on('request', (request) => {
            const { protocol, origin } = new URL(request.url());
            if (protocol.startsWith('http') && origin !== this.server.origin)
                this.#noted.push(`asks another host: ${request.url()}`);
        });
        this.page.on('request', (request) => {
            // Of a worker that is ended while it is fetched the browser tells no end.
            if (!request.url().endsWith('.worker.js')) this.#underWay.add(request);
            this.#lastAsked = Date.now();
        });
        for (const end of ['requestfinished', 'requestfailed'])
            this.page.on(end, (request) => {
                this.#underWay.delete(request);
                this.#lastAsked = Date.now();
            });
        this.page.on('response', (response) => {
            if (response.status() >= 400) this.#noted.push(`${response.status()} for ${response.url()}`);
        });
    }

    /** Everything that was noted so far, allowed or not. */
    seen() {
        return [...this.#noted];
    }

    /** Problems like this one are what the test is about. */
    allow(pattern) {
        this.#allowed.push(pattern);
    }

    /** Console errors and warnings (a break of the CSP is one), exceptions, dialogs, refused
     * requests and requests to other hosts, but for what the test allows. */
    async problems() {
        return this.#noted.filter((each) => !this.#allowed.some((pattern) => pattern.test(each)));
    }

    /** The trace is there and a view shows it. */
    async ready() {
        await this.page.locator('main').waitFor();
        await this.until(
            () =>
                this.page.evaluate(() => {
                    const view = document.getElementById('main');
                    return view && view.childElementCount > 0 && !view.querySelector('.loading');
                }),
            'a view shows something',
        );
    }

    /** The page has been answered all it asked, asks nothing more, and looks the same twice. Returns
     * what it looks like (all of it, or an element). */
    async rest(selector = 'body') {
        // Chromium does not draw text at a fraction of a pixel the same way twice: a page at rest is one
        // whose picture has been seen just before, not one whose last two are the same to the bit.
        let recent = [];
        let now = Buffer.alloc(0);
        let why = '';
        // What a new address changes is on its way to be asked or drawn.
        await this.page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
        await this.until(async () => {
            const asked = [...this.#underWay].map((request) => request.url());
            why = asked.length > 0 ? `asked: ${asked.join(', ')}` : `answered ${Date.now() - this.#lastAsked} ms ago, ${recent.length} pictures`;
            if (asked.length > 0 || Date.now() - this.#lastAsked < QUIET_MS) return false;
            now = await this.#look(selector);
            const again = recent.some((picture) => picture.equals(now));
            recent = [now, ...recent].slice(0, RECENT);
            return again && (await this.page.locator(`${selector} .loading`).count()) === 0;
        }, 'the page has come to rest').catch((error) => assert.fail(`${error.message} (${why})`));
        await this.page.evaluate(setStill, false);
        return now;
    }

    /** A PNG of the element, without what moves by itself. Chromium is asked for it directly, with fast compression: that
     * takes a third of the processor's time of Playwright's. */
    async #look(selector) {
        if (this.context.browser().browserType().name() !== 'chromium')
            return this.page.locator(selector).screenshot({ animations: 'disabled', caret: 'hide' });
        await this.page.locator(selector).waitFor();
        const box = await this.page.evaluate(setStill, selector);
        this.#session ??= await this.context.newCDPSession(this.page);
        const { data } = await this.#session.send('Page.captureScreenshot', {
            format: 'png',
            optimizeForSpeed: true,
            // A part of the page is taken by emulating another screen for a moment, after which what a test emulates is gone.
            ...(selector !== 'body' && { clip: { ...box, scale: 1 } }),
        });
        return Buffer.from(data, 'base64');
    }

    /** Goes to another state of the same page by its address, as a pasted link does. */
    async show(fragment) {
        await this.page.evaluate((hash) => {
            location.hash = hash;
        }, fragment);
    }

    /** The state in the address. */
    fragment() {
        return new URLSearchParams(new URL(this.page.url()).hash.slice(1));
    }

    /** Waits until `check` (of the page's outside: may ask the page) is true. */
    async until(check, what) {
        const end = Date.now() + WAIT_MS;
        for (;;) {
            if (await check()) return;
            if (Date.now() > end) assert.fail(`waited ${WAIT_MS / 1000} s in vain until ${what}`);
            await new Promise((resolve) => setTimeout(resolve, 25));
        }
    }

    /** Waits until `read` has given the same text for so many milliseconds; returns it. */
    async still(read, ms, what) {
        let text = await read();
        let since = Date.now();
        await this.until(async () => {
            const now = await read();
            if (now !== text) since = Date.now();
            text = now;
            return Date.now() - since >= ms;
        }, what);
        return text;
    }

    /** Waits until the address has that parameter; null: until it has it no more. */
    async untilFragment(name, value) {
        await this.until(
            () => this.fragment().get(name) === value,
            `the address says ${name}=${value} (it is ${this.page.url()})`,
        );
    }

    /** Keys by KeyboardEvent.code, with modifiers: "KeyN", "Control+Shift+KeyP". */
    async press(...keys) {
        for (const key of keys) await this.page.keyboard.press(key);
    }

    /** Holds a key while `body` runs. */
    async hold(key, body) {
        await this.page.keyboard.down(key);
        try {
            await body();
        } finally {
            await this.page.keyboard.up(key);
        }
    }

    /** What a screen reader was told last. */
    async said() {
        return (await this.page.locator('[aria-live=polite]').last().textContent()) ?? '';
    }

    /** What has the focus: role, name and the start of its text. */
    async focused() {
        return this.page.evaluate(() => {
            const e = document.activeElement;
            if (!e || e === document.body) return null;
            return {
                tag: e.tagName.toLowerCase(),
                role: e.getAttribute('role'),
                id: e.id,
                name: e.getAttribute('aria-label') ?? e.textContent?.trim().slice(0, 60) ?? '',
                class: e.className,
            };
        });
    }

    /** What "Share" saves: { name, data }. form: "PNG", "SVG", "Save as page". */
    async shared(form) {
        await this.press('Control+KeyS');
        const button = this.page.getByRole('dialog', { name: 'Share' }).getByRole('button', { name: form, exact: true });
        const [file] = await Promise.all([this.page.waitForEvent('download'), button.click()]);
        return { name: file.suggestedFilename(), data: await readFile(await file.path()) };
    }

    /** The API as the page sees it. */
    async api(path) {
        return this.page.evaluate(async (at) => (await fetch(`/api/v1/${at}`)).json(), path);
    }

    /** A picture for people, into `folder` or the build tree. */
    async picture(name, folder = process.env.TT_PICTURES) {
        await this.page.screenshot({ path: `${folder}/${name}.png` });
    }

    async close() {
        await this.context.close();
    }
}

/** In the page: holds what moves by itself (false: lets it go on); returns where the element is. */
function setStill(selector) {
    if (selector === false || !window.stillSheet) {
        window.stillSheet = new CSSStyleSheet();
        if (selector !== false) window.stillSheet.replaceSync('* { caret-color: transparent !important; animation: none !important; }');
        document.adoptedStyleSheets = [window.stillSheet];
        if (selector === false) return (window.stillSheet = null);
    }
    const { x, y, width, height } = document.querySelector(selector).getBoundingClientRect();
    return { x, y, width, height };
}

function withoutWebgl() {
    const real = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) {
        return kind.startsWith('webgl') ? null : real.call(this, kind, ...rest);
    };
}
