// make-traces.mjs FOLDER: the traces that the tests look at, made by real llama.cpp.
//
//     tiny.ttrace    4 layers, 2 threads, 16 generated tokens
//     again.ttrace   the same once more, 1 thread: something to compare with
//     moe.ttrace     a mixture of experts, with page faults and residency
//     cut.ttrace     tiny.ttrace, cut off in the middle
//     hostile.ttrace names of tensors that would run as scripts if a page let them
//     <img src onerror=p>.ttrace   a real run, of a prompt that would, too
//
// It takes TT_BIN, TT_ENGINES (exit 77 without the default engine) and TT_HOSTILE.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const folder = process.argv[2];
const engine = join(process.env.TT_ENGINES, 'v0.5.0');
if (!existsSync(engine)) {
    console.log('skipped: no engines fetched');
    process.exit(77);
}
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

function tensortrace(...args) {
    execFileSync(process.env.TT_BIN, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
}

function record(name, model, prompt, ...args) {
    tensortrace('run', '-q', '-o', `${name}.ttrace`, ...args, '--engine', engine, '-m', model, '--ignore-eos',
        '-p', prompt);
}

tensortrace('synth', '--preset', 'tiny', '-o', 'tiny.gguf');
tensortrace('synth', '--preset', 'moe', '-o', 'moe.gguf');
const story = 'Once upon a time there was a number';
record('tiny', 'tiny.gguf', story, '-n', '16', '-t', '2');
record('again', 'tiny.gguf', story, '-n', '16', '-t', '1');
record('moe', 'moe.gguf', story, '--faults', '--residency', '-n', '12', '-t', '2');
record('<img src onerror=p>', 'tiny.gguf', '<script>p</script><img src onerror=p>', '-n', '4', '-t', '1');

const whole = readFileSync(join(folder, 'tiny.ttrace'));
writeFileSync(join(folder, 'cut.ttrace'), whole.subarray(0, Math.floor(whole.length * 0.6)));
execFileSync(process.env.TT_HOSTILE, [join(folder, 'hostile.ttrace')], { stdio: 'inherit' });
