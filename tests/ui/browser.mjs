// Debian's Chromium, without a window, a GPU, a network or user namespaces. Its headless shell draws
// no window of its own, which takes the larger part of the whole browser's time.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

export function browserPath() {
    if (process.env.TT_CHROMIUM) return process.env.TT_CHROMIUM;
    for (const folder of (process.env.PATH ?? '').split(':'))
        for (const name of ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'])
            if (existsSync(join(folder, name))) return join(folder, name);
    return null;
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
