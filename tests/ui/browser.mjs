// The browsers of Debian. Chromium, without a window, a GPU, a network or user namespaces. Its headless shell draws
// no window of its own, which takes the larger part of the whole browser's time.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, firefox } from 'playwright-core';

function inPath(names) {
    for (const folder of (process.env.PATH ?? '').split(':'))
        for (const name of names) if (existsSync(join(folder, name))) return join(folder, name);
    return null;
}

export function browserPath() {
    return process.env.TT_CHROMIUM ?? inPath(['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']);
}

/** Firefox as it is, over WebDriver BiDi. */
export async function openFirefox() {
    const executablePath = process.env.TT_FIREFOX ?? inPath(['firefox-esr', 'firefox']);
    if (!executablePath) {
        console.log('skipped: there is no firefox-esr (scripts/install-deps check)');
        process.exit(77);
    }
    return firefox.launch({ channel: 'moz-firefox', executablePath, timeout: 60_000 });
}

export async function openBrowser() {
    const executablePath = browserPath();
    if (!executablePath) {
        // CTest takes 77 for a skip.
        console.log('skipped: there is no chromium-headless-shell (scripts/install-deps check)');
        process.exit(77);
    }
    return chromium.launch({
        executablePath,
        timeout: 60_000,
        args: [
            // As root in a container there is no sandbox to have; the pages are our own.
            '--no-sandbox',
            '--disable-dev-shm-usage',
            // WebGL by software, where there is no GPU.
            '--enable-unsafe-swiftshader',
            '--use-angle=swiftshader',
            // Pages are put together by the processor at once, not by WebGL that it emulates.
            '--disable-gpu-compositing',
            // Nothing but the loopback: a name that has to be looked up is an error at once.
            '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
            '--no-proxy-server',
            '--font-render-hinting=none',
        ],
    });
}
