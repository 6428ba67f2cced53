// node node.mjs NODE_MODULES MODEL: opens the engine late, from JavaScript, and prints what
// two sequences generate.
import { pathToFileURL } from "node:url";

const [modules, modelPath] = process.argv.slice(2);
const { getLlama, LlamaCompletion } = await import(
    pathToFileURL(`${modules}/node-llama-cpp/dist/index.js`).href
);
const llama = await getLlama({ build: "never", progressLogs: false, logLevel: "error" });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 256, threads: 2, sequences: 2 });
const texts = await Promise.all(
    ["Hello world", "Once upon a time"].map((prompt) =>
        new LlamaCompletion({ contextSequence: context.getSequence() }).generateCompletion(prompt, {
            maxTokens: 12,
            temperature: 0,
        }),
    ),
);
console.log(JSON.stringify(texts));
await llama.dispose();
