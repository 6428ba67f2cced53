// fetch-npm.mjs DIR TARBALLS NEW: the packages of DIR/package-lock.json, downloaded into TARBALLS,
// checked, unpacked into NEW/node_modules. scripts/fetch-npm calls it. Exits with 1, and says why,
// when one of them cannot be had or is not what the lock file says.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

const [dir, tarballs, target] = process.argv.slice(2);

function fail(text) {
    console.error(`fetch-npm: ${text}`);
    process.exit(1);
}

const json = (name) => JSON.parse(readFileSync(join(dir, name), 'utf8'));

// npm's settings: the environment, then the folder's, the user's and the machine's .npmrc.

const fromEnvironment = new Map(
    Object.entries(process.env)
        .filter(([name]) => /^npm_config_/i.test(name))
        .map(([name, value]) => [name.slice('npm_config_'.length).toLowerCase().replace(/_/g, '-'), value]),
);

function readSettings(path) {
    if (!existsSync(path)) return new Map();
    const expand = (text) => text.replace(/\$\{(\w+)\}/g, (whole, name) => process.env[name] ?? whole);
    return new Map(
        readFileSync(path, 'utf8')
            .split('\n')
            .map((line) => /^\s*([^#;=][^=]*?)\s*=\s*(.*?)\s*$/.exec(line))
            .filter(Boolean)
            .map(([, name, value]) => [expand(name), expand(value.replace(/^(["'])(.*)\1$/, '$2'))]),
    );
}

const settings = [
    fromEnvironment,
    readSettings(join(dir, '.npmrc')),
    readSettings(fromEnvironment.get('userconfig') ?? join(homedir(), '.npmrc')),
    readSettings(fromEnvironment.get('globalconfig') ?? '/etc/npmrc'),
];
const setting = (name) => settings.find((each) => each.has(name))?.get(name);

/** The registry of a package, with a slash at its end. */
function registryOf(name) {
    const scope = name.startsWith('@') ? name.slice(0, name.indexOf('/')) : undefined;
    const registry = (scope && setting(`${scope}:registry`)) ?? setting('registry') ?? 'https://registry.npmjs.org/';
    return registry.replace(/\/*$/, '/');
}

/** What a registry wants to be told, from the setting of the longest address that fits. */
function authorization(registry) {
    for (let at = registry.replace(/^https?:/, ''); at.length > 2; at = at.replace(/[^/]*\/$/, '')) {
        const token = setting(`${at}:_authToken`);
        if (token) return `Bearer ${token}`;
        const login = setting(`${at}:_auth`);
        if (login) return `Basic ${login}`;
    }
    return undefined;
}

// Which packages.

const libc = process.report.getReport().header.glibcVersionRuntime ? 'glibc' : 'musl';

/** Whether a list such as ["linux"] or ["!win32"] has a value; no list has all. */
function allows(list, value) {
    if (!list) return true;
    if (list.includes(`!${value}`)) return false;
    return list.includes(value) || list.every((each) => each.startsWith('!'));
}

function fits(entry) {
    return allows(entry.os, process.platform) && allows(entry.cpu, process.arch) && allows(entry.libc, libc);
}

/** Every package to fetch: { path, name, version, sha512, url, tarball }. */
function wanted(lock) {
    const withoutOptional = (setting('omit') ?? '').split(/[\s,]+/).includes('optional');
    const packages = [];
    for (const [path, entry] of Object.entries(lock.packages)) {
        if (path === '') continue;
        if (entry.optional && (withoutOptional || !fits(entry))) continue;
        const name = entry.name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
        const sha512 = /(?:^|\s)sha512-(\S+)/.exec(entry.integrity ?? '')?.[1];
        if (!/^node_modules\//.test(path) || path.split('/').includes('..')) fail(`"${path}" is no place for a package`);
        if (!entry.version || !sha512) fail(`${path} has no version or no SHA-512 in ${dir}/package-lock.json`);
        if (!fits(entry)) fail(`${name} is for another machine (${entry.os ?? ''} ${entry.cpu ?? ''})`);
        packages.push({
            path,
            name,
            sha512,
            version: entry.version,
            url: `${registryOf(name)}${name}/-/${basename(name)}-${entry.version}.tgz`,
            tarball: join(tarballs, `${packages.length}.tgz`),
        });
    }
    return packages;
}

// Fetch, check, unpack.

const quoted = (text) => `"${text.replace(/[\\"]/g, '\\$&')}"`;

/** What curl is told by its standard input, so that no token is on a command line. */
function curlSettings(packages) {
    const proxy = setting('https-proxy') ?? setting('proxy');
    const common = { proxy, noproxy: setting('noproxy'), cacert: setting('cafile') };
    return packages
        .map(({ name, url, tarball }) => {
            const login = authorization(registryOf(name));
            const all = { url, output: tarball, header: login && `Authorization: ${login}`, ...common };
            return Object.entries(all)
                .filter(([, value]) => value && value !== 'null')
                .map(([key, value]) => `${key} = ${quoted(value)}\n`)
                .concat('fail\nsilent\nshow-error\nlocation\nretry = 3\nconnect-timeout = 30\n')
                .join('');
        })
        .join('next\n');
}

const lock = json('package-lock.json');
const own = json('package.json');
for (const kind of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    if (!isDeepStrictEqual(own[kind] ?? {}, lock.packages[''][kind] ?? {}))
        fail(`the ${kind} of package.json and package-lock.json in ${dir} differ: npm install --package-lock-only`);
}
const packages = wanted(lock);
try {
    execFileSync('curl', ['--parallel', '--parallel-max', '8', '--fail-early', '--no-progress-meter', '--config', '-'], {
        input: curlSettings(packages),
        stdio: ['pipe', 'inherit', 'inherit'],
    });
} catch {
    fail(`not everything could be fetched from ${[...new Set(packages.map(({ name }) => registryOf(name)))].join(', ')}`);
}
for (const { name, version, url, sha512, tarball } of packages) {
    if (createHash('sha512').update(readFileSync(tarball)).digest('base64') !== sha512)
        fail(`${url} is not the ${name} ${version} that is expected: its SHA-512 is another`);
}
mkdirSync(join(target, 'node_modules'), { recursive: true });
for (const { path, tarball } of packages) {
    const folder = join(target, path);
    mkdirSync(folder, { recursive: true });
    execFileSync('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1', '--no-same-owner', '--no-same-permissions']);
}
// Some packages come with files or folders that others may not read.
execFileSync('chmod', ['-R', 'u+rwX,go+rX', join(target, 'node_modules')]);
