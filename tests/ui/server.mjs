// `tensortrace serve` as a child process.
import { spawn } from 'node:child_process';

const started = new Set();
// Whatever ends the tests, no server is left behind.
process.on('exit', () => {
    for (const child of started) child.kill('SIGKILL');
});

/** Resolves when the server has printed its address. */
export function startServer(paths, args = []) {
    const child = spawn(process.env.TT_BIN, ['serve', '--no-open', '--port', '0', ...args, ...paths], {
        stdio: ['ignore', 'pipe', 'pipe'],
    });
    started.add(child);
    const ended = new Promise((resolve) => {
        child.once('exit', (code, signal) => {
            started.delete(child);
            resolve(signal ?? code);
        });
    });
    return new Promise((resolve, reject) => {
        let said = '';
        const timer = setTimeout(() => reject(new Error(`serve printed no address in 60 s:\n${said}`)), 60_000);
        const listen = (chunk) => {
            said += chunk;
            const found = /http:\/\/127\.0\.0\.1:(\d+)\/open\/([^\s/]+)/.exec(said);
            if (!found) return;
            clearTimeout(timer);
            resolve({
                url: found[0],
                origin: `http://127.0.0.1:${found[1]}`,
                port: Number(found[1]),
                secret: found[2],
                /** What it has printed so far. */
                said: () => said,
                ended,
                async stop(signal = 'SIGTERM') {
                    child.kill(signal);
                    return ended;
                },
            });
        };
        child.stdout.on('data', listen);
        child.stderr.on('data', listen);
        child.once('error', reject);
        void ended.then((how) => {
            clearTimeout(timer);
            reject(new Error(`serve ended (${how}) before it printed an address:\n${said}`));
        });
    });
}
