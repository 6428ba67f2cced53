// node one_file.cjs MODULE MODEL: a module that holds all of llama.cpp, or of whisper.cpp, in one file;
// prints what it generates, or recognises.
const [path, model] = process.argv.slice(2);
const engine = require(path);

const generate = async () => {
    const context = new engine.LlamaContext({ model, n_ctx: 128, n_threads: 2, use_mmap: true }, () => {});
    const options = { prompt: "Once upon", n_predict: 12, temperature: 0, seed: 1 };
    const { text, timings } = await context.completion(options, () => {});
    console.log(JSON.stringify(text), timings.prompt_n, timings.predicted_n);
    await context.release();
};

const recognise = async () => {
    const context = await new engine.WhisperContext({ filePath: model, useGpu: false });
    const sound = Int16Array.from({ length: 16000 * 2 }, (_, i) => 8000 * Math.sin(i / 40));
    const options = { maxThreads: 2, nProcessors: 1, temperature: 0, temperatureInc: 0, language: "en" };
    const { promise } = context.transcribeData(sound.buffer, options);
    const { result, segments } = await promise;
    console.log(JSON.stringify(result), segments.length);
    await context.release();
};

(engine.LlamaContext ? generate : recognise)();
