// make-traces.mjs FOLDER: the traces that the tests look at, made by real llama.cpp.
//
//     tiny.ttrace    4 layers, 2 threads, 16 generated tokens
//     again.ttrace   the same once more, 1 thread: something to compare with
//     moe.ttrace     a mixture of experts, with page faults and residency
//     boost.ttrace   the same model in half of the memory that it takes, by `boost`
//     values.ttrace  fingerprints of what ops put out, of weights in F32
//     nan.ttrace     the same with a NaN in a weight: blk.2.ffn_norm
//     off.ttrace     the same with a weight that is not as it should be: blk.1.ffn_norm
//     cut.ttrace     tiny.ttrace, cut off before its first op
//     raw.ttrace     ggml alone: no model, no buffers, no batches
//     hostile.ttrace names of tensors that would run as scripts if a page let them
//     <img src onerror=p>.ttrace   a real run, of a prompt that would, too
//
// It takes TT_BIN, TT_ENGINES (exit 77 without the default engine), TT_HOSTILE and TT_RAW.
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
record('moe', 'moe.gguf', story, '--faults=both', '--residency', '-n', '12', '-t', '2');
tensortrace('boost', '-q', '--ram', '14M', '-o', 'boost.ttrace', '--engine', engine, '-m', 'moe.gguf', '--ignore-eos',
    '-p', story, '-n', '12', '-t', '2');
record('<img src onerror=p>', 'tiny.gguf', '<script>p</script><img src onerror=p>', '-n', '4', '-t', '1');

tensortrace('run', '-q', '-o', 'raw.ttrace', '--', process.env.TT_RAW, engine);

/** A copy of a model with another element in a tensor of F32. */
function patched(name, model, tensor, element, value) {
    const said = execFileSync(process.env.TT_BIN, ['gguf', '--json', model], { cwd: folder, maxBuffer: 1 << 26 });
    const { offset_start, dtype } = JSON.parse(said).tensors.find((t) => t.name === tensor);
    if (dtype !== 'F32') throw new Error(`${tensor} is ${dtype}`);
    const bytes = readFileSync(join(folder, model));
    bytes.writeFloatLE(value, offset_start + 4 * element);
    writeFileSync(join(folder, name), bytes);
}

tensortrace('synth', '--preset', 'tiny', '--type', 'F32', '-o', 'values.gguf');
patched('nan.gguf', 'values.gguf', 'blk.2.ffn_norm.weight', 17, NaN);
patched('off.gguf', 'values.gguf', 'blk.1.ffn_norm.weight', 5, 9);
for (const name of ['values', 'nan', 'off']) record(name, `${name}.gguf`, story, '--values=hash', '-n', '6', '-t', '2');

const whole = readFileSync(join(folder, 'tiny.ttrace'));
// How far the graphs reach that come before the first op depends on when it was written: as much as
// there is without an op. Of a run on a busy machine that is a small part of the trace.
const cutAt = (share) => {
    writeFileSync(join(folder, 'cut.ttrace'), whole.subarray(0, Math.floor(whole.length * share)));
    const said = execFileSync(process.env.TT_BIN, ['info', '--json', 'cut.ttrace'],
        { cwd: folder, stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1 << 26 });
    const { counts } = JSON.parse(said);
    return counts.op_records === 0 && counts.graphs > 0 && counts.batches > 0;
};
let share = 0.98;
while (share > 0 && !cutAt(share)) share -= 0.002;
if (share <= 0) throw new Error('no part of tiny.ttrace has a graph and a batch, and no op');
execFileSync(process.env.TT_HOSTILE, [join(folder, 'hostile.ttrace')], { stdio: 'inherit' });
